"""What one layer keeps in the KV cache on one rank: the bytes of a block, the blocks of a request.

The engine cuts its KV pool into blocks of equal bytes. A layer's *spec* says how many tokens one
block of that layer holds and how many bytes that takes (its *page*). A request then takes blocks
according to what the layer must remember: every token, a window of them, or a state of fixed size.

Source: vLLM 0.33.0, v1/kv_cache_interface.py.
"""

from dataclasses import dataclass, replace
from typing import Final, assert_never

from pycore.units import ceil_div, round_up

NO_CAP: Final = 1 << 62
"""More tokens than any request has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FullAttentionSpec:
    """Keys and values of every token (MHA, GQA, MQA)."""

    block_size: int
    num_kv_heads: int
    """Of this rank: at least one, as heads are copied when ranks outnumber them."""
    head_size: int
    head_size_v: int
    bytes_per_kv_head: int
    """One token's key and value of one KV head, with their scales where the format has any."""
    page_size_padded: int | None = None
    dcp_sharded: bool = True
    """Decode context parallelism deals the tokens of this layer out to its ranks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MLAAttentionSpec:
    """One compressed vector in place of all keys and values; each rank holds it whole."""

    block_size: int
    bytes_per_state: int
    """The vector that is kept: kv_lora_rank + qk_rope_head_dim elements, or an indexer's key."""
    tokens_per_state: int = 1
    """DeepSeek-V4 folds 4 or 128 tokens into one state."""
    role: str = "latent"
    """``latent``, or ``indexer`` for the keys that choose which tokens sparse attention reads."""
    alignment_bytes: int = 1
    page_size_padded: int | None = None
    dcp_sharded: bool = True


PagedSpec = FullAttentionSpec | MLAAttentionSpec
"""Specs whose page grows with the tokens in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingWindowSpec:
    """The last ``sliding_window`` tokens, plus those in flight."""

    pages: PagedSpec
    sliding_window: int
    extra_retained_tokens: int = 0
    """Speculative look-ahead less one; 0 without a draft model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkedLocalAttentionSpec:
    """The current chunk of ``attention_chunk_size`` tokens, plus those in flight (Llama 4)."""

    pages: PagedSpec
    attention_chunk_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossAttentionSpec:
    """Keys and values of the encoder's output (Whisper and other encoder-decoders)."""

    pages: PagedSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class CircularBufferSpec:
    """One block a request: the tokens of a group that is still being compressed."""

    pages: PagedSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class MambaSpec:
    """A state of fixed size: Mamba, gated delta nets, KDA, short convolutions."""

    block_size: int
    state_bytes: int
    num_speculative_blocks: int = 0
    num_prefill_checkpoint_blocks: int = 0
    prefix_caching: bool = True
    """vLLM's mamba_cache_mode: ``align`` with prefix caching, ``none`` without."""
    page_size_padded: int | None = None


KVCacheSpec = (
    FullAttentionSpec
    | MLAAttentionSpec
    | SlidingWindowSpec
    | ChunkedLocalAttentionSpec
    | CrossAttentionSpec
    | CircularBufferSpec
    | MambaSpec
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """What bounds the tokens that one running request may hold, whatever its length."""

    max_in_flight_tokens: int = 0
    """Tokens scheduled and not yet settled: batches in flight times max_num_batched_tokens."""
    decode_context_parallel_size: int = 1
    max_num_encoder_input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class BlockDemand:
    """Blocks that a request takes of one group, as a function of its length alone.

    ``fixed_blocks + ceil(min(request_tokens, token_cap) / tokens_per_block)``.
    """

    fixed_blocks: int
    token_cap: int
    tokens_per_block: int


def page_size_bytes(spec: KVCacheSpec) -> int:
    """Bytes of one block of one layer on one rank."""
    match spec:
        case FullAttentionSpec():
            return spec.page_size_padded or (
                spec.block_size * spec.num_kv_heads * spec.bytes_per_kv_head
            )
        case MLAAttentionSpec():
            num_states = spec.block_size // spec.tokens_per_state
            return spec.page_size_padded or round_up(
                num_states * spec.bytes_per_state, spec.alignment_bytes
            )
        case MambaSpec():
            return spec.page_size_padded or spec.state_bytes
        case (
            SlidingWindowSpec()
            | ChunkedLocalAttentionSpec()
            | CrossAttentionSpec()
            | CircularBufferSpec()
        ):
            return page_size_bytes(spec.pages)
        case _:
            assert_never(spec)


def block_size_of(spec: KVCacheSpec) -> int:
    """Tokens that one block of the layer holds."""
    match spec:
        case FullAttentionSpec() | MLAAttentionSpec() | MambaSpec():
            return spec.block_size
        case _:
            return spec.pages.block_size


def with_block_size(spec: KVCacheSpec, block_size: int) -> KVCacheSpec:
    """The same layer in blocks of ``block_size`` tokens."""
    match spec:
        case FullAttentionSpec() | MLAAttentionSpec() | MambaSpec():
            return replace(spec, block_size=block_size)
        case _:
            return replace(spec, pages=replace(spec.pages, block_size=block_size))


def with_padded_page(spec: KVCacheSpec, page_size: int) -> KVCacheSpec:
    """The same layer with its page padded to ``page_size`` bytes."""
    match spec:
        case FullAttentionSpec() | MLAAttentionSpec() | MambaSpec():
            return replace(spec, page_size_padded=page_size)
        case _:
            return replace(spec, pages=replace(spec.pages, page_size_padded=page_size))


def block_demand(spec: KVCacheSpec, limits: RequestLimits) -> BlockDemand:
    """How the blocks of a request grow with its length, in one layer of this kind.

    A window holds its tokens and all that are in flight, since blocks are freed only when a
    step has settled; and one block more, as it seldom begins on a block's edge. A state takes
    one block, and with prefix caching a second to copy into and one per checkpoint.

    Source: the max_memory_usage_bytes of each spec in vLLM 0.33.0, v1/kv_cache_interface.py.
    """
    match spec:
        case FullAttentionSpec() | MLAAttentionSpec():
            shards = limits.decode_context_parallel_size if spec.dcp_sharded else 1
            return BlockDemand(0, NO_CAP, spec.block_size * shards)
        case SlidingWindowSpec():
            kept = spec.sliding_window - 1 + spec.extra_retained_tokens
            return BlockDemand(1, kept + limits.max_in_flight_tokens, spec.pages.block_size)
        case ChunkedLocalAttentionSpec():
            kept = spec.attention_chunk_size + limits.max_in_flight_tokens
            return BlockDemand(0, kept, spec.pages.block_size)
        case CrossAttentionSpec():
            kept = ceil_div(limits.max_num_encoder_input_tokens, spec.pages.block_size)
            return BlockDemand(kept, 0, 1)
        case CircularBufferSpec():
            return BlockDemand(1, 0, 1)
        case MambaSpec():
            kept = 1 + spec.num_speculative_blocks
            if spec.prefix_caching:
                kept += 1 + spec.num_prefill_checkpoint_blocks
            return BlockDemand(kept, 0, 1)
        case _:
            assert_never(spec)


def blocks_of(demand: BlockDemand, request_tokens: int) -> int:
    """Blocks that a request of ``request_tokens`` takes of a group with this demand."""
    kept_tokens = min(request_tokens, demand.token_cap)
    return demand.fixed_blocks + ceil_div(kept_tokens, demand.tokens_per_block)


def blocks_per_request(spec: KVCacheSpec, request_tokens: int, limits: RequestLimits) -> int:
    """Blocks that one request of ``request_tokens`` takes of layers of this kind."""
    return blocks_of(block_demand(spec, limits), request_tokens)
