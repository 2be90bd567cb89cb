"""An error with all that is known of its run, and the story that is told of it."""

from collections.abc import Callable
from dataclasses import dataclass

from pycore.decide.knobs import Change
from pycore.evidence.reading.readings import Findings, Sighting
from pycore.evidence.terms import Terms
from pycore.scenario import Scenario
from pycore.sizing.result import SizeResult


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
    """Changes of the scenario, cheapest first; only those that cure it are offered."""
    elsewhere: tuple[str, ...] = ()
    """What to do outside the scenario, cheapest first."""
    advised: Change | None = None
    """The change that the engine's own words name: a cure whatever the sizing says of it."""


Teller = Callable[[Situation], Story]
