"""``check_run``: a pasted run held against the scenario, line by line.

The text may be an engine's log, a /metrics page, a load generator's report, nvidia-smi, a
write-up's counters or an error, in any mix. It fills the scenario as far as it tells it; what it
does not tell stays as it was, and nothing is guessed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pycore.errors import InvalidRequest
from pycore.evidence.adopt import adopt
from pycore.evidence.compare import CheckRow, compare
from pycore.evidence.differences import assumed, differences, unexpected
from pycore.evidence.errors.explanations import Explanation, explain
from pycore.evidence.reading.feed import read_text
from pycore.evidence.reading.lines import ANCHORS
from pycore.evidence.reading.readings import Findings
from pycore.evidence.recognise import Recognised, recognise
from pycore.evidence.rules.contradictions import contradictions
from pycore.evidence.rules.rule import Contradiction, Evidence
from pycore.evidence.run_scenario import (
    graphs_in_budget,
    past_its_start,
    pinned_to,
    predict,
    sized,
    with_defaults,
)
from pycore.evidence.terms import terms_of
from pycore.scenario import Measured, Scenario
from pycore.sizing.note import Note
from pycore.sizing.result import SizeResult


@dataclass(frozen=True, slots=True)
class RecognisedFigure:
    """One figure that the text holds."""

    figure: str
    """Its name; the contract's where it has one."""
    value: int | float
    """Its value; of several ranks the one that decides."""
    line: int
    """The line that it stands on."""
    text: str
    """That line, without what stands before the message."""
    by_worker: Mapping[str, int | float] = field(default_factory=dict)
    """What each rank printed."""


@dataclass(frozen=True, slots=True)
class RecognisedText:
    """What was found in the text, before anything is made of it."""

    engine: str | None
    """vllm, sglang or tensorrt_llm; null where the text does not tell."""
    engine_version: str | None
    """As printed."""
    model: str | None
    """As printed."""
    accelerators: tuple[str, ...]
    """GPU names as printed."""
    num_lines: int
    """Lines of the text."""
    num_lines_read: int
    """Lines, or parts of lines, that said something."""
    num_starts: int
    """Starts of the engine in the text, 0 where nothing was read; the figures are of the last."""
    workers: tuple[str, ...]
    """Ranks that printed something."""
    kinds: Mapping[str, int]
    """How often each kind of line was read."""
    settings: Mapping[str, object]
    """The engine's settings as printed."""
    figures: tuple[RecognisedFigure, ...]
    """Every figure, in the order of the text."""


@dataclass(frozen=True, slots=True)
class CheckRun:
    """The answer to ``check_run``."""

    recognised: RecognisedText
    """What was found in the text."""
    request: Mapping[str, object]
    """The scenario's fields that the text tells; null only where a field must give way to one."""
    rows: tuple[CheckRow, ...]
    """Predicted beside measured, in the order of the budget."""
    contradictions: tuple[Contradiction, ...]
    """Figures that cannot all be true."""
    findings: tuple[Contradiction, ...]
    """What the run's figures say of its limits."""
    errors: tuple[Explanation, ...]
    """The errors in the text, explained; causes before consequences."""
    measured: Mapping[str, int]
    """The run's own terms, to be adopted as the request's ``measured``."""
    derived: tuple[str, ...]
    """Those of them that the text does not print: only their sum is known, from the pool."""
    adopted: Mapping[str, object]
    """What to add to the request to ask anything else of this run; empty if nothing was read."""
    notes: tuple[Note, ...]
    """What a reader should know before trusting the comparison."""
    anchors: tuple[str, ...]
    """A line that holds none of these is never read: a large file can be thinned out by them."""


def check_run(scenario: Scenario) -> CheckRun:
    """The answer to ``check_run``: never an error for what a text holds.

    An empty text is held against nothing, and still tells the anchors.
    """
    if scenario.text is None:
        raise InvalidRequest("text", "missing", "check_run needs the text of a run")
    findings = read_text(scenario.text)
    asked = replace(scenario, ask="size", text=None, figures=False)
    recognised = recognise(findings, asked)
    told = replace(asked, measured=Measured(), **recognised.request)  # type: ignore[arg-type]  # READERS checked them
    terms = terms_of(findings)
    told = past_its_start(told, terms)
    predicted = predict(told, recognised)
    graphs = graphs_in_budget(findings, predicted)
    own_rules = findings.engine in {"", "vllm"}
    adopted = adopt(terms, told, predicted, graphs_in_budget=graphs, own_rules=own_rules)
    tell_of_scenario(recognised, findings, asked, predicted)
    if adopted.derived:
        recognised.note("terms_not_printed", adopted.said_of_derived())
    pinned = pinned_to(told, terms) if predicted is not None else None
    fitted = pinned_to(replace(told, max_model_len="auto"), terms) if pinned else None
    told = with_defaults(told, predicted)
    evidence = Evidence(findings, terms, told, asked, predicted, pinned, fitted, graphs)
    found = contradictions(evidence) if findings.lines_read else ()
    adopting = replace(told, measured=adopted.measured)
    return CheckRun(
        recognised=recognised_text(findings, recognised),
        request=recognised.request,
        rows=compare(findings, terms, predicted, pinned),
        contradictions=tuple(item for item in found if item.excludes),
        findings=tuple(item for item in found if not item.excludes),
        errors=explain(findings, terms, adopting, sized(adopting) if findings.errors else None),
        measured=adopted.terms(),
        derived=adopted.derived,
        adopted=as_run(recognised.request, adopted.terms()),
        notes=tuple(recognised.notes),
        anchors=ANCHORS,
    )


def tell_of_scenario(
    recognised: Recognised, findings: Findings, asked: Scenario, predicted: SizeResult | None
) -> None:
    """Note where the run is not the scenario, and what of the scenario it is taken to have."""
    stated = findings.setting("stated_quantization")
    if recognised.request or stated:
        recognised.note_if("not_the_scenario", differences(recognised, stated, asked, sized(asked)))
    recognised.note_if("scenario_assumed", assumed(recognised, findings, asked))
    if findings.figures():
        recognised.note_if("refusal_expected", unexpected(findings.errors, predicted))


def as_run(request: Mapping[str, object], measured: Mapping[str, int]) -> dict[str, object]:
    """The fields that make the scenario the run."""
    return {**request, "measured": dict(measured)} if request or measured else {}


def recognised_text(findings: Findings, recognised: Recognised) -> RecognisedText:
    """What was found, for the answer."""
    workers = sorted({place for start in findings.starts.values() for place in start.places})
    return RecognisedText(
        engine=findings.engine or None,
        engine_version=recognised.engine_version,
        model=recognised.model_name,
        accelerators=tuple(findings.accelerator_names),
        num_lines=findings.num_lines,
        num_lines_read=findings.lines_read,
        num_starts=findings.num_starts,
        workers=tuple(workers),
        kinds=dict(findings.kinds),
        settings={name: plain(findings.setting(name)) for name in findings.settings()},
        figures=tuple(recognised_figures(findings)),
    )


def plain(value: object) -> object:
    """A setting's value, cut short where it is a long text."""
    return value[:200] if isinstance(value, str) else value


def recognised_figures(findings: Findings) -> list[RecognisedFigure]:
    """Every figure that was read, the deciding rank's first."""
    found = []
    for figure in findings.figures():
        reading = findings.deciding(figure)
        if reading is not None:
            workers = {item.worker: item.value for item in findings.readings(figure)}
            found.append(
                RecognisedFigure(
                    figure,
                    reading.value,
                    reading.line,
                    reading.text,
                    workers if len(workers) > 1 else {},
                )
            )
    return found
