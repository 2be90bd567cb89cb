"""An error that was pasted: what it means, why it came with these numbers, and what cures it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pycore.decide.knobs import Change
from pycore.decide.measured_terms import carried
from pycore.decide.remedies import adds_gpus, remedy_of
from pycore.engine.refusals.refusal import Remedy
from pycore.errors import InvalidRequest
from pycore.evidence.errors import container, memory, shape
from pycore.evidence.errors.story import Situation, Story, Teller
from pycore.evidence.reading.readings import ErrorKind, Findings
from pycore.evidence.reading.sightings import CONSEQUENCES, SHAPE
from pycore.evidence.terms import Terms
from pycore.scenario import Scenario
from pycore.sizing.result import SizeResult
from pycore.sizing.size import size

MOST_REMEDIES: Final = 4
# Once more GPUs have cured it, still more of them are no cheaper.
MOST_GROWN: Final = 1
# Errors of a run that came further than Napkin's sizing of it may.
GIVES_ROOM: Final = frozenset({"out_of_memory", "warm_up_out_of_memory"})
# Errors that no memory has a part in: their cure is one even where memory stops it next.
RULES: Final = frozenset(item.kind for item in SHAPE)
TELLERS: Final[Mapping[str, Teller]] = {**memory.TELLERS, **shape.TELLERS, **container.TELLERS}


@dataclass(frozen=True, slots=True)
class Explanation:
    """One error, explained."""

    kind: ErrorKind
    """Which error it is, as one word; a refusal's where Napkin knows it as one."""
    line: int
    """The line of the text that it stands on."""
    text: str
    """Its own words, cut short."""
    meaning: str
    """What it says, in plain words."""
    why: str
    """Why it came, with this run's numbers."""
    remedies: tuple[Remedy, ...]
    """Single changes that cure it, cheapest first; those outside the scenario change no field."""
    is_consequence: bool
    """Whether its cause is another line of the text."""


def explain(
    findings: Findings, terms: Terms, scenario: Scenario, result: SizeResult | None
) -> tuple[Explanation, ...]:
    """Every error of the text's last start; of earlier ones where that has none."""
    last = [error for error in findings.errors if error.start == findings.num_starts]
    told = [
        explanation(Situation(error, scenario, result, findings, terms))
        for error in (last or findings.errors)
    ]
    # The cause is read first, whatever the order in which processes printed.
    return tuple(sorted(told, key=lambda item: item.is_consequence))


def explanation(situation: Situation) -> Explanation:
    """One error, explained."""
    error = situation.error
    story = TELLERS[error.kind](situation)
    return Explanation(
        kind=error.kind,
        line=error.line,
        text=error.text,
        meaning=story.meaning,
        why=story.why,
        remedies=tuple(remedies(situation, story)),
        is_consequence=error.kind in CONSEQUENCES,
    )


def remedies(situation: Situation, story: Story) -> Iterator[Remedy]:
    """The changes that cure it, those without new GPUs first; then what is done elsewhere."""
    found: list[Remedy] = []
    grown: list[Remedy] = []
    if story.advised is not None:
        found.append(attempt(situation, story.advised) or outcome_unknown(story.advised))
    for change in story.changes:
        adds = adds_gpus(situation.scenario, change)
        if len(grown if adds else found) == (MOST_GROWN if adds else MOST_REMEDIES):
            continue
        cure = attempt(situation, change)
        if cure is not None:
            (grown if adds else found).append(cure)
    yield from found
    yield from grown
    for label in story.elsewhere:
        yield Remedy(label, {})


def outcome_unknown(change: Change) -> Remedy:
    """A change whose outcome cannot be told."""
    return Remedy(change.label, change.changes)


def attempt(situation: Situation, change: Change) -> Remedy | None:
    """What a change gives, or None where it cures nothing.

    A rule of the engine is cured once the engine gets past its rules, though memory may still
    stop it; any other error only once it starts. Without a sizing nothing can be tried.
    """
    if situation.result is None:
        return outcome_unknown(change)
    quiet = replace(situation.scenario, figures=False)
    whole = replace(change, changes=carried(quiet, change.changes))
    try:
        there = size(replace(quiet, **whole.changes))  # type: ignore[arg-type]  # our own fields
    except InvalidRequest:
        return None
    # What breaks another rule has not been sized; what does not fit at all is no cure either.
    past_rules = there.weights_bytes_per_rank is not None and there.verdict != "does_not_fit"
    cured = past_rules if situation.error.kind in RULES else there.starts
    if situation.error.kind in GIVES_ROOM and not adds_gpus(quiet, change):
        # Where the scenario is refused as it is, what gives room is no cure alone, and is needed.
        cured = cured or (past_rules and not situation.result.starts)
    return remedy_of(whole, there) if cured else None
