"""What a layer of DeepSeek-V4 keeps: a window as it is, and all tokens folded together.

Source: vLLM 0.33.0, models/deepseek_v4/attention.py and compressor.py,
v1/attention/backends/mla/sparse_swa.py.
"""

from collections.abc import Iterator
from typing import Final

from pycore.engine.kv.dtypes import FP32_BYTES, indexer_key_bytes
from pycore.engine.kv.specs import KVCacheSpec, MLAAttentionSpec, SlidingWindowSpec
from pycore.model.latent import CompressedAttention

PACKED_BYTES: Final = 584
"""DeepSeek-V4's packed vector: 448 elements in fp8, 64 in bfloat16, and eight scales."""

PACKED_ALIGNMENT: Final = 576
"""Bytes that its pages are rounded up to, for the kernels' bulk copies."""

WINDOW_BLOCK_SIZE: Final = 64


def compressed(mixer: CompressedAttention, block_size: int) -> Iterator[KVCacheSpec]:
    """A window of packed vectors; and all tokens folded, with what is still being folded.

    What is being folded is kept in float32, twice over where the folds overlap (ratio 4).
    """
    yield _packed_window(WINDOW_BLOCK_SIZE, PACKED_BYTES, mixer.sliding_window)
    ratio = mixer.compress_ratio
    if ratio <= 1:
        return
    yield _packed(block_size, PACKED_BYTES, ratio)
    overlap = 2 if ratio == 4 else 1
    fold_block_size = 4 if ratio == 4 else 8
    vector = 2 * overlap * FP32_BYTES
    if ratio == 4:
        yield _packed(block_size, indexer_key_bytes(mixer.index_head_dim), ratio, "indexer")
        yield _packed_window(fold_block_size, mixer.index_head_dim * vector, overlap * ratio)
    yield _packed_window(fold_block_size, mixer.head_dim * vector, overlap * ratio)


def _packed(
    block_size: int, bytes_per_state: int, tokens_per_state: int = 1, role: str = "latent"
) -> MLAAttentionSpec:
    return MLAAttentionSpec(
        block_size=block_size,
        bytes_per_state=bytes_per_state,
        tokens_per_state=tokens_per_state,
        role=role,
        alignment_bytes=PACKED_ALIGNMENT,
    )


def _packed_window(block_size: int, bytes_per_state: int, window: int) -> SlidingWindowSpec:
    return SlidingWindowSpec(pages=_packed(block_size, bytes_per_state), sliding_window=window)
