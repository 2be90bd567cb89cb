"""Why the groups of a KV pool are as they are, in sentences for the people who run the engine."""

from collections.abc import Iterator
from typing import assert_never

from pycore.engine.kv.groups import KVCachePlan
from pycore.engine.kv.layers import LayerSpecs
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


def reasons(plan: KVCachePlan) -> tuple[str, ...]:
    """How the groups came about, and what each kind of layer asks of them."""
    return (*grouping_reasons(plan), *kind_reasons(plan))


def grouping_reasons(plan: KVCachePlan) -> Iterator[str]:
    """Why the layers are in these groups."""
    kinds = listed([counted(run) for run in all_runs(plan)])
    if plan.promoted:
        yield (
            "Windows are kept as if they were full attention, since the engine was told, or had, "
            "to do without groups of different kinds."
        )
    match plan.grouping:
        case "none":
            yield "The model keeps nothing between tokens."
        case "uniform":
            yield f"{kinds}: all alike, so they share one block table."
        case "uniform_type":
            yield (
                f"{kinds}: they keep the same tokens in pages of different width, so they share "
                "one block table, and a block is the sum of their pages."
            )
        case "packed":
            yield (
                f"{kinds}: packed side by side into blocks as wide as the widest of "
                f"{len(plan.groups)} groups."
            )
        case "equal_groups":
            places = max(sum(run.num_layers for run in group.layers) for group in plan.groups)
            yield (
                f"{kinds}: a block must cost the same whoever takes it, so the layers are dealt "
                f"out to {len(plan.groups)} groups of {places} places."
            )
            empty = sum(group.num_padding_layers for group in plan.groups)
            if empty:
                share = 100 * empty / (places * len(plan.groups))
                yield f"{empty} places ({share:.0f} %) stay empty: memory that no layer uses."
        case _:
            assert_never(plan.grouping)


def kind_reasons(plan: KVCachePlan) -> Iterator[str]:
    """What each kind of layer asks of a request, said once for each kind."""
    said = set()
    for group in plan.groups:
        spec = group.layers[0].spec
        demand = group.demand
        if type(spec) in said:
            continue
        said.add(type(spec))
        match spec:
            case SlidingWindowSpec():
                yield (
                    f"A window of {spec.sliding_window:,} tokens holds up to "
                    f"{demand.token_cap:,}: those in flight count too, until their step has "
                    "settled; and one block more, as a window seldom begins on a block's edge."
                )
            case ChunkedLocalAttentionSpec():
                yield (
                    f"A chunk of {spec.attention_chunk_size:,} tokens holds up to "
                    f"{demand.token_cap:,}, with those in flight."
                )
            case MambaSpec():
                yield state_reason(spec, demand.fixed_blocks)
            case CrossAttentionSpec():
                yield "The encoder's output is kept whole, however short the request."
            case MLAAttentionSpec() | FullAttentionSpec() | CircularBufferSpec():
                pass
            case _:
                assert_never(spec)


def state_reason(spec: MambaSpec, num_blocks: int) -> str:
    """What a state of fixed size costs, and what its padding wastes."""
    page = page_size_bytes(spec)
    padding = 100 * (page - spec.state_bytes) / spec.state_bytes
    copies = (
        "one block" if num_blocks == 1 else f"{num_blocks} blocks, as prefix caching keeps copies"
    )
    padded = (
        f", padded by {padding:.0f} % to the attention's page" if page > spec.state_bytes else ""
    )
    return (
        f"A state of {spec.state_bytes:,} bytes a layer{padded} does not grow with the request: "
        f"each takes {copies}."
    )


def all_runs(plan: KVCachePlan) -> list[LayerSpecs]:
    """The layers of all groups, counted by what they keep."""
    totals: dict[str, tuple[LayerSpecs, int]] = {}
    for group in plan.groups:
        for run in group.layers:
            name = name_of(run.spec)
            first, total = totals.get(name, (run, 0))
            totals[name] = (first, total + run.num_layers)
    return [LayerSpecs(run.spec, (total,)) for run, total in totals.values()]


def counted(run: LayerSpecs) -> str:
    """So many layers of a kind."""
    plural = "layer" if run.num_layers == 1 else "layers"
    return f"{run.num_layers} {plural} with {name_of(run.spec)}"


def name_of(spec: KVCacheSpec) -> str:
    """What a layer keeps, in a few words."""
    match spec:
        case FullAttentionSpec():
            return f"full attention ({spec.num_kv_heads} KV heads of {spec.head_size})"
        case MLAAttentionSpec():
            kind = "indexer keys" if spec.role == "indexer" else "latent vectors"
            return f"{kind} of {spec.bytes_per_state} bytes"
        case SlidingWindowSpec():
            return f"a window of {spec.sliding_window:,}"
        case ChunkedLocalAttentionSpec():
            return f"chunks of {spec.attention_chunk_size:,}"
        case CrossAttentionSpec():
            return "cross-attention"
        case CircularBufferSpec():
            return "a circular buffer"
        case MambaSpec():
            return "a state of fixed size"
        case _:
            assert_never(spec)


def listed(parts: list[str]) -> str:
    """Parts of a sentence with commas and an "and"."""
    *others, last = parts or [""]
    return f"{', '.join(others)} and {last}" if others else last
