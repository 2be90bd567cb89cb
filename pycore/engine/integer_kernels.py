"""Which of the engine's kernels takes a rank's share of a matrix of packed integers.

Source: vLLM 0.33.0, kernels/linear/mixed_precision (can_implement of each kernel) and
kernels/linear/__init__.py (their order).
"""

from typing import Final

from pycore.engine.shards import MARLIN_GROUPS, Ranks, Shard
from pycore.model.quantization.weight_formats import WeightFormat
from pycore.model.tensors import Linear

NO_KERNEL: Final = "Failed to find a kernel that can implement the WNA16 linear layer. Reasons: \n"
MACHETE_GROUPS: Final = (0, 64, 128)
MACHETE_TILE: Final = (64, 128)


def cuts_a_group(form: WeightFormat, linear: Linear, shard: Shard) -> bool:
    """Whether a rank's columns end within a group."""
    group = form.group_size
    return group != 0 and group < linear.columns and shard.columns % group != 0


def no_kernel(
    form: WeightFormat, linear: Linear, shard: Shard, ranks: Ranks, dtype: str
) -> str | None:
    """The engine's words when none of its kernels takes a share of integers."""
    if machete_takes(form, shard, ranks) or marlin_reason(form, linear, shard) is None:
        return None
    if exllama_takes(form, linear, shard, dtype) or triton_takes(form, linear, shard):
        return None
    reason = marlin_reason(form, linear, shard)
    return f"{NO_KERNEL} MarlinLinearKernel cannot implement due to: {reason}"


def machete_takes(form: WeightFormat, shard: Shard, ranks: Ranks) -> bool:
    """Hopper's own kernel, which does not ask whether groups are whole."""
    return (
        ranks.compute_capability == (9, 0)
        and form.element_bits in (4, 8)
        and form.group_size in MACHETE_GROUPS
        and shard.columns % MACHETE_TILE[0] == 0
        and shard.num_rows % MACHETE_TILE[1] == 0
    )


def marlin_reason(form: WeightFormat, linear: Linear, shard: Shard) -> str | None:
    """Why Marlin does not take a share; None where it does."""
    widths = (4,) if form.asymmetric else (4, 8)
    if form.element_bits not in widths:
        return f"Quant type of {form.element_bits} bits not supported by  Marlin"
    if form.group_size not in MARLIN_GROUPS:
        return (
            f"Group size ({form.group_size}) not supported by Marlin, supported group sizes are: "
            "[-1, 32, 64, 128]"
        )
    if not cuts_a_group(form, linear, shard):
        return None
    return (
        f"in_features per partition {shard.columns} is not divisible by group_size = "
        f"{form.group_size}."
    )


def exllama_takes(form: WeightFormat, linear: Linear, shard: Shard, dtype: str) -> bool:
    """Exllama's kernel: float16 and symmetric groups, which it lets a cut go through."""
    return (
        dtype == "float16"
        and not form.asymmetric
        and form.element_bits in (4, 8)
        and form.group_size > 0
        and shard.num_rows % (32 // form.element_bits) == 0
        and linear.columns % form.group_size == 0
    )


def triton_takes(form: WeightFormat, linear: Linear, shard: Shard) -> bool:
    """Triton's kernel: four bits in whole groups."""
    group = form.group_size
    known = group in (0, 32, 64, 128, 256) or group == linear.columns
    whole = group == 0 or shard.columns % group == 0
    return form.element_bits == 4 and known and whole and shard.num_rows % 8 == 0
