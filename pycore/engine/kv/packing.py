"""Groups whose blocks hold pages of different bytes side by side (DeepSeek-V4).

Layers are first sorted by kind. A kind that has as many layers of each page size repeats a
pattern, one layer of each size, and is dealt out in whole patterns; states are dealt out so that
they widen no block.

Source: vLLM 0.33.0, v1/core/kv_cache_planning.py (_get_packed_kv_cache_groups,
_approximate_gcd).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pycore.engine.kv.layers import LayerSpecs, by_kind, dealt_out
from pycore.engine.kv.specs import (
    CircularBufferSpec,
    MambaSpec,
    SlidingWindowSpec,
    page_size_bytes,
)
from pycore.units import ceil_div


@dataclass(frozen=True, slots=True)
class Bucket:
    """The layers of one kind, by page size."""

    runs: tuple[LayerSpecs, ...]

    @property
    def num_layers(self) -> int:
        """All layers of the kind."""
        return sum(run.num_layers for run in self.runs)

    @property
    def repeats(self) -> int:
        """How often the pattern repeats: the most layers of any page size."""
        return max(run.num_layers for run in self.runs)

    @property
    def is_balanced(self) -> bool:
        """As many layers of each page size: one of each makes a pattern."""
        return len({run.num_layers for run in self.runs}) == 1

    def widest_group_bytes(self, num_groups: int) -> int:
        """Page bytes of the widest of ``num_groups`` groups."""
        return sum(
            ceil_div(run.num_layers, num_groups) * page_size_bytes(run.spec) for run in self.runs
        )


def packed_groups(layers: Sequence[LayerSpecs]) -> list[list[LayerSpecs]]:
    """The layers of each group."""
    buckets = [Bucket(tuple(_by_page_size(runs))) for runs in by_kind(layers)]
    repeats = _repeats_per_group(buckets)
    anchor_bytes = max(
        bucket.widest_group_bytes(
            bucket.num_layers if _is_state(bucket, repeats) else _num_groups(bucket, repeats)
        )
        for bucket in buckets
    )
    groups = []
    for bucket in buckets:
        num_groups = _num_groups(bucket, repeats)
        if _is_state(bucket, repeats):
            states_per_block = max(anchor_bytes // page_size_bytes(bucket.runs[0].spec), 1)
            num_groups = max(num_groups, ceil_div(bucket.num_layers, states_per_block))
        groups += _dealt(bucket, num_groups)
    return groups


def _by_page_size(runs: Sequence[LayerSpecs]) -> list[LayerSpecs]:
    """Runs of the same page size taken together: only their bytes matter from here on."""
    sizes: dict[int, LayerSpecs] = {}
    for run in runs:
        page_size = page_size_bytes(run.spec)
        seen = sizes.get(page_size)
        sizes[page_size] = (
            LayerSpecs(
                seen.spec,
                tuple(map(int.__add__, seen.num_layers_by_stage, run.num_layers_by_stage)),
            )
            if seen
            else run
        )
    return list(sizes.values())


def _repeats_per_group(buckets: Sequence[Bucket]) -> int | None:
    """Patterns in each group; None when no kind mixes page sizes in equal numbers."""
    balanced = [bucket for bucket in buckets if bucket.is_balanced]
    floor = max((bucket.repeats for bucket in balanced if len(bucket.runs) > 1), default=0)
    if not floor:
        return None
    return least_padding_divisor([bucket.repeats for bucket in balanced], floor)


def least_padding_divisor(values: Sequence[int], lower_bound: int) -> int:
    """The divisor, from ``lower_bound`` up, that leaves least padding; the larger of equals."""
    return min(
        range(lower_bound, max(values) + 1),
        key=lambda divisor: (sum(-value % divisor for value in values), -divisor),
        default=lower_bound,
    )


def _num_groups(bucket: Bucket, repeats: int | None) -> int:
    if repeats is None or not bucket.is_balanced:
        return 1
    return ceil_div(bucket.repeats, repeats)


def _is_state(bucket: Bucket, repeats: int | None) -> bool:
    spec = bucket.runs[0].spec
    return isinstance(spec, MambaSpec | CircularBufferSpec) or (
        repeats is None and isinstance(spec, SlidingWindowSpec)
    )


def _dealt(bucket: Bucket, num_groups: int) -> list[list[LayerSpecs]]:
    if num_groups == 1:
        return [list(bucket.runs)]
    return [
        [
            LayerSpecs(run.spec, dealt_out(run.num_layers_by_stage, group, num_groups))
            for run in bucket.runs
        ]
        for group in range(num_groups)
    ]
