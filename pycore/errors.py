"""What can go wrong with a request.

::

    NapkinError
    └── InvalidRequest      a request that cannot be read: names the field, the reason, the choices
        └── UnsupportedModel    readable, but of an architecture that Napkin cannot size yet

A deployment that would not start is *not* an error: it is a result whose verdict is
``refused`` or ``does_not_fit``.
"""

from collections.abc import Sequence
from typing import Literal

Reason = Literal[
    "not_json",
    "unknown_field",
    "repeated_key",
    "missing",
    "conflict",
    "wrong_type",
    "out_of_range",
    "unknown_choice",
    "engine_figures_unknown",
    "unsupported_architecture",
    "unsupported_quantization",
    "internal_error",
]


class NapkinError(Exception):
    """The root of every error that Napkin raises on purpose."""


class InvalidRequest(NapkinError):
    """A request that cannot be read.

    ``field`` is the request's key, or a path such as ``config.num_attention_heads``;
    ``reason`` one word for programs; ``message`` a sentence for people.
    """

    def __init__(
        self, field: str, reason: Reason, message: str, choices: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.field = field
        self.reason = reason
        self.message = message
        self.choices = tuple(choices)


class UnsupportedModel(InvalidRequest):
    """A model whose architecture Napkin cannot size: refused by name, never sized wrongly."""
