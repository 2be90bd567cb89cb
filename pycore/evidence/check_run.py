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
from pycore.evidence.errors.explanations import Explanation, explain
from pycore.evidence.reading.feed import read_text
from pycore.evidence.reading.lines import ANCHORS
from pycore.evidence.reading.readings import Findings
from pycore.evidence.recognise import Recognised, recognise
from pycore.evidence.rules.contradictions import contradictions
from pycore.evidence.rules.rule import Contradiction, Evidence
from pycore.evidence.terms import Terms, terms_of
from pycore.hardware import accelerators
from pycore.scenario import Measured, Scenario
from pycore.sizing.note import Note
from pycore.sizing.result import SizeResult
from pycore.sizing.size import size


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
    measured = adopt(terms, told, predicted, graphs_in_budget=graphs)
    pinned = pinned_to(told, terms) if predicted is not None else None
    fitted = pinned_to(replace(told, max_model_len="auto"), terms) if pinned else None
    told = with_defaults(told, predicted)
    evidence = Evidence(findings, terms, told, asked, predicted, pinned, fitted, graphs)
    found = contradictions(evidence) if findings.lines_read else ()
    adopted = replace(told, measured=measured)
    return CheckRun(
        recognised=recognised_text(findings, recognised),
        request=recognised.request,
        rows=compare(findings, terms, predicted, pinned),
        contradictions=tuple(item for item in found if item.excludes),
        findings=tuple(item for item in found if not item.excludes),
        errors=explain(findings, terms, adopted, sized(adopted) if findings.errors else None),
        measured={name: size for name, size in as_dict(measured).items() if size is not None},
        notes=tuple(recognised.notes),
        anchors=ANCHORS,
    )


def past_its_start(told: Scenario, terms: Terms) -> Scenario:
    """The scenario of a run that loaded its weights: enough was free, whatever that was."""
    if told.accelerator_free_bytes is not None or not (terms.weights or terms.available):
        return told
    total = terms.total.value if terms.total else told.accelerator_total_bytes
    if total is None and told.accelerator is not None:
        known = accelerators.catalogue().get(told.accelerator, {}).get("total_bytes")
        total = known if isinstance(known, int) else None
    return told if total is None else replace(told, accelerator_free_bytes=total)


def predict(told: Scenario, recognised: Recognised) -> SizeResult | None:
    """The recognised scenario sized; None, with a note, where it cannot be."""
    if recognised.serves_other_model:
        return None
    try:
        return size(told)
    except InvalidRequest as error:
        if error.field in {"model", "accelerator"} and error.reason == "missing":
            recognised.note("nothing_to_hold_it_against", f"{error.message}.")
        else:
            recognised.note("cannot_be_sized", f"{error.field}: {error.message}.")
        return None


def sized(scenario: Scenario) -> SizeResult | None:
    """A scenario sized, or None where it cannot be."""
    try:
        return size(scenario)
    except InvalidRequest:
        return None


def pinned_to(told: Scenario, terms: Terms) -> SizeResult | None:
    """The scenario sized with the run's own pool: what should follow from it."""
    if terms.available is None or terms.available.value <= 0:
        return None
    return sized(replace(told, measured=Measured(available_kv_cache_bytes=terms.available.value)))


def graphs_in_budget(findings: Findings, predicted: SizeResult | None) -> bool:
    """Whether the engine takes the estimate for CUDA graphs from the pool.

    As the sizing has it: what its budget less all other terms leaves is the pool, or more.
    """
    if findings.setting("cuda_graphs_in_budget") is False or predicted is None:
        return False
    graphs, pool = predicted.cuda_graph_bytes, predicted.available_kv_cache_bytes
    terms = (
        predicted.loaded_weights_bytes_per_rank,
        predicted.activation_bytes,
        predicted.non_torch_bytes,
        pool,
    )
    if not graphs or None in terms:
        return False
    left = predicted.requested_bytes - sum(term for term in terms if term is not None)
    return left > graphs // 2


def with_defaults(told: Scenario, predicted: SizeResult | None) -> Scenario:
    """The scenario with the engine's own utilisation, where none was said."""
    if told.gpu_memory_utilization is not None or predicted is None:
        return told
    chosen = predicted.chosen.get("gpu_memory_utilization")
    return replace(told, gpu_memory_utilization=chosen) if isinstance(chosen, float) else told


def as_dict(measured: Measured) -> dict[str, int | None]:
    """Measured terms by name."""
    return {name: getattr(measured, name) for name in Measured.__slots__}


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
