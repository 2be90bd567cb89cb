"""A refusal: one reason why the engine would not start, in its own words."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why the engine would not start.

    ``message`` is the engine's own; ``choices`` are values of ``field`` that this rule accepts.
    """

    kind: str
    """Which rule was broken, as one word of the contract."""
    message: str
    """The engine's own words, with this scenario's numbers."""
    field: str = ""
    """The request's key that the rule is about."""
    choices: tuple[int, ...] = ()
    """Values of that key which the rule accepts."""
    remedies: tuple[dict[str, object], ...] = ()
    """Single changes that cure it, cheapest first: a label, the changes, what they give."""
