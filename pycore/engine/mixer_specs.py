"""What one layer keeps, by its mixer: the specs on one rank, and what they ask of the kernels.

Source: vLLM 0.33.0, the get_kv_cache_spec of model_executor/layers/attention/*.py,
layers/mamba/*.py, models/deepseek_v2.py and models/deepseek_v4/.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, assert_never

from pycore import dtypes
from pycore.engine.attention_backends import AttentionNeeds
from pycore.engine.kv_dtypes import bytes_per_kv_head, indexer_key_bytes, latent_bytes
from pycore.engine.kv_specs import (
    ChunkedLocalAttentionSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
)
from pycore.engine.state_bytes import state_bytes
from pycore.model.latent import CompressedAttention, LatentAttention
from pycore.model.layers import (
    AnyMixer,
    ChunkedLocalAttention,
    CrossAttention,
    FullAttention,
    NoMixer,
    ParallelMixers,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)
from pycore.model.recurrent import (
    GatedDeltaNet,
    KimiDeltaAttention,
    LinearAttention,
    Mamba1,
    Mamba2,
    Recurrent,
    ShortConvolution,
)

GDN_CHECKPOINT_ALIGNMENT: Final = 64
"""Tokens between the states that FlashInfer's gated delta net can leave inside a prefill."""

PACKED_BYTES: Final = 584
"""DeepSeek-V4's packed vector: 448 elements in fp8, 64 in bfloat16, and eight scales."""

PACKED_ALIGNMENT: Final = 576
"""Bytes that its pages are rounded up to, for the kernels' bulk copies."""

WINDOW_BLOCK_SIZE: Final = 64
FP32_BYTES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """What of a deployment shapes its KV cache."""

    dtype: str
    """What the model computes in."""
    compute_capability: tuple[int, int]
    max_model_len: int
    tensor_parallel_size: int = 1
    decode_context_parallel_size: int = 1
    kv_cache_dtype: str = "auto"
    block_size: int | None = None
    """None: as the backends like it."""
    enable_prefix_caching: bool = True
    mamba_ssm_cache_dtype: str = "auto"
    use_mm_prefix: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """The blocks that the model as a whole was given."""

    block_size: int
    state_page_bytes: int | None = None
    """What states are padded to, so that their page equals the attention's."""
    state_block_size: int
    keeps_prefixes: bool = True
    """Whether states are kept for prefix caching, which takes blocks of its own."""


def attention_of(mixer: AnyMixer) -> FullAttention | None:
    """The grouped attention inside a mixer, if it has one."""
    match mixer:
        case FullAttention():
            return mixer
        case (
            SlidingWindowAttention()
            | ChunkedLocalAttention()
            | SharedKeyValueAttention()
            | ParallelMixers()
        ):
            return mixer.attention
        case CrossAttention():
            return mixer.own
        case _:
            return None


def recurrent_of(mixer: AnyMixer) -> Recurrent | None:
    """The recurrent state inside a mixer, if it has one."""
    match mixer:
        case ParallelMixers():
            return mixer.recurrent
        case (
            Mamba1()
            | Mamba2()
            | GatedDeltaNet()
            | KimiDeltaAttention()
            | LinearAttention()
            | ShortConvolution()
        ):
            return mixer
        case _:
            return None


def needs_of(
    mixer: AnyMixer, kv_cache_dtype: str, settings: CacheSettings
) -> AttentionNeeds | None:
    """What the mixer asks of an attention backend; None when it has no attention."""
    use_dcp = settings.decode_context_parallel_size > 1
    match mixer:
        case LatentAttention():
            return AttentionNeeds(
                kind="sparse_latent" if mixer.indexer else "latent",
                head_size=mixer.kv_lora_rank + mixer.qk_rope_head_dim,
                dtype=settings.dtype,
                kv_cache_dtype=kv_cache_dtype,
                use_dcp=use_dcp,
                qk_nope_head_dim=mixer.qk_nope_head_dim,
                index_topk=mixer.indexer.index_topk if mixer.indexer else 0,
            )
        case CompressedAttention():
            return AttentionNeeds(
                kind="compressed",
                head_size=mixer.head_dim,
                dtype=settings.dtype,
                kv_cache_dtype=kv_cache_dtype,
            )
    attention = attention_of(mixer)
    if attention is None:
        return None
    return AttentionNeeds(
        kind="grouped" if attention.head_dim == attention.v_head_dim else "differing_widths",
        head_size=attention.head_dim,
        dtype=settings.dtype,
        kv_cache_dtype=kv_cache_dtype,
        has_sink=attention.sinks,
        use_mm_prefix=settings.use_mm_prefix,
        use_dcp=use_dcp,
    )


def bytes_per_token(mixer: AnyMixer, kv_cache_dtype: str, settings: CacheSettings) -> int:
    """One token of one attention layer on one rank."""
    width = dtypes.element_bytes(settings.dtype)
    if isinstance(mixer, LatentAttention):
        latent_size = mixer.kv_lora_rank + mixer.qk_rope_head_dim
        return latent_bytes(kv_cache_dtype, latent_size, width)
    attention = attention_of(mixer)
    if attention is None:
        return 0
    return num_kv_heads_per_rank(attention, settings.tensor_parallel_size) * bytes_per_kv_head(
        kv_cache_dtype, attention.head_dim, attention.v_head_dim, width
    )


def num_kv_heads_per_rank(attention: FullAttention, tensor_parallel_size: int) -> int:
    """KV heads that one rank keeps: a share of them, or a copy of one."""
    return max(1, attention.num_key_value_heads // tensor_parallel_size)


def specs_of(
    mixer: AnyMixer, kv_cache_dtype: str, settings: CacheSettings, blocks: Blocks
) -> Iterator[KVCacheSpec]:
    """What a layer with this mixer keeps: nothing, one thing, or several side by side."""
    match mixer:
        case NoMixer() | SharedKeyValueAttention():
            return
        case FullAttention():
            yield paged(mixer, kv_cache_dtype, settings, blocks.block_size)
        case SlidingWindowAttention():
            pages = paged(mixer.attention, kv_cache_dtype, settings, blocks.block_size)
            yield SlidingWindowSpec(pages=pages, sliding_window=mixer.sliding_window)
        case ChunkedLocalAttention():
            pages = paged(mixer.attention, kv_cache_dtype, settings, blocks.block_size)
            yield ChunkedLocalAttentionSpec(
                pages=pages, attention_chunk_size=mixer.attention_chunk_size
            )
        case CrossAttention():
            yield paged(mixer.own, kv_cache_dtype, settings, blocks.block_size)
            pages = paged(mixer.cross, kv_cache_dtype, settings, blocks.block_size)
            yield CrossAttentionSpec(pages=pages)
        case ParallelMixers():
            yield paged(mixer.attention, kv_cache_dtype, settings, blocks.block_size)
            yield state(mixer.recurrent, settings, blocks)
        case LatentAttention():
            yield from latent(mixer, kv_cache_dtype, settings, blocks.block_size)
        case CompressedAttention():
            yield from compressed(mixer, blocks.block_size)
        case _:
            yield state(mixer, settings, blocks)


def paged(
    attention: FullAttention, kv_cache_dtype: str, settings: CacheSettings, block_size: int
) -> FullAttentionSpec:
    """Keys and values of every token that the layer keeps."""
    return FullAttentionSpec(
        block_size=block_size,
        num_kv_heads=num_kv_heads_per_rank(attention, settings.tensor_parallel_size),
        head_size=attention.head_dim,
        head_size_v=attention.v_head_dim,
        bytes_per_kv_head=bytes_per_kv_head(
            kv_cache_dtype,
            attention.head_dim,
            attention.v_head_dim,
            dtypes.element_bytes(settings.dtype),
        ),
    )


def latent(
    mixer: LatentAttention, kv_cache_dtype: str, settings: CacheSettings, block_size: int
) -> Iterator[KVCacheSpec]:
    """A compressed vector a token, and a key for the indexer where the layer has its own."""
    yield MLAAttentionSpec(
        block_size=block_size, bytes_per_state=bytes_per_token(mixer, kv_cache_dtype, settings)
    )
    if mixer.indexer and mixer.indexer.keeps_keys:
        yield MLAAttentionSpec(
            block_size=block_size,
            bytes_per_state=indexer_key_bytes(mixer.indexer.index_head_dim),
            role="indexer",
        )


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


def state(mixer: Recurrent, settings: CacheSettings, blocks: Blocks) -> MambaSpec:
    """A state of fixed size, and the checkpoints that prefix caching keeps of it."""
    num_bytes = state_bytes(
        mixer,
        tensor_parallel_size=settings.tensor_parallel_size,
        dtype=settings.dtype,
        ssm_cache_dtype=settings.mamba_ssm_cache_dtype,
    )
    padded = blocks.state_page_bytes
    return MambaSpec(
        block_size=blocks.state_block_size,
        state_bytes=num_bytes,
        num_prefill_checkpoint_blocks=num_prefill_checkpoint_blocks(
            mixer, settings.compute_capability
        ),
        prefix_caching=blocks.keeps_prefixes,
        page_size_padded=None if padded == num_bytes else padded,
    )


def num_prefill_checkpoint_blocks(mixer: Recurrent, gpu: tuple[int, int]) -> int:
    """Blocks for a state left behind inside a prefill, by kernels that can: 1 or 0.

    Mamba 2's can everywhere, FlashInfer's gated delta nets and FlashKDA from Hopper on.

    Source: vLLM 0.33.0, layers/mamba/mamba_mixer2.py, layers/mamba/gdn/qwen_gdn_linear_attn.py
    and models/kimi_k3/nvidia/kda.py.
    """
    match mixer:
        case Mamba2():
            return 1
        case GatedDeltaNet():
            return int(leaves_checkpoints(mixer, gpu))
        case KimiDeltaAttention():
            return int(mixer.has_bounded_gate and mixer.head_dim == 128 and gpu[0] in (9, 10, 12))
        case Mamba1() | LinearAttention() | ShortConvolution():
            return 0
        case _:
            assert_never(mixer)


def leaves_checkpoints(mixer: Recurrent, gpu: tuple[int, int]) -> bool:
    """Whether FlashInfer's kernels run this gated delta net: blocks are then multiples of 64."""
    return isinstance(mixer, GatedDeltaNet) and (
        mixer.flashinfer_prefill
        and (gpu[0] == 9 or (gpu[0] in (10, 12) and mixer.linear_key_head_dim == 128))
    )
