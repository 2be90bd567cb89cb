"""Blocks of equal bytes for layers that keep different things.

Groups draw from one pool, so a block must cost the same in all of them. A layer with a small
page gets more tokens into a block, or a padded page; where neither can be, windows are kept as
if they were full attention.

Source: vLLM 0.33.0, v1/core/kv_cache_planning.py (unify_kv_cache_spec_page_size,
_promote_local_kv_cache_specs).
"""

from collections.abc import Sequence
from dataclasses import replace

from pycore.engine.kv.layers import LayerSpecs, merged, of_one_kind
from pycore.engine.kv.specs import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    PagedSpec,
    SlidingWindowSpec,
    block_size_of,
    page_size_bytes,
    with_block_size,
    with_padded_page,
)
from pycore.errors import NapkinError


class PagesDoNotUnifyError(NapkinError):
    """Layers whose blocks cannot be made equal in bytes: the engine refuses such a model."""


def unified_pages(layers: Sequence[LayerSpecs]) -> list[LayerSpecs]:
    """``layers`` with every page as large as the largest."""
    target = max(page_size_bytes(run.spec) for run in layers)
    return merged([replace(run, spec=enlarged(run.spec, target)) for run in layers])


def enlarged(spec: KVCacheSpec, target: int) -> KVCacheSpec:
    """The layer with a page of ``target`` bytes: by longer blocks if that comes out even.

    A state does not grow with its block, so it is padded. MLA cannot be: its kernels read the
    cache as whole rows.
    """
    page_size = page_size_bytes(spec)
    if page_size == target:
        return spec
    match spec:
        case MambaSpec():
            return with_padded_page(spec, target)
        case _ if target % page_size == 0:
            return with_block_size(spec, block_size_of(spec) * (target // page_size))
        case MLAAttentionSpec():
            raise PagesDoNotUnifyError(
                f"an MLA page of {page_size} bytes does not divide the largest, {target}, "
                "and cannot be padded"
            )
        case _:
            return with_padded_page(spec, target)


def windows_as_full_attention(layers: Sequence[LayerSpecs]) -> list[LayerSpecs]:
    """``layers`` with every window and chunk kept whole, where full attention is there too.

    Memory alone is meant: the layers still compute within their window.
    """
    if of_one_kind(layers):
        return list(layers)
    full_block_sizes = {
        run.spec.block_size
        for run in layers
        if isinstance(run.spec, FullAttentionSpec | MLAAttentionSpec)
    }
    promoted = list(layers)
    if full_block_sizes and any(map(_is_latent_window, layers)):
        # DeepSeek-V4's: the engine fails at copying such a window into a full layer's spec.
        raise PagesDoNotUnifyError(
            "the hybrid KV cache manager is off, and latent windows cannot be kept whole"
        )
    if full_block_sizes:
        one_size = full_block_sizes.pop() if len(full_block_sizes) == 1 else None
        promoted = merged([replace(run, spec=_kept_whole(run.spec, one_size)) for run in layers])
    if not of_one_kind(promoted):
        raise PagesDoNotUnifyError(
            "the hybrid KV cache manager is off, and these layers cannot be kept as one kind"
        )
    if _num_window_sizes(layers) > 1 and all(
        isinstance(run.spec, FullAttentionSpec) for run in promoted
    ):
        raise PagesDoNotUnifyError(
            "the hybrid KV cache manager is off, and windows of several sizes make no one group"
        )
    return promoted


def full_allocation_helps(layers: Sequence[LayerSpecs]) -> bool:
    """Whether the engine falls back on keeping windows whole when pages do not unify.

    Source: vLLM 0.33.0, _try_get_full_allocation_fallback_groups.
    """
    specs = [run.spec for run in layers]
    windows = [spec for spec in specs if isinstance(spec, SlidingWindowSpec)]
    return (
        bool(windows)
        and all(isinstance(spec.pages, FullAttentionSpec) for spec in windows)
        and any(isinstance(spec, MLAAttentionSpec) for spec in specs)
        and not any(isinstance(spec, ChunkedLocalAttentionSpec) for spec in specs)
    )


def _is_latent_window(run: LayerSpecs) -> bool:
    return isinstance(run.spec, SlidingWindowSpec) and isinstance(run.spec.pages, MLAAttentionSpec)


def _num_window_sizes(layers: Sequence[LayerSpecs]) -> int:
    windows, chunks = set(), set()
    for run in layers:
        match run.spec:
            case SlidingWindowSpec(sliding_window=window):
                windows.add(window)
            case ChunkedLocalAttentionSpec(attention_chunk_size=chunk):
                chunks.add(chunk)
            case _:
                pass
    return max(len(windows), len(chunks))


def _kept_whole(spec: KVCacheSpec, block_size: int | None) -> KVCacheSpec:
    match spec:
        case SlidingWindowSpec(pages=pages) | ChunkedLocalAttentionSpec(pages=pages):
            return _in_blocks_of(pages, block_size or pages.block_size)
        case _:
            return spec


def _in_blocks_of(pages: PagedSpec, block_size: int) -> PagedSpec:
    if pages.page_size_padded is None:
        return replace(pages, block_size=block_size)
    unpadded = replace(pages, block_size=block_size, page_size_padded=None)
    return replace(
        unpadded, page_size_padded=max(pages.page_size_padded, page_size_bytes(unpadded))
    )
