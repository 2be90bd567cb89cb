"""Checkpoints of compressed-tensors: schemes by group, each for the modules that it targets.

Source: vLLM 0.33.0, quantization/compressed_tensors (compressed_tensors.py, schemes and
compressed_tensors_moe).
"""

from dataclasses import dataclass, replace
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.float8 import name_list
from pycore.model.module_names import (
    Module,
    ModuleNames,
    NameList,
    all_or_none,
    equals_or_matches,
    sort_names,
)
from pycore.model.quantization_rule import Choose, Quantization, Rule, unsupported
from pycore.model.weight_formats import (
    FLOAT32,
    FP8_CHANNEL,
    FP8_TENSOR,
    INT8_CHANNEL,
    INT8_TENSOR,
    MXFP4,
    MXFP8,
    NVFP4,
    Extras,
    WeightFormat,
    fp8_block,
    packed_integers,
)

# Class names of the engine's modules, among which a target such as "Linear" is looked for.
LINEAR_CLASSES: Final = "qkvparallellinear mergedcolumnparallellinear rowparallellinear"
CLASS_NAMES: Final = {
    "linear": LINEAR_CLASSES,
    "experts": "routedexperts",
    "head": "parallellmhead",
}
ACTIVATION_FORMATS: Final = (
    "naive-quantized",
    "int-quantized",
    "float-quantized",
    "nvfp4-pack-quantized",
)
PACKED: Final = "pack-quantized"


@dataclass(frozen=True, slots=True)
class Arguments:
    """How one tensor is quantised: the fields of compressed-tensors that decide its bytes."""

    num_bits: int
    is_float: bool
    strategy: str
    group_size: int
    symmetric: bool
    dynamic: bool
    block: tuple[int, int] | None
    byte_scales: bool


def read_arguments(section: ConfigReader | None) -> Arguments | None:
    """``weights`` or ``input_activations`` of a group; None when absent."""
    if section is None:
        return None
    group_size = section.optional_integer("group_size", minimum=-1)
    block = section.sequence("block_structure")
    strategy = section.text("strategy")
    dynamic = section.raw("dynamic")
    return Arguments(
        num_bits=section.integer("num_bits", default=8),
        is_float=section.text("type", default="int") == "float",
        strategy=strategy or default_strategy(group_size, block is not None),
        group_size=group_size or -1,
        symmetric=section.flag("symmetric", default=True),
        dynamic=dynamic is True or dynamic == "local",
        block=read_structure(section, block),
        byte_scales="uint8" in section.text("scale_dtype"),
    )


def default_strategy(group_size: int | None, has_block: bool) -> str:
    """The strategy of a tensor that states none.

    Source: compressed-tensors, quantization/quant_args.py, QuantizationArgs.validate_model_after.
    """
    if has_block:
        return "block"
    if group_size is None:
        return "tensor"
    return "group" if group_size > 0 else "channel"


def read_structure(section: ConfigReader, block: object) -> tuple[int, int] | None:
    """``block_structure``: rows and columns of a block."""
    if not isinstance(block, list):
        return None
    if len(block) != 2:
        raise section.invalid("block_structure", block, "two whole numbers")
    rows, columns = (section.checked_integer("block_structure", size) for size in block)
    return rows, columns


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


def linear_format(weights: Arguments, inputs: Arguments | None, stored: str) -> WeightFormat | None:
    """The form of a linear, tried in the engine's order.

    Source: vLLM 0.33.0, compressed_tensors.py, _get_scheme_from_parts.
    """
    if weights.is_float and weights.num_bits == 4:
        return four_bit_float(weights, inputs)
    if weights.is_float and weights.strategy == "group" and weights.group_size == 32:
        return MXFP8 if weights.byte_scales else None
    if weights.is_float:
        return float8(weights, inputs)
    if stored == PACKED and weights.strategy in ("group", "channel"):
        return packed_integers(weights.num_bits, weights.group_size, symmetric=weights.symmetric)
    if stored in ACTIVATION_FORMATS and weights.num_bits == 8 and inputs is not None:
        return integer8(weights, inputs)
    return None


def four_bit_float(weights: Arguments, inputs: Arguments | None) -> WeightFormat | None:
    """NVFP4 in groups of 16, MXFP4 in groups of 32."""
    if weights.strategy == "tensor_group" and weights.group_size == 16:
        if inputs is not None:
            return NVFP4
        return replace(
            NVFP4,
            name="nvfp4, 16-bit activations",
            extras=Extras(FLOAT32),
        )
    return MXFP4 if weights.strategy == "group" and weights.group_size == 32 else None


def float8(weights: Arguments, inputs: Arguments | None) -> WeightFormat | None:
    """fp8 by tensor, row or block, with one scale a matrix more for activations that are fixed."""
    match weights.strategy:
        case "tensor":
            form = FP8_TENSOR
        case "channel":
            form = replace(FP8_CHANNEL, routed_extras=Extras())
        case "block":
            form = replace(fp8_block(*(weights.block or (128, 128))), alignment="strict_block")
        case _:
            return None
    if inputs is None or inputs.dynamic:
        return form
    extras = replace(form.extras, matrix_bytes=form.extras.matrix_bytes + FLOAT32)
    routed = replace(form.routed_extras, linear_bytes=form.routed_extras.linear_bytes + FLOAT32)
    return replace(form, extras=extras, routed_extras=routed)


def integer8(weights: Arguments, inputs: Arguments) -> WeightFormat | None:
    """int8 weights with int8 activations: a fixed activation has a scale, and maybe a zero."""
    form = INT8_CHANNEL if weights.strategy == "channel" else INT8_TENSOR
    if weights.strategy not in ("channel", "tensor"):
        return None
    if inputs.dynamic:
        return form
    fixed = FLOAT32 if inputs.symmetric else FLOAT32 + 1
    return replace(form, extras=replace(form.extras, linear_bytes=fixed))


def expert_format(linear: WeightFormat, weights: Arguments) -> WeightFormat | None:
    """The form of routed experts under the same scheme; None where the engine has no such."""
    if not weights.is_float and weights.num_bits == 8 and linear.block is None:
        return None
    return linear


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
    if target.startswith("re:"):
        return equals_or_matches(CLASS_NAMES[module.kind], target)
    part = target.lower()
    return part in CLASS_NAMES[module.kind] or (module.kind == "experts" and target == "Linear")
