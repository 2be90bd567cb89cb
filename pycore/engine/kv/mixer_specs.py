"""What one layer keeps, by its mixer: the specs on one rank, and what they ask of the kernels.

Source: vLLM 0.33.0, the get_kv_cache_spec of model_executor/layers/attention/*.py,
layers/mamba/*.py, models/deepseek_v2.py and models/deepseek_v4/.
"""

from collections.abc import Iterator
from typing import Final, assert_never

from pycore import dtypes
from pycore.engine.attention.needs import AttentionNeeds
from pycore.engine.cache_settings import Blocks, CacheSettings
from pycore.engine.kv.compressed_specs import compressed
from pycore.engine.kv.dtypes import bytes_per_kv_head, indexer_key_bytes, latent_bytes
from pycore.engine.kv.formulas import num_kv_heads_per_rank
from pycore.engine.kv.specs import (
    ChunkedLocalAttentionSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
)
from pycore.engine.kv.state_bytes import state_bytes
from pycore.model.latent import CompressedAttention, LatentAttention
from pycore.model.layers import (
    AnyMixer,
    BlockIndexer,
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
        has_window=isinstance(mixer, SlidingWindowAttention),
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
    return cached_heads(attention, settings) * bytes_per_kv_head(
        kv_cache_dtype, attention.head_dim, attention.v_head_dim, width
    )


def cached_heads(attention: FullAttention, settings: CacheSettings) -> int:
    """KV heads that one rank keeps: a share of them, or a copy of one."""
    return num_kv_heads_per_rank(
        num_key_value_heads=attention.num_key_value_heads,
        tensor_parallel_size=settings.tensor_parallel_size,
    )


def specs_of(
    mixer: AnyMixer, kv_cache_dtype: str, settings: CacheSettings, blocks: Blocks
) -> Iterator[KVCacheSpec]:
    """What a layer with this mixer keeps: nothing, one thing, or several side by side."""
    match mixer:
        case NoMixer() | SharedKeyValueAttention():
            return
        case FullAttention():
            yield paged(mixer, kv_cache_dtype, settings, blocks.block_size)
            if mixer.block_indexer is not None:
                yield index_keys(mixer.block_indexer, blocks.block_size)
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


def index_keys(indexer: BlockIndexer, block_size: int) -> MLAAttentionSpec:
    """One key a token for the indexer of MiniMax-M3, in two bytes an element, on every rank.

    Source: vLLM 0.33.0, models/minimax_m3/common/indexer.py.
    """
    return MLAAttentionSpec(
        block_size=block_size, bytes_per_state=2 * indexer.index_head_dim, role="indexer"
    )


def paged(
    attention: FullAttention, kv_cache_dtype: str, settings: CacheSettings, block_size: int
) -> FullAttentionSpec:
    """Keys and values of every token that the layer keeps."""
    return FullAttentionSpec(
        block_size=block_size,
        num_kv_heads=cached_heads(attention, settings),
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
        num_prefill_checkpoint_blocks=num_prefill_checkpoint_blocks(mixer, settings),
        prefix_caching=blocks.keeps_prefixes,
        page_size_padded=None if padded == num_bytes else padded,
    )


def num_prefill_checkpoint_blocks(mixer: Recurrent, settings: CacheSettings) -> int:
    """Blocks for a state left behind inside a prefill, by kernels that can: 1 or 0.

    Mamba 2's can everywhere, FlashInfer's gated delta nets and FlashKDA from Hopper on; none
    could before vLLM 0.29.

    Source: vLLM 0.33.0, layers/mamba/mamba_mixer2.py, layers/mamba/gdn/qwen_gdn_linear_attn.py
    and models/kimi_k3/nvidia/kda.py; 0.29.0 and 0.32.0 for what came when.
    """
    gpu = settings.compute_capability
    match mixer:
        case Mamba2():
            return int("mamba2" in settings.checkpointed_states)
        case GatedDeltaNet():
            return int(leaves_checkpoints(mixer, settings))
        case KimiDeltaAttention():
            kernels = mixer.has_bounded_gate and mixer.head_dim == 128 and gpu[0] in (9, 10, 12)
            return int(kernels and "kda" in settings.checkpointed_states)
        case Mamba1() | LinearAttention() | ShortConvolution():
            return 0
        case _:
            assert_never(mixer)


def leaves_checkpoints(mixer: Recurrent, settings: CacheSettings) -> bool:
    """Whether FlashInfer's kernels run this gated delta net: blocks are then multiples of 64."""
    gpu = settings.compute_capability
    return (
        isinstance(mixer, GatedDeltaNet)
        and "gated_delta" in settings.checkpointed_states
        and mixer.flashinfer_prefill
        and (gpu[0] == 9 or (gpu[0] in (10, 12) and mixer.linear_key_head_dim == 128))
    )
