"""The names of a model's modules, and the lists of names by which a checkpoint speaks of them.

A quantised checkpoint says which modules it leaves alone, or how it keeps each, by name: exactly,
by a part of the name, by a shell pattern or by a regular expression. Published lists run to tens
of thousands of entries, nearly all of which name a layer; they are sorted by layer once, so that
asking for one module looks at a handful.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, Literal

from pycore.errors import InvalidRequest

ModuleKind = Literal["linear", "experts", "head"]
Rename = Callable[[str], str]

# What an engine fuses into one matrix, under the names that checkpoints use.
# Source: vLLM 0.33.0, packed_modules_mapping of the classes in model_executor/models.
FUSED: Final[Mapping[str, tuple[str, ...]]] = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
    "fused_qkv_a_proj": ("q_a_proj", "kv_a_proj_with_mqa"),
    "in_proj_qkvz": ("in_proj_qkv", "in_proj_z"),
    "in_proj_ba": ("in_proj_b", "in_proj_a"),
    "fused_qkv_a_g_proj": ("q_a_proj", "kv_a_proj_with_mqa", "g_proj"),
    "in_proj_qkvgfab": ("q_proj", "k_proj", "v_proj", "b_proj", "f_a_proj"),
    "fused_wqa_wkv": ("wq_a", "wkv"),
}

NUMBERED: Final = re.compile(r"(?:^|\.)(\d+)(?=\.)")
EXPERTS: Final = ".experts."
WILD: Final = re.compile(r"[*?\[]")
REPEATED_REPEAT: Final = re.compile(r"[*+}]\)+[*+{]")
LONGEST_PATTERN: Final = 4000


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """How the engine names a model's modules, and what it renames in a checkpoint's lists."""

    layers: str = "model.layers"
    head: str = "lm_head"
    prefixes: tuple[tuple[str, str], ...] = ()
    """A checkpoint's prefix and the engine's, tried in order, each on what the last one made."""
    parts: tuple[tuple[str, str], ...] = ()
    """The same for a part anywhere in a name, before the prefixes."""

    def rename(self, name: str) -> str:
        """A checkpoint's name as the engine spells it.

        Source: vLLM 0.33.0, model_executor/models/utils.py, WeightsMapper.
        """
        for old, new in self.parts:
            name = name.replace(old, new, 1)
        for old, new in self.prefixes:
            if name.startswith(old):
                name = name.replace(old, new, 1)
        return name


DECODER: Final = ModuleNames()
"""The names of a decoder that stands by itself."""


@dataclass(frozen=True, slots=True)
class Module:
    """One module of the engine's: a linear, the routed experts of a layer, or the head."""

    name: str
    kind: ModuleKind = "linear"
    layer: int | None = None

    @property
    def own_name(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]

    @property
    def shards(self) -> tuple[str, ...]:
        """Names of the matrices that are fused in it; none when it is not fused."""
        own = self.own_name
        return tuple(self.name.replace(own, shard) for shard in FUSED.get(own, ()))


@dataclass(slots=True)
class NameList:
    """A list of names or patterns, sorted by the layer that each names."""

    general: list[str] = field(default_factory=list)
    by_layer: dict[int, list[str]] = field(default_factory=dict)

    def near(self, module: Module) -> list[str]:
        """The entries that can concern ``module``, in their order within general and layer."""
        if module.layer is None:
            return self.general
        own = self.by_layer.get(module.layer)
        return self.general + own if own else self.general


def expert_of(entry: str) -> str:
    """An entry for one of many experts under the name of the first; others as they are."""
    module, below, expert = entry.partition(EXPERTS)
    return f"{module}{below}0" if below and expert[:1].isdigit() else entry


def sort_names(entries: Iterable[str]) -> NameList:
    """Entries by layer; of an expert's many entries one is kept, since experts are one module."""
    result = NameList()
    seen: set[str] = set()
    for entry in entries:
        is_name = not entry.startswith("re:")
        known_as = expert_of(entry) if is_name and "*" not in entry else entry
        if known_as in seen:
            continue
        seen.add(known_as)
        number = NUMBERED.search(entry) if is_name else None
        if number is None:
            result.general.append(entry)
        else:
            result.by_layer.setdefault(int(number[1]), []).append(entry)
    return result


@lru_cache(maxsize=4096)
def expression(pattern: str) -> re.Pattern[str]:
    """A compiled regular expression of a checkpoint; refused where it could run for ever."""
    if len(pattern) > LONGEST_PATTERN or REPEATED_REPEAT.search(pattern):
        raise pattern_error(pattern, "cannot be used: it is too long or repeats a repetition")
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise pattern_error(pattern, f"is not a regular expression: {error}") from None


def pattern_error(pattern: str, why: str) -> InvalidRequest:
    """The failure for a pattern that cannot be used."""
    return InvalidRequest(
        "config.quantization_config", "wrong_type", f"the pattern {pattern[:60]!r} {why}"
    )


def equals_or_matches(name: str, entry: str) -> bool:
    """Whether an entry is this very name, or a regular expression that matches its beginning."""
    if entry.startswith("re:"):
        return expression(entry[3:]).match(name) is not None
    return entry == name


def fits_wildcard(name: str, entry: str) -> bool:
    """Whether a shell pattern fits the whole name."""
    return WILD.search(entry) is not None and fnmatchcase(name, entry)


def all_or_none(module: Module, is_listed: Callable[[str], bool], names: Iterable[str]) -> bool:
    """Whether all of ``names`` are listed; an error when only some are.

    Source: vLLM 0.33.0, quantization/utils/quant_utils.py, is_layer_skipped.
    """
    found = {is_listed(name) for name in names}
    if len(found) > 1:
        raise InvalidRequest(
            "config.quantization_config",
            "unsupported_quantization",
            f"Detected some but not all shards of {module.name} are quantized. All shards of "
            "fused layers to have the same precision.",
        )
    return found == {True}


def is_skipped(module: Module, entries: NameList, mode: Literal["exact", "part"]) -> bool:
    """Whether a list of modules to leave alone names this one.

    A fused module is skipped by its own name or by those of all its shards. Experts, in the
    exact mode, by any entry below them.
    Source: vLLM 0.33.0, quantization/utils/quant_utils.py, is_layer_skipped.
    """
    near = entries.near(module)

    def is_listed(name: str) -> bool:
        return name in near if mode == "exact" else any(entry in name for entry in near)

    shards = module.shards
    if shards:
        return is_listed(module.name) or all_or_none(module, is_listed, shards)
    if mode == "exact" and "experts" in module.name:
        return any(module.name in entry for entry in near if "experts" in entry)
    return is_listed(module.name)
