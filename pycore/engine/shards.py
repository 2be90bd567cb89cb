"""What one rank holds of a matrix: which experts, which rows, how many columns.

Routed experts are more than divided: kernels want their widths in whole tiles, so a rank's share
is filled up before anything is created, by rules that depend on the form and the GPU.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from pycore.engine.versions import NEWEST, find_version
from pycore.hardware.accelerators import Accelerator
from pycore.model.tensors import Linear, Split
from pycore.scenario import Scenario
from pycore.units import ceil_div, round_up

HOPPER: Final = (9, 0)
# Columns that share a scale in Marlin's kernels; 0 is all of them.
MARLIN_GROUPS: Final = (0, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class Ranks:
    """How a model is spread: over ranks of a stage, over stages, over replicas; on what, by whom.

    ``compute_capability`` is None on AMD's GPUs.
    """

    tensor_parallel_size: int
    pipeline_parallel_size: int
    data_parallel_size: int
    enable_expert_parallel: bool
    compute_capability: tuple[int, int] | None = HOPPER
    engine_version: tuple[int, int] = NEWEST
    is_compiled: bool = True
    """False where the engine is told to run eagerly, and keeps some tables for other kernels."""

    @property
    def expert_ranks(self) -> int:
        """Ranks that share the routed experts: those of all replicas together."""
        return self.tensor_parallel_size * self.data_parallel_size

    @property
    def has_router_kernels(self) -> bool:
        """Whether the GPU has kernels that compute a router in float32 from narrower weights.

        Source: vLLM 0.33.0, fused_moe/router/gate_linear.py, GateLinear.
        """
        return self.compute_capability is not None and (
            self.compute_capability == HOPPER or self.compute_capability[0] == 10
        )

    @property
    def divides_tokens(self) -> bool:
        """Whether the ranks of TP divide tokens, not weights, around routed experts.

        Source: vLLM 0.33.0, config/parallel.py, use_sequence_parallel_moe.
        """
        replicas, size = self.data_parallel_size, self.tensor_parallel_size
        return self.enable_expert_parallel and replicas > 1 and size > 1

    @property
    def experts_are_whole(self) -> bool:
        """Whether each rank holds whole experts instead of a slice of each."""
        return self.enable_expert_parallel and self.expert_ranks > 1


def layers_by_stage(num_layers: int, pipeline_parallel_size: int) -> tuple[int, ...]:
    """Layers of each pipeline stage.

    An equal share each; what is left over goes to the stages before the last, from the last but
    one backwards, since the last also holds the head.
    Source: vLLM 0.33.0, distributed/utils.py, get_pp_indices.
    """
    share, rest = divmod(num_layers, pipeline_parallel_size)
    sizes = [share] * pipeline_parallel_size
    for stage in range(rest):
        sizes[-(stage + 2)] += 1
    return tuple(sizes)


def ranks_of(scenario: Scenario, accelerator: Accelerator) -> Ranks:
    """How the scenario spreads its model, and on what."""
    return Ranks(
        scenario.tensor_parallel_size,
        scenario.pipeline_parallel_size,
        scenario.data_parallel_size,
        scenario.enable_expert_parallel,
        accelerator.compute_capability,
        find_version(scenario.engine_version).version,
        is_compiled=not scenario.enforce_eager,
    )


@dataclass(frozen=True, slots=True)
class Filling:
    """Multiples that routed experts are filled up to on a rank: of hidden size and of width."""

    hidden: int = 1
    width: int = 1


UNFILLED: Final = Filling()


@dataclass(frozen=True, slots=True)
class Shard:
    """One rank's part of a linear: experts, rows of each fused matrix, columns."""

    experts: int
    rows: tuple[int, ...]
    columns: int
    is_routed: bool = False

    @property
    def num_rows(self) -> int:
        """Rows of all fused matrices."""
        return sum(self.rows)


def is_whole_in_sequence(linear: Linear, ranks: Ranks) -> bool:
    """Whether ranks divide tokens around a linear, and so hold it whole.

    Source: vLLM 0.33.0, models/deepseek_v32/nvidia/model.py and models/kimi_k3/nvidia/model.py.
    """
    if not linear.whole_in_sequence or not ranks.divides_tokens:
        return False
    return ranks.pipeline_parallel_size == 1 or not linear.divided_in_pipelines


def shard_of(linear: Linear, ranks: Ranks, filling: Filling = UNFILLED) -> Shard:
    """What one rank holds of ``linear``."""
    split, experts = ranks.tensor_parallel_size, 1
    if linear.split_heads % split or is_whole_in_sequence(linear, ranks):
        split = 1
    if linear.num_experts:
        split, experts = ranks.expert_ranks, linear.num_experts
        if ranks.experts_are_whole:
            split, experts = 1, ceil_div(linear.num_experts, ranks.expert_ranks)
    if linear.least_width_per_rank and ranks.tensor_parallel_size > 1 and split > 1:
        linear = widened(linear, linear.least_width_per_rank * ranks.tensor_parallel_size)
    if linear.width_multiple > 1:
        linear = in_whole_blocks(linear, linear.width_multiple * split)
    rows = [part.on_rank(split) for part in linear.rows]
    rows[-1] += -sum(rows) % linear.rows_multiple
    columns = linear.columns // split if linear.columns_split else linear.columns
    if not linear.num_experts or filling == UNFILLED:
        return Shard(experts, tuple(rows), columns, is_routed=linear.num_experts > 0)
    # Down projections have the hidden size in rows and the width in columns; the others reversed.
    across, down = filling.hidden, filling.width
    if linear.columns_split:
        across, down = down, across
    filled = tuple(round_up(part, down) for part in rows)
    return Shard(experts, filled, round_up(columns, across), is_routed=True)


def widened(linear: Linear, least: int) -> Linear:
    """Routed experts whose width is filled up to ``least`` before it is split.

    Source: vLLM 0.33.0, models/kimi_k3/nvidia/model.py, padded_moe_intermediate_size.
    """
    return with_width(linear, lambda width: max(width, least))


def in_whole_blocks(linear: Linear, multiple: int) -> Linear:
    """A network whose width is filled up to a multiple before it is split.

    Source: vLLM 0.33.0, models/deepseek_v4/nvidia/model.py, DeepseekV4MLP.
    """
    return with_width(linear, lambda width: round_up(width, multiple))


def with_width(linear: Linear, changed: Callable[[int], int]) -> Linear:
    """A linear with another width on the side that TP divides."""
    rows = tuple(
        replace(part, count=changed(part.count)) if part.split is Split.EVEN else part
        for part in linear.rows
    )
    columns = changed(linear.columns) if linear.columns_split else linear.columns
    return replace(linear, rows=rows, columns=columns)
