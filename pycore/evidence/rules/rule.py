"""A contradiction, and all of a run that a rule may look at to find one."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pycore.evidence.reading.readings import Findings
from pycore.evidence.terms import Terms
from pycore.scenario import Scenario
from pycore.sizing.result import SizeResult


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Figures that exclude each other; or, where ``excludes`` is false, that just say something."""

    kind: str
    """Which rule it breaks, as one word."""
    message: str
    """A sentence with the numbers."""
    numbers: Mapping[str, int | float | str]
    """The numbers that the sentence is about."""
    excludes: bool = True
    """Whether they cannot all be true; false for what a run says of its own limits."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a rule may look at."""

    findings: Findings
    terms: Terms
    scenario: Scenario
    """What the text tells, over what was asked."""
    asked: Scenario
    predicted: SizeResult | None
    pinned: SizeResult | None
    """The scenario sized with the run's own pool."""
    fitted: SizeResult | None
    """The same with the longest request cut to what that pool holds."""
    graphs_in_budget: bool

    def value(self, figure: str) -> int | float | None:
        """A figure of the text; of several ranks the one that decides."""
        return self.findings.value(figure)

    @property
    def max_num_seqs(self) -> int | None:
        """The most requests that the engine schedules at once, as printed or as it chooses."""
        if self.scenario.max_num_seqs is not None:
            return self.scenario.max_num_seqs
        chosen = self.predicted.chosen.get("max_num_seqs") if self.predicted else None
        return chosen if isinstance(chosen, int) else None


Check = Callable[[Evidence], Iterator[Contradiction]]
