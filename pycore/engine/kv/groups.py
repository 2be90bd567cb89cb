"""Which layers share a block table: the groups that a KV pool is planned in.

Layers of one group take the same blocks for a request; groups draw their blocks from one pool.
So all groups need blocks of equal bytes, and how the layers are dealt out to groups decides what
a block costs and how many of them a request takes.

Source: vLLM 0.33.0, v1/core/kv_cache_planning.py (get_kv_cache_groups and what it calls).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pycore.engine.kv.layers import LayerSpecs, dealt_out, merged, of_one_kind
from pycore.engine.kv.packing import packed_groups
from pycore.engine.kv.pages import (
    PagesDoNotUnifyError,
    full_allocation_helps,
    unified_pages,
    windows_as_full_attention,
)
from pycore.engine.kv.specs import BlockDemand, RequestLimits, block_demand, page_size_bytes
from pycore.units import ceil_div

Grouping = Literal["none", "uniform", "uniform_type", "equal_groups", "packed"]

PADDING_TOLERANCE: Final = 1.5
"""Kinds whose numbers of layers are less than this apart share one group size, the larger."""


@dataclass(frozen=True, slots=True)
class KVCacheGroup:
    """Layers that share a block table."""

    layers: tuple[LayerSpecs, ...]
    num_padding_layers: int
    """Places in the block that no layer of this group fills."""
    demand: BlockDemand


@dataclass(frozen=True, slots=True)
class KVCachePlan:
    """The groups of a whole model, and what one block of the pool costs on each stage."""

    groups: tuple[KVCacheGroup, ...]
    bytes_per_block_by_stage: tuple[int, ...]
    grouping: Grouping
    promoted: bool = False
    """Windows are kept as full attention, since the hybrid manager is off or cannot help."""


def plan(
    layers: Sequence[LayerSpecs],
    limits: RequestLimits,
    *,
    hybrid_kv_cache_manager: bool = True,
    block_outermost: bool = False,
) -> KVCachePlan:
    """The groups of a model with these layers, in the order in which they first appear.

    In turn: all layers alike make one group; layers of one kind but of different widths make
    one too, whose block is the sum of their pages; layers of different kinds are dealt out to
    groups of equal size, once their pages have been made equal. ``block_outermost`` is the
    memory layout of DeepSeek-V4, whose blocks hold pages of different bytes side by side.

    Source: vLLM 0.33.0, get_kv_cache_groups.
    """
    if not layers:
        return KVCachePlan((), (), "none")
    layers = merged(layers)
    promoted = not (hybrid_kv_cache_manager or of_one_kind(layers))
    if promoted:
        layers = windows_as_full_attention(layers)
    if len(layers) == 1:
        return _plan_of([layers], "uniform", limits, promoted=promoted)
    if of_one_kind(layers):
        return _plan_of([layers], "uniform_type", limits, promoted=promoted)
    if block_outermost and len({page_size_bytes(run.spec) for run in layers}) > 1:
        return _plan_of(packed_groups(layers), "packed", limits, promoted=promoted)
    try:
        unified = unified_pages(layers)
    except PagesDoNotUnifyError:
        if not full_allocation_helps(layers):
            raise
        return _plan_of([windows_as_full_attention(layers)], "uniform_type", limits, promoted=True)
    return _plan_of(equal_groups(unified), "equal_groups", limits, promoted=promoted)


def equal_groups(layers: Sequence[LayerSpecs]) -> list[list[LayerSpecs]]:
    """Layers of several kinds, dealt out to groups of one size.

    Source: vLLM 0.33.0, _get_kv_cache_groups_uniform_page_size.
    """
    group_size = group_size_of([run.num_layers for run in layers])
    groups = []
    for run in layers:
        num_groups = ceil_div(run.num_layers, group_size)
        for group in range(num_groups):
            dealt = dealt_out(run.num_layers_by_stage, group, num_groups)
            groups.append([LayerSpecs(run.spec, dealt)])
    return groups


def group_size_of(layer_counts: Sequence[int]) -> int:
    """Layers in a group: the fewest of any kind, or the most when the fewest are nearly as many.

    Whatever a kind has beyond whole groups is padded, so the engine prefers few paddings.
    """
    fewest, most = min(layer_counts), max(layer_counts)
    return most if most < fewest * PADDING_TOLERANCE else fewest


def bytes_per_block_by_stage(groups: Sequence[Sequence[LayerSpecs]]) -> tuple[int, ...]:
    """Bytes of one block of the pool on each stage: those of the widest group there.

    Source: vLLM 0.33.0, _get_kv_cache_bytes_per_block.
    """
    pages = [
        [(page_size_bytes(run.spec), run.num_layers_by_stage) for run in group] for group in groups
    ]
    return tuple(
        max(sum(page_size * counts[stage] for page_size, counts in group) for group in pages)
        for stage in range(len(pages[0][0][1]))
    )


def _plan_of(
    groups: Sequence[Sequence[LayerSpecs]],
    grouping: Grouping,
    limits: RequestLimits,
    *,
    promoted: bool,
) -> KVCachePlan:
    num_layers = [sum(run.num_layers for run in group) for group in groups]
    widest = max(num_layers) if grouping == "equal_groups" else 0
    return KVCachePlan(
        tuple(
            KVCacheGroup(
                tuple(group), max(widest - own_layers, 0), block_demand(group[0].spec, limits)
            )
            for group, own_layers in zip(groups, num_layers, strict=True)
        ),
        bytes_per_block_by_stage(groups),
        grouping,
        promoted,
    )
