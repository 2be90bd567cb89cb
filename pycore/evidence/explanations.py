"""An error that was pasted: what it means, why it came with these numbers, and what cures it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pycore.decide.knobs import Change
from pycore.decide.remedies import tried
from pycore.errors import InvalidRequest
from pycore.evidence.readings import Findings, Sighting
from pycore.evidence.sightings import CONSEQUENCES
from pycore.evidence.terms import Terms
from pycore.scenario import Scenario
from pycore.sizing.result import SizeResult

MOST_REMEDIES: Final = 4


@dataclass(frozen=True, slots=True)
class Explanation:
    """One error, explained."""

    kind: str
    """Which error it is, as one word; a refusal's where Napkin knows it as one."""
    line: int
    """The line of the text that it stands on."""
    text: str
    """Its own words, cut short."""
    meaning: str
    """What it says, in plain words."""
    why: str
    """Why it came, with this run's numbers."""
    remedies: tuple[Mapping[str, object], ...]
    """Single changes that cure it, cheapest first; those outside the scenario change no field."""
    is_consequence: bool
    """Whether its cause is another line of the text."""


@dataclass(frozen=True, slots=True)
class Situation:
    """An error with all that is known of the run it ended."""

    error: Sighting
    scenario: Scenario
    """What the text tells, with the run's own terms."""
    result: SizeResult | None
    findings: Findings
    terms: Terms

    def number(self, index: int) -> str:
        """A number of the error's own words; empty where it was cut off."""
        numbers = self.error.numbers
        return numbers[index] if index < len(numbers) else ""


@dataclass(frozen=True, slots=True)
class Story:
    """What is said of an error: its meaning, its reason, and the changes to try."""

    meaning: str
    why: str = ""
    changes: tuple[Change, ...] = ()
    """Changes of the scenario; only those that let it start are offered."""
    elsewhere: tuple[str, ...] = ()
    """What to do outside the scenario, cheapest first."""


Teller = Callable[[Situation], Story]


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
    story = teller(error.kind)(situation)
    return Explanation(
        kind=error.kind,
        line=error.line,
        text=error.text,
        meaning=story.meaning,
        why=story.why,
        remedies=tuple(remedies(situation, story)),
        is_consequence=error.kind in CONSEQUENCES,
    )


def teller(kind: str) -> Teller:
    """Who tells of errors of this kind."""
    from pycore.evidence import container_errors, memory_errors, shape_errors

    return {**memory_errors.TELLERS, **shape_errors.TELLERS, **container_errors.TELLERS}[kind]


def remedies(situation: Situation, story: Story) -> Iterator[Mapping[str, object]]:
    """The changes that cure it: those of the scenario that let it start, then the others."""
    found = 0
    for change in story.changes:
        cure = attempt(situation.scenario, change) if situation.result is not None else None
        if situation.result is None:
            cure = {"label": change.label, "changes": change.changes}
        if cure is not None and found < MOST_REMEDIES:
            found += 1
            yield cure
    for label in story.elsewhere:
        yield {"label": label, "changes": {}}


def attempt(scenario: Scenario, change: Change) -> Mapping[str, object] | None:
    """What a change gives, or None where it cures nothing or cannot be sized."""
    # What was free before the change was made is not free memory after it.
    quiet = replace(scenario, figures=False)
    try:
        return tried(quiet, change)
    except InvalidRequest:
        return None
