"""What cannot all be true: figures of one run that exclude each other, each with its numbers."""

from typing import Final

from pycore.evidence.rules import hardware, load, memory
from pycore.evidence.rules.rule import Check, Contradiction, Evidence

RULES: Final[tuple[Check, ...]] = (*memory.RULES, *hardware.RULES, *load.RULES)


def contradictions(evidence: Evidence) -> tuple[Contradiction, ...]:
    """Everything in a run that excludes something else in it."""
    return tuple(found for rule in RULES for found in rule(evidence))
