"""The form of a matrix under each scheme of compressed-tensors.

Source: vLLM 0.33.0, quantization/compressed_tensors (compressed_tensors.py, schemes and
compressed_tensors_moe).
"""

from dataclasses import dataclass, replace
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.quantization.weight_formats import (
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
