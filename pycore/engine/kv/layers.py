"""A model's layers by what they keep: how many there are of each spec, and on which stage.

Layers that keep the same things are counted, not listed: a model of eighty equal layers is one
run. Only the number of layers of each pipeline stage matters to the KV pool.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from pycore.engine.kv.specs import (
    ChunkedLocalAttentionSpec,
    CircularBufferSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
    page_size_bytes,
)
from pycore.units import ceil_div


@dataclass(frozen=True, slots=True)
class LayerSpecs:
    """Layers with the same spec: how many of them each pipeline stage has."""

    spec: KVCacheSpec
    num_layers_by_stage: tuple[int, ...]

    @property
    def num_layers(self) -> int:
        """Layers of the whole model with this spec."""
        return sum(self.num_layers_by_stage)


def merged(layers: Sequence[LayerSpecs]) -> list[LayerSpecs]:
    """``layers`` with equal specs counted together, in order of first appearance."""
    if len(layers) == 1:
        return list(layers)
    counts: dict[KVCacheSpec, tuple[int, ...]] = {}
    for run in layers:
        seen = counts.get(run.spec)
        counts[run.spec] = (
            tuple(map(int.__add__, seen, run.num_layers_by_stage))
            if seen
            else run.num_layers_by_stage
        )
    return [LayerSpecs(spec, num_layers) for spec, num_layers in counts.items()]


def dealt_out(num_layers_by_stage: tuple[int, ...], group: int, num_groups: int) -> tuple[int, ...]:
    """Layers of each stage that ``group`` gets when layers are dealt out one by one.

    Dealing, rather than cutting into stretches, leaves each group a share of every stage.
    """
    dealt = []
    first = 0
    for num_layers in num_layers_by_stage:
        end = first + num_layers
        dealt.append(ceil_div(end - group, num_groups) - ceil_div(first - group, num_groups))
        first = end
    return tuple(dealt)


def kind_of(spec: KVCacheSpec) -> tuple[object, ...]:
    """What layers must have in common to share a block table, whatever their widths.

    Source: vLLM 0.33.0, v1/kv_cache_interface.py, UniformTypeKVCacheSpecs.is_uniform_type.
    """
    match spec:
        case FullAttentionSpec() | MLAAttentionSpec():
            return "full", spec.block_size, spec.dcp_sharded
        case SlidingWindowSpec(pages=pages):
            return "sliding", pages.block_size, pages.dcp_sharded, type(pages), spec.sliding_window
        case ChunkedLocalAttentionSpec(pages=pages):
            return "chunked", pages.block_size, pages.dcp_sharded, spec.attention_chunk_size
        case CrossAttentionSpec(pages=pages):
            return "cross", pages.block_size, pages.dcp_sharded
        case CircularBufferSpec(pages=pages):
            return "circular", pages.block_size, pages.dcp_sharded
        case MambaSpec():
            blocks = (spec.num_speculative_blocks, spec.num_prefill_checkpoint_blocks)
            return "mamba", spec.block_size, page_size_bytes(spec), blocks
        case _:
            assert_never(spec)


def of_one_kind(layers: Sequence[LayerSpecs]) -> bool:
    """Whether these layers can all share one block table."""
    return len(layers) == 1 or len({kind_of(run.spec) for run in layers}) == 1


def by_kind(layers: Sequence[LayerSpecs]) -> list[list[LayerSpecs]]:
    """``layers`` sorted into kinds, in order of first appearance."""
    kinds: dict[tuple[object, ...], list[LayerSpecs]] = {}
    for run in layers:
        kinds.setdefault(kind_of(run.spec), []).append(run)
    return list(kinds.values())
