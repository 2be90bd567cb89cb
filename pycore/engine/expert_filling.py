"""How routed experts are made to fit their kernels: widths filled up, groups of scales refined.

Source: vLLM 0.33.0, fused_moe/oracle (the order of backends and what each wants), and
fused_moe/experts for the GPUs that each backend runs on.
"""

from dataclasses import replace
from math import gcd
from typing import Final

from pycore.engine.shards import MARLIN_GROUPS, UNFILLED, Filling, Ranks, Shard
from pycore.model.layers import MoeMlp
from pycore.model.quantization.weight_formats import Extras, WeightFormat
from pycore.model.tensors import Linear

# Finer blocks of scales than this no kernel takes.
LEAST_BLOCK: Final = 32
# The first version that is known to refine blocks that TP cuts through; older ones refuse.
REFINES_BLOCKS: Final = (0, 33)


def filling_of(moe: MoeMlp, form: WeightFormat | None, ranks: Ranks) -> Filling:
    """What routed experts are filled up to before they are created.

    Source: vLLM 0.33.0, fused_moe/oracle/unquantized.py and mxfp4.py (the round_up functions and
    the order of backends), fused_moe/experts for the GPUs that each backend runs on.
    """
    if form is None:
        fills = is_datacentre_blackwell(ranks) and moe.blackwell_routing
        return Filling(width=128) if fills else UNFILLED
    match form.filling:
        case "none":
            return UNFILLED
        case "gpt_oss":
            return gpt_oss_filling(ranks.compute_capability)
        case "mxfp4":
            return Filling(256, 128)
        case "block":
            return Filling(128, 128)


def gpt_oss_filling(capability: tuple[int, int] | None) -> Filling:
    """Multiples for gpt-oss's MXFP4 experts, by the backend that each GPU gets.

    Triton's on Hopper and Thor; TensorRT-LLM's on B200 and its like; Marlin on all others of
    NVIDIA's; AMD's own kernels want 256 both ways.
    """
    if capability is None:
        return Filling(256, 256)
    if capability[0] in (9, 11):
        return Filling(width=64)
    return Filling(256, 128)


def is_datacentre_blackwell(ranks: Ranks) -> bool:
    """Whether the GPU is a B200, a B300 or their like, which have expert kernels of their own."""
    return ranks.compute_capability is not None and ranks.compute_capability[0] == 10


def fitted(form: WeightFormat, shard: Shard, linear: Linear, ranks: Ranks) -> WeightFormat:
    """The form of a routed expert on a rank: finer groups where the cut leaves no whole ones."""
    width = shard.columns if linear.columns_split else shard.rows[0]
    hidden = shard.rows[0] if linear.columns_split else shard.columns
    match form.alignment:
        case "block" if ranks.engine_version >= REFINES_BLOCKS:
            return with_finer_blocks(form, width, hidden)
        case "awq" | "gptq":
            return (
                form
                if marlin_takes(form, width, hidden)
                else with_finer_groups(form, width, hidden)
            )
        case _:
            return form


def with_finer_blocks(form: WeightFormat, width: int, hidden: int) -> WeightFormat:
    """Blocks of scales fine enough for a cut through an expert; every scale is then repeated.

    Source: vLLM 0.33.0, fused_moe/oracle/fp8.py, refine_fp8_moe_block_shape.
    """
    rows, columns = form.block or (1, 1)
    if width % rows == 0 and width % columns == 0:
        return form
    side = gcd(rows, columns, width, hidden)
    return form if side < LEAST_BLOCK else replace(form, block=(side, side))


def marlin_takes(form: WeightFormat, width: int, hidden: int) -> bool:
    """Whether Marlin's kernel for integer experts takes these sizes.

    Source: vLLM 0.33.0, quantization/utils/marlin_utils.py, check_moe_marlin_supports_config.
    """
    group = form.group_size
    return hidden % 128 == 0 and group in MARLIN_GROUPS and (not group or width % group == 0)


def with_finer_groups(form: WeightFormat, width: int, hidden: int) -> WeightFormat:
    """The form of the kernels that stand in for Marlin's: bytes, and groups halved until they fit.

    Source: vLLM 0.33.0, quantization/moe_wna16.py, MoeWNA16Method.create_weights.
    """
    group = form.group_size or hidden
    while group > LEAST_BLOCK and (width % group or hidden % group):
        group //= 2
    return replace(
        form,
        word_bits=8,
        packs_rows=False,
        block=(1, group),
        zero_points=form.asymmetric,
        routed_extras=Extras(),
    )
