"""Weights as the engine keeps them once they are loaded, where that differs from what it created.

Kernels want scales in layouts of their own, some tensors are dropped, and latent attention keeps
copies of its up-projection in the model's dtype. The budget feels these sizes.
"""

from typing import Final

from pycore.dtypes import element_bytes
from pycore.engine.integer_kernels import machete_takes
from pycore.engine.shards import Ranks, Shard
from pycore.model.latent import LatentAttention
from pycore.model.layers import AnyMixer
from pycore.model.module_forms import Forms
from pycore.model.quantization.weight_formats import WeightFormat, tensor_sizes
from pycore.sizing.allocator import allocated_bytes
from pycore.units import ceil_div, round_up

# GPUs from here on multiply fp8 themselves; before, Marlin unpacks it.
FP8_CAPABILITY: Final = (8, 9)
# The first version that is known to free the scales that Triton's kernels were given a copy of.
FREES_SCALES: Final = (0, 33)
# Rows and columns of scales are filled up to these in the layout of Triton's kernels on Hopper.
SCALE_ROWS: Final = 256
SCALE_COLUMNS: Final = 4
OLDER_SCALE_COLUMNS: Final = 2
FLOAT32_BYTES: Final = 4
BLACKWELL_MAJOR: Final = 10


def loaded_bytes(
    form: WeightFormat | None, shard: Shard, bias_rows: int, ranks: Ranks, dtype_bytes: int
) -> int:
    """Bytes that a linear's tensors take once loaded; an expert's are of all experts together.

    ``shard`` is of one expert, and its form is the one that was created.
    """
    bias = bias_rows * dtype_bytes
    if form is None:
        sizes: tuple[int, ...] = (shard.num_rows * shard.columns * dtype_bytes, bias)
    elif form.filling == "gpt_oss":
        sizes = four_bit_expert_sizes(form, shard, bias_rows, ranks)
    else:
        sizes = (*kernel_sizes(form, shard, ranks, dtype_bytes), bias)
    return sum(allocated_bytes(num_bytes=shard.experts * size) for size in sizes)


def kernel_sizes(
    form: WeightFormat, shard: Shard, ranks: Ranks, dtype_bytes: int
) -> tuple[int, ...]:
    """The sizes of a matrix's tensors in the layout of the kernel that multiplies with it."""
    created = tensor_sizes(form, shard.rows, shard.columns, dtype_bytes, routed=shard.is_routed)
    capability = ranks.compute_capability
    match form.family:
        case "fp8" if capability is not None and capability < FP8_CAPABILITY:
            return (created[0], marlin_scales(form, shard, dtype_bytes))
        case "gptq" if shard.is_routed:
            return created[:3]
        case "gptq" if not machete_takes(form, shard, ranks):
            return created[:2]
        case "awq" if not shard.is_routed and machete_takes(form, shard, ranks):
            # Machete keeps zero points times scales, one for each, in the model's dtype.
            return (*created[:2], created[1])
        case _:
            return created


def marlin_scales(form: WeightFormat, shard: Shard, dtype_bytes: int) -> int:
    """fp8's scales for Marlin: one for each row, and for each group of columns where in blocks.

    Source: vLLM 0.33.0, quantization/utils/marlin_utils_fp8.py.
    """
    groups = ceil_div(shard.columns, form.group_size) if form.group_size else 1
    return shard.num_rows * groups * dtype_bytes


def four_bit_expert_sizes(
    form: WeightFormat, shard: Shard, bias_rows: int, ranks: Ranks
) -> tuple[int, ...]:
    """gpt-oss's experts: biases in float32 but for Marlin's; on Hopper, scales in tiles.

    Source: vLLM 0.33.0, fused_moe/oracle/mxfp4.py; triton_kernels, HopperMXScaleLayout.
    """
    elements, scales, *_ = tensor_sizes(form, shard.rows, shard.columns, 0, routed=True)
    capability = ranks.compute_capability
    if capability is None or capability[0] == BLACKWELL_MAJOR:
        return elements, scales, bias_rows * FLOAT32_BYTES
    if capability[0] not in (9, 11):
        return elements, scales, bias_rows * 2
    is_new = ranks.engine_version >= FREES_SCALES
    multiple = SCALE_COLUMNS if is_new else OLDER_SCALE_COLUMNS
    columns = round_up(shard.columns // form.group_size, multiple)
    tiled = round_up(shard.num_rows, SCALE_ROWS) * columns
    kept = () if is_new else (scales,)
    return elements, tiled, bias_rows * FLOAT32_BYTES, *kept


def latent_copy_bytes(mixer: AnyMixer, forms: Forms, ranks: Ranks, dtype: str) -> int:
    """The up-projection of latent attention in the model's dtype, where the checkpoint's is not.

    Keys and values are folded into queries and outputs, which takes them unquantised; an
    unquantised projection is only looked at in another order.
    Source: vLLM 0.33.0, layers/attention/mla_attention.py, process_weights_after_loading.
    """
    if not isinstance(mixer, LatentAttention) or "self_attn.kv_b_proj" not in forms:
        return 0
    heads = mixer.num_attention_heads // ranks.tensor_parallel_size
    widths = (mixer.qk_nope_head_dim, mixer.v_head_dim)
    return sum(
        allocated_bytes(num_bytes=heads * width * mixer.kv_lora_rank * element_bytes(dtype))
        for width in widths
    )
