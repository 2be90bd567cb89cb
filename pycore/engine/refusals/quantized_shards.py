"""Which cuts through a quantised matrix the engine refuses, and in which words.

Scales and packed words belong to blocks of rows and columns. Where a rank's share is no whole
number of them, a kernel may still be found, or the engine stops.
Source: vLLM 0.33.0, quantization/utils/fp8_utils.py, kernels/linear/mixed_precision,
quantization/auto_awq.py, auto_gptq.py, modelopt.py and compressed_tensors_wNa16.py.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from pycore.engine.expert_filling import fitted
from pycore.engine.integer_kernels import cuts_a_group, no_kernel
from pycore.engine.shards import MARLIN_GROUPS, Ranks, Shard, shard_of
from pycore.model.model import Model
from pycore.model.module_forms import layer_forms, module_of
from pycore.model.parameters import layer_tensors
from pycore.model.quantization.methods import Quantization
from pycore.model.quantization.weight_formats import WeightFormat
from pycore.model.tensors import Linear, Split

# The one grid of fp8 scales that Marlin's kernels for experts read, and the first GPU with others.
MARLIN_BLOCK: Final = (128, 128)
FIRST_WITH_FP8: Final = (8, 9)


def shard_error(
    model: Model, quantization: Quantization | None, ranks: Ranks, dtype: str
) -> str | None:
    """What the engine says of the first matrix that it cannot cut, or None."""
    if quantization is None:
        return None
    for name, linear, form in quantized_linears(model, quantization):
        shard = shard_of(linear, ranks)
        if linear.num_experts:
            error = expert_error(form, linear, shard, ranks)
        else:
            error = linear_error(form, linear, shard, ranks, dtype, name)
        if error is not None:
            return error
    return None


@lru_cache(maxsize=256)
def quantized_linears(
    model: Model, quantization: Quantization
) -> tuple[tuple[str, Linear, WeightFormat], ...]:
    """Every kind of quantised linear once, with the name of the first of its kind."""
    return tuple(each_quantized_linear(model, quantization))


def each_quantized_linear(
    model: Model, quantization: Quantization
) -> Iterator[tuple[str, Linear, WeightFormat]]:
    """The same, one by one."""
    seen: set[tuple[Linear, WeightFormat]] = set()
    done: set[tuple[int, int]] = set()
    for index, forms in enumerate(layer_forms(model, quantization)):
        layer = model.layers[index]
        if (id(layer), id(forms)) in done:
            continue
        done.add((id(layer), id(forms)))
        for tensor in layer_tensors(layer, model.hidden_size):
            form = forms.get(tensor.name)
            if form is None or not isinstance(tensor, Linear) or (tensor, form) in seen:
                continue
            seen.add((tensor, form))
            yield module_of(tensor, f"{model.names.layers}.{index}.").name, tensor, form


def is_replicated(linear: Linear) -> bool:
    """Whether every rank holds all of a linear."""
    return not linear.columns_split and all(rows.split is Split.REPLICATED for rows in linear.rows)


def linear_error(
    form: WeightFormat, linear: Linear, shard: Shard, ranks: Ranks, dtype: str, name: str
) -> str | None:
    """What the engine says of a dense linear's share, or None."""
    match form.alignment:
        case "block" | "strict_block":
            return block_error(form, linear, shard, ranks)
        case "awq":
            return awq_error(form, linear, shard)
        case "gptq":
            return gptq_error(form, linear, shard, ranks, dtype)
        case "group":
            return group_error(form, linear, shard, ranks, dtype, name)
        case "nvfp4":
            odd = shard.columns % 16
            return "Unsupported model when in features size is not multiple of 16" if odd else None
        case "mxfp8":
            odd = shard.columns % 32
            return (
                f"MXFP8 requires input size divisible by 32, got {shard.columns}" if odd else None
            )
        case "none":
            return None


def block_error(form: WeightFormat, linear: Linear, shard: Shard, ranks: Ranks) -> str | None:
    """The rule of fp8 in blocks: rows that are split, and merged matrices but for the last.

    Checkpoints of the engine's own fp8 method are let off where fused matrices do not fit.
    """
    block_n, block_k = form.block or (1, 1)
    is_cut = ranks.tensor_parallel_size > 1
    if linear.columns_split:
        if not is_cut or shard.columns % block_k == 0:
            return None
        return (
            f"Weight input_size_per_partition = {shard.columns} is not divisible by weight "
            f"quantization block_k = {block_k}."
        )
    is_merged = len(shard.rows) > 1
    is_split = is_cut and not is_replicated(linear)
    if is_merged and form.alignment == "block":
        return None
    checked = shard.rows if is_split else shard.rows[:-1]
    odd = next((part for part in checked if part % block_n), None)
    if odd is None:
        return None
    return (
        f"Weight output_partition_size = {odd} is not divisible by weight quantization "
        f"block_n = {block_n}."
    )


def awq_error(form: WeightFormat, linear: Linear, shard: Shard) -> str | None:
    """AWQ: what Marlin does not take goes to older kernels, which want whole groups and words."""
    if form.group_size in MARLIN_GROUPS and not cuts_a_group(form, linear, shard):
        return None
    too_large = "This can be caused by too large tensor parallel size."
    if shard.columns % (form.group_size or linear.columns):
        return f"The input size is not aligned with the quantized weight shape. {too_large}"
    if shard.num_rows % (32 // form.element_bits):
        return f"The output size is not aligned with the quantized weight shape. {too_large}"
    return None


def gptq_error(
    form: WeightFormat, linear: Linear, shard: Shard, ranks: Ranks, dtype: str
) -> str | None:
    """GPTQ: Marlin's group sizes in any case, then whichever kernel takes the share."""
    if form.group_size not in MARLIN_GROUPS:
        return (
            f"Marlin does not support group_size = {form.group_size}. Only group_sizes = "
            "[-1, 32, 64, 128] are supported."
        )
    return no_kernel(form, linear, shard, ranks, dtype)


def group_error(
    form: WeightFormat, linear: Linear, shard: Shard, ranks: Ranks, dtype: str, name: str
) -> str | None:
    """Integers of compressed-tensors: a kernel first, then whole groups."""
    error = no_kernel(form, linear, shard, ranks, dtype)
    if error is not None or not cuts_a_group(form, linear, shard):
        return error
    return (
        f"Weight input_size_per_partition={shard.columns} for layer '{name}' is not divisible by "
        f"group_size={form.group_size}. This happens when tensor_parallel_size splits the layer "
        "input into shards that are not a whole number of quant groups. Consider reducing "
        "tensor_parallel_size."
    )


def expert_error(form: WeightFormat, linear: Linear, shard: Shard, ranks: Ranks) -> str | None:
    """What the engine says of routed experts' share, or None."""
    width = shard.columns if linear.columns_split else shard.rows[0]
    hidden = shard.rows[0] if linear.columns_split else shard.columns
    match form.alignment:
        case "block" | "strict_block":
            return expert_block_error(form, linear, shard, ranks)
        case "group":
            return expert_group_error(form, width, hidden)
        case "mxfp8" if width % 32:
            return (
                f"MXFP8 MoE requires intermediate_size_per_partition divisible by 32, got {width}."
            )
        case _:
            return None


def expert_block_error(
    form: WeightFormat, linear: Linear, shard: Shard, ranks: Ranks
) -> str | None:
    """Experts in blocks: a cut is refused where no finer grid of scales fits it."""
    width = shard.columns if linear.columns_split else shard.rows[0]
    block_n, block_k = fitted(form, shard, linear, ranks).block or (1, 1)
    if width % block_n:
        return (
            f"The output_size of gate's and up's weight = {width} is not divisible by weight "
            f"quantization block_n = {block_n}."
        )
    if ranks.tensor_parallel_size > 1 and width % block_k:
        return (
            f"The input_size of down's weight = {width} is not divisible by weight quantization "
            f"block_k = {block_k}."
        )
    if (block_n, block_k) != MARLIN_BLOCK and is_older(ranks.compute_capability):
        return "No FP8 MoE backend supports the deployment configuration."
    return None


def is_older(capability: tuple[int, int] | None) -> bool:
    """Whether a GPU has no fp8 of its own, so that Marlin's are its only kernels for experts.

    Source: vLLM 0.33.0, fused_moe/experts, marlin_moe.py and triton_moe.py.
    """
    return capability is not None and capability < FIRST_WITH_FP8


def expert_group_error(form: WeightFormat, width: int, hidden: int) -> str | None:
    """Experts of integers: whole groups both ways.

    Source: vLLM 0.33.0, compressed_tensors_moe_wna16.py.
    """
    group = form.group_size
    if group and hidden % group:
        return (
            f"CompressedTensors WNA16 MoE requires hidden_size ({hidden}) to be divisible by "
            f"group_size ({group})."
        )
    if group and width % group:
        return (
            "CompressedTensors WNA16 MoE with static group scales requires the MoE intermediate "
            f"size per tensor-parallel partition ({width}) to be divisible by group_size "
            f"({group}). Scale groups would otherwise cross TP shard boundaries; use a compatible "
            "TP size or enable expert parallelism."
        )
    return None
