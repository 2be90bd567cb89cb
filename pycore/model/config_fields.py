"""Typed reading of a config.json: every field by name, missing ones never guessed in silence.

A reader remembers which fields it read, so that the answer can say so, and so that a config can
be reduced to what it was read for; and which ones were absent and completed with the default
that transformers itself would use.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pycore.errors import InvalidRequest

# Wider than any published model by orders of magnitude; keeps arithmetic on nonsense finite.
LARGEST_NUMBER: Final = 10**9
MISSING: Final = object()

# Where a multimodal config keeps what it says about text.
TEXT_SECTIONS: Final = ("text_config", "llm_config", "language_config")

# Numbers that any model may be asked to change, whether its config has them or not. Where a
# checkpoint spells one of them in another way, the other names follow the first.
CONFIG_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "num_hidden_layers": ("num_layers", "n_layer", "n_layers"),
    "hidden_size": ("n_embd", "d_model"),
    "intermediate_size": (),
    "num_attention_heads": ("n_head", "n_heads"),
    "num_key_value_heads": ("num_kv_heads", "multi_query_group_num"),
    "head_dim": (),
    "vocab_size": ("padded_vocab_size",),
    "max_position_embeddings": ("n_positions", "seq_length"),
    "num_experts": ("num_local_experts", "n_routed_experts", "moe_num_experts"),
    "num_experts_per_tok": ("moe_k", "moe_topk"),
    "moe_intermediate_size": (),
    "shared_expert_intermediate_size": (),
    "tie_word_embeddings": (),
    "attention_bias": (),
    "first_k_dense_replace": (),
    "n_shared_experts": ("moe_num_shared_experts", "num_shared_expert"),
    "sliding_window": (),
    "rope_scaling": ("rope_parameters",),
    "rope_theta": (),
}


class ConfigReader:
    """One JSON object of a config.json, read field by field.

    ``path`` is where the object stands in the request (``config`` or ``config.text_config``).
    The first of several names that is present is read: spelling variants live in the callers.
    ``completions`` are what transformers' own config class puts where a field is absent; a field
    that is null stays null. ``asked`` are all the names that were looked for, there or not.
    """

    def __init__(self, fields: Mapping[str, object], path: str = "config") -> None:
        self.fields = fields
        self.path = path
        self.completions: Mapping[str, object] = {}
        self.asked: set[str] = set()
        self.read: dict[str, object] = {}
        self.defaulted: dict[str, object] = {}
        self.sections: dict[str, ConfigReader] = {}

    def has(self, *names: str) -> bool:
        """Whether any of ``names`` is present and not null, or completed."""
        self.asked.update(names)
        if any(self.fields.get(name) is not None for name in names):
            return True
        return any(name in self.completions and name not in self.fields for name in names)

    def raw(self, *names: str) -> object:
        """The value of the first of ``names`` that is present and not null, else ``MISSING``."""
        self.asked.update(names)
        for name in names:
            value = self.fields.get(name)
            if value is not None:
                self.read[name] = value
                return value
        for name in names:
            if name in self.fields:
                self.read[name] = None
                return MISSING
        for name in names:
            if name in self.completions:
                self.defaulted[name] = self.completions[name]
                return self.completions[name]
        return MISSING

    def invalid(self, name: str, value: object, wanted: str) -> InvalidRequest:
        """The error for a field that is there but cannot be what it should."""
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return InvalidRequest(
            f"{self.path}.{name}", "wrong_type", f"{name} must be {wanted}, not {shown}"
        )

    def missing(self, name: str, why: str = "") -> InvalidRequest:
        """The error for a field that must be there."""
        because = f": {why}" if why else ""
        return InvalidRequest(
            f"{self.path}.{name}", "missing", f"the config has no {name}{because}"
        )

    def integer(self, *names: str, default: int | None = None, minimum: int = 1) -> int:
        """A whole number of at least ``minimum``; an error when absent without a default."""
        value = self.raw(*names)
        if value is MISSING:
            if default is None:
                raise self.missing(names[0])
            self.defaulted[names[0]] = default
            return default
        return self.checked_integer(names[0], value, minimum)

    def heads_of(self, width: int, name: str) -> int:
        """The number of heads that ``width`` is divided into without a rest."""
        heads = self.integer(name)
        if width % heads:
            raise self.invalid(
                name, heads, f"a divisor of {width}, the width that is split into heads"
            )
        return heads

    def derived(self, name: str, value: int) -> int:
        """``value`` in place of an absent ``name``, as transformers derives it; remembered."""
        self.defaulted[name] = value
        return value

    def checked_integer(self, name: str, value: object, minimum: int = 1) -> int:
        """``value`` as a whole number within bounds, else the error that names the field."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.invalid(name, value, "a whole number")
        if not minimum <= value <= LARGEST_NUMBER:
            raise self.invalid(name, value, f"between {minimum} and {LARGEST_NUMBER}")
        return value

    def optional_integer(self, *names: str, minimum: int = 1) -> int | None:
        """A whole number, or None when absent or null."""
        value = self.raw(*names)
        return None if value is MISSING else self.checked_integer(names[0], value, minimum)

    def number(self, *names: str, default: float) -> float:
        """A finite number."""
        value = self.raw(*names)
        if value is MISSING:
            self.defaulted[names[0]] = default
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.invalid(names[0], value, "a number")
        if not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:  # also refuses NaN
            raise self.invalid(names[0], value, "a finite number")
        return float(value)

    def flag(self, *names: str, default: bool) -> bool:
        """True or false; ``default`` is what transformers uses when the field is absent."""
        value = self.raw(*names)
        if value is MISSING:
            self.defaulted[names[0]] = default
            return default
        if not isinstance(value, bool):
            raise self.invalid(names[0], value, "true or false")
        return value

    def text(self, *names: str, default: str = "") -> str:
        """A string."""
        value = self.raw(*names)
        if value is MISSING:
            return default
        if not isinstance(value, str):
            raise self.invalid(names[0], value, "a string")
        return value

    def sequence(self, *names: str) -> Sequence[object] | None:
        """A list, or None when absent."""
        value = self.raw(*names)
        if value is MISSING:
            return None
        if not isinstance(value, list):
            raise self.invalid(names[0], value, "a list")
        return value

    def part(self, name: str) -> "ConfigReader":
        """A nested object with one reader of its own; an empty one where it is absent."""
        section = self.section(name)
        if section is None:
            section = self.sections.get(name) or ConfigReader({}, f"{self.path}.{name}")
            section.defaulted = self.defaulted
            self.sections[name] = section
        return section

    def section(self, *names: str) -> "ConfigReader | None":
        """A nested object with one reader of its own, or None when absent."""
        value = self.raw(*names)
        if value is MISSING:
            return None
        if not isinstance(value, dict):
            raise self.invalid(names[0], value, "an object")
        known = next((one for one in self.sections.values() if one.fields is value), None)
        if known is None:
            known = self.sections[names[0]] = ConfigReader(value, f"{self.path}.{names[0]}")
            known.defaulted = self.defaulted
        return known
