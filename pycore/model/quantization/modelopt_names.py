"""How ModelOpt's checkpoints speak of modules: excluded by patterns, or named with an algorithm.

Source: vLLM 0.33.0, quantization/modelopt.py (is_layer_excluded, apply_vllm_mapper,
_resolve_quant_algo).
"""

from collections.abc import Mapping

from pycore.model.module_names import (
    FUSED,
    Module,
    ModuleNames,
    NameList,
    fits_wildcard,
    is_skipped,
    sort_names,
)


def excludes(module: Module, entries: NameList) -> bool:
    """Whether a list of ModelOpt's leaves a module alone: by name, part of the name, or pattern."""
    if is_skipped(module, entries, "exact"):
        return True
    bare = module.name.removeprefix("language_model.")
    for entry in entries.near(module):
        if entry != module.name and (entry in module.name or entry in bare):
            return True
        if fits_wildcard(module.name, entry):
            return True
    return False


def split_stars(entries: tuple[str, ...]) -> tuple[str, ...]:
    """``module*`` as the engine reads it: the module itself, and all below it."""
    found: list[str] = []
    for entry in entries:
        if len(entry) >= 2 and entry[-1] == "*" and entry[-2] != ".":
            found += [entry[:-1], entry[:-1] + ".*"]
        else:
            found.append(entry)
    return tuple(found)


def excluded_names(excluded: tuple[str, ...], names: ModuleNames) -> NameList:
    """The entries under the engine's names."""
    return sort_names(names.rename(entry) for entry in split_stars(excluded))


def spellings(name: str) -> tuple[str, ...]:
    """A module's names: as it is, and as multimodal checkpoints nest it."""
    found = [name]
    if name.endswith(".lm_head"):
        found.append("lm_head")
    outside, inside = "language_model.model.", "model.language_model."
    if name.startswith(outside):
        found.append(inside + name.removeprefix(outside))
    elif name.startswith(inside):
        found.append(outside + name.removeprefix(inside))
    return tuple(found)


def algorithm_of(module: Module, listed: NameList, algorithms: Mapping[str, str]) -> str | None:
    """The algorithm of a module: by its name, by its shards' names, or by any module below it.

    Source: vLLM 0.33.0, quantization/modelopt.py, _resolve_quant_algo.
    """
    for name in spellings(module.name):
        if name in algorithms:
            return algorithms[name]
    parent, _, own = module.name.rpartition(".")
    for base in spellings(parent):
        for shard in FUSED.get(own, ()):
            if f"{base}.{shard}" in algorithms:
                return algorithms[f"{base}.{shard}"]
    above = [f"{name}." for name in spellings(module.name)]
    if module.kind == "experts":
        above.append(f"{parent}.")
    for prefix in above:
        for entry in listed.near(module):
            if entry.startswith(prefix):
                return algorithms[entry]
    return None
