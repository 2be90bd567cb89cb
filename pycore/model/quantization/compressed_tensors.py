"""Checkpoints of compressed-tensors: schemes by group, each for the modules that it targets.

Source: vLLM 0.33.0, quantization/compressed_tensors (compressed_tensors.py, schemes and
compressed_tensors_moe).
"""

from dataclasses import dataclass, replace
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.module_names import (
    Module,
    ModuleNames,
    NameList,
    all_or_none,
    equals_or_matches,
    sort_names,
)
from pycore.model.quantization.compressed_schemes import (
    expert_format,
    linear_format,
    read_arguments,
)
from pycore.model.quantization.float8 import name_list
from pycore.model.quantization.rule import Choose, Quantization, Rule, unsupported
from pycore.model.quantization.weight_formats import FLOAT32, MXFP4, Extras, WeightFormat

# Class names of the engine's modules, among which a target such as "Linear" is looked for.
CLASS_NAMES: Final = {
    "linear": "ColumnParallelLinear",
    "experts": "RoutedExperts",
    "head": "ParallelLMHead",
}


@dataclass(frozen=True, slots=True)
class Group:
    """One group of ``config_groups``: its targets, and the form of a linear and of an expert."""

    targets: tuple[str, ...]
    linear: WeightFormat
    experts: WeightFormat | None


def read_group(section: ConfigReader, default_format: str) -> Group | None:
    """A group of ``config_groups``; None for one that is about attention only."""
    targets = name_list(section, "targets")
    if len(targets) == 1 and targets[0].endswith("Attention"):
        return None
    weights = read_arguments(section.section("weights"))
    if weights is None:
        return None
    inputs = read_arguments(section.section("input_activations"))
    stored = section.text("format") or default_format
    linear = linear_format(weights, inputs, stored)
    if linear is None:
        what = f"compressed-tensors weights of {weights.num_bits} bits by {weights.strategy}"
        raise unsupported(section, "weights", what)
    linear = replace(linear, lowest_capability=80 if linear == MXFP4 else 75)
    return Group(targets, linear, expert_format(linear, weights))


def read_compressed_tensors(section: ConfigReader) -> Quantization:
    """Any compressed-tensors checkpoint."""
    groups_section = section.section("config_groups")
    groups: dict[str, Group] = {}
    for name in groups_section.fields if groups_section else ():
        own = groups_section.section(name) if groups_section else None
        group = read_group(own, section.text("format")) if own else None
        if group is not None:
            groups[name] = group
    refuse_sparse(section)
    scheme = section.section("kv_cache_scheme")
    return Quantization(
        "compressed-tensors",
        group_rule(tuple(groups.values()), name_list(section, "ignore")),
        lowest_capability=70,
        forms={name: (group.linear, group.experts) for name, group in groups.items()},
        dtypes=("float32", "float16", "bfloat16"),
        kv_cache_dtype="fp8" if scheme is not None and scheme.fields else None,
        attention_scales=cache_scales(scheme),
        carries_cache_scales=scheme is not None,
        declared=section,
    )


def refuse_sparse(section: ConfigReader) -> None:
    """Refuse the sparse forms that the engine has given up."""
    sparsity = section.section("sparsity_config")
    if sparsity is not None and sparsity.sequence("targets"):
        raise unsupported(section, "sparsity_config", "sparse weights of compressed-tensors")


def cache_scales(scheme: ConfigReader | None) -> Extras:
    """Scales (float32) and zero points of query, key and value that each attention layer holds.

    Source: vLLM 0.33.0, CompressedTensorsKVCacheMethod.create_weights.
    """
    if scheme is not None and scheme.text("strategy") == "attn_head":
        return Extras(matrix_bytes=3 * FLOAT32, matrix_elements=3)
    return Extras(linear_bytes=3 * FLOAT32, linear_elements=3)


def group_rule(groups: tuple[Group, ...], ignored: tuple[str, ...]) -> Rule:
    """The scheme of the first target that fits: by name, by the shards' names, then by class."""
    targets = {target: group for group in groups for target in group.targets}

    def rule(names: ModuleNames) -> Choose:
        entries = sort_names(rename_path(entry, names) for entry in ignored)
        renamed = {rename_path(target, names): group for target, group in targets.items()}
        listed = sort_names(renamed)

        def choose(module: Module) -> WeightFormat | None:
            if is_ignored(module, entries):
                return None
            found = matching_target(module, listed)
            if found is None:
                return None
            group = renamed[found]
            return group.experts if module.kind == "experts" else group.linear

        return choose

    return rule


def rename_path(entry: str, names: ModuleNames) -> str:
    """An entry under the engine's names, where it is a path and not a class or an expression."""
    return names.rename(entry) if "." in entry and not entry.startswith("re:") else entry


def is_ignored(module: Module, entries: NameList) -> bool:
    """Whether ``ignore`` names a module, or all the shards of it."""
    near = entries.near(module)

    def is_listed(name: str) -> bool:
        return any(equals_or_matches(name, entry) for entry in near)

    if module.kind == "experts":
        return is_listed(first_expert(module)) or below(module, near) is not None
    if is_listed(module.name):
        return True
    shards = module.shards
    return bool(shards) and all_or_none(module, is_listed, shards)


def matching_target(module: Module, listed: NameList) -> str | None:
    """The target that decides a module's scheme.

    Source: vLLM 0.33.0, compressed_tensors/utils.py, find_matched_target.
    """
    near = listed.near(module)
    if module.kind == "experts":
        direct = first_match(first_expert(module), near) or below(module, near)
    else:
        direct = first_match(module.name, near)
    if direct is not None:
        return direct
    shards = [first_match(shard, near) for shard in module.shards]
    if shards and all(shard is not None for shard in shards):
        return shards[0]
    return next((target for target in near if is_class_of(target, module)), None)


def first_expert(module: Module) -> str:
    """The name under which lists speak of a layer's routed experts: one of the first expert's.

    Source: vLLM 0.33.0, compressed_tensors_moe.py, get_moe_method.
    """
    return f"{module.name}.0.down_proj"


def below(module: Module, entries: list[str]) -> str | None:
    """The first entry for anything within a module."""
    return next((entry for entry in entries if entry.startswith(f"{module.name}.")), None)


def first_match(name: str, targets: list[str]) -> str | None:
    """The first target that is a name, or an expression that matches it."""
    return next((target for target in targets if equals_or_matches(name, target)), None)


def is_class_of(target: str, module: Module) -> bool:
    """Whether a target is part of the name of the module's class; "Linear" means experts too."""
    name = CLASS_NAMES[module.kind]
    if target.startswith("re:"):
        return equals_or_matches(name, target)
    stands_for_experts = module.kind == "experts" and target == "Linear"
    return target.lower() in name.lower() or stands_for_experts
