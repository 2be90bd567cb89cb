"""What one layer keeps: bytes of a block, blocks of a request."""

from pycore.engine.kv.specs import (
    ChunkedLocalAttentionSpec,
    CircularBufferSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    MambaSpec,
    MLAAttentionSpec,
    RequestLimits,
    SlidingWindowSpec,
    blocks_per_request,
    page_size_bytes,
    with_block_size,
    with_padded_page,
)

LLAMA = FullAttentionSpec(
    block_size=16, num_kv_heads=4, head_size=128, head_size_v=128, bytes_per_kv_head=512
)
IN_FLIGHT = RequestLimits(max_in_flight_tokens=16384)


def test_a_full_attention_page_is_tokens_times_heads_times_both_widths() -> None:
    """Llama 3.3 70B at TP 2: 16 tokens x 4 heads x (128 + 128) x 2 bytes."""
    assert page_size_bytes(LLAMA) == 16 * 4 * 256 * 2


def test_full_attention_keeps_every_token() -> None:
    """131,072 tokens in blocks of 16; one more token takes one more block."""
    assert blocks_per_request(LLAMA, 131072, IN_FLIGHT) == 8192
    assert blocks_per_request(LLAMA, 131073, IN_FLIGHT) == 8193


def test_decode_context_parallelism_deals_the_tokens_out() -> None:
    """Eight ranks keep an eighth each, rounded up."""
    limits = RequestLimits(decode_context_parallel_size=8)
    assert blocks_per_request(LLAMA, 131072, limits) == 1024
    assert blocks_per_request(LLAMA, 129, limits) == 2


def test_a_window_holds_what_is_in_flight_and_one_block_more() -> None:
    """Gemma 3 at 8,192 tokens: the window of 1,024 saves nothing."""
    spec = SlidingWindowSpec(pages=LLAMA, sliding_window=1024)
    assert blocks_per_request(spec, 8192, IN_FLIGHT) == 8192 // 16 + 1
    assert blocks_per_request(spec, 131072, IN_FLIGHT) == -(-(1023 + 16384) // 16) + 1


def test_a_chunk_needs_no_extra_block() -> None:
    """Llama 4's chunks begin on a block's edge."""
    spec = ChunkedLocalAttentionSpec(pages=LLAMA, attention_chunk_size=8192)
    assert blocks_per_request(spec, 131072, IN_FLIGHT) == (8192 + 16384) // 16


def test_a_state_takes_three_blocks_with_prefix_caching_and_one_without() -> None:
    """Nemotron-H by default: the state, the one being written, and a prefill checkpoint."""
    spec = MambaSpec(block_size=4128, state_bytes=4_227_072, num_prefill_checkpoint_blocks=1)
    assert blocks_per_request(spec, 1, IN_FLIGHT) == 3
    assert blocks_per_request(spec, 131072, IN_FLIGHT) == 3
    spec = MambaSpec(
        block_size=8192,
        state_bytes=4_227_072,
        num_prefill_checkpoint_blocks=1,
        prefix_caching=False,
    )
    assert blocks_per_request(spec, 8192, IN_FLIGHT) == 1


def test_cross_attention_keeps_the_encoder_output_whatever_the_request() -> None:
    """Whisper: 1,500 encoder positions."""
    limits = RequestLimits(max_num_encoder_input_tokens=1500)
    spec = CrossAttentionSpec(pages=LLAMA)
    assert blocks_per_request(spec, 1, limits) == blocks_per_request(spec, 448, limits) == 94


def test_a_circular_buffer_is_one_block() -> None:
    """It is overwritten in place."""
    assert blocks_per_request(CircularBufferSpec(pages=LLAMA), 1 << 20, IN_FLIGHT) == 1


def test_mla_pages_count_states_and_round_up_to_their_alignment() -> None:
    """DeepSeek-V4: 64 states of 584 bytes in a block of 256 tokens, rounded up to 576 bytes."""
    spec = MLAAttentionSpec(
        block_size=256, bytes_per_state=584, tokens_per_state=4, alignment_bytes=576
    )
    assert page_size_bytes(spec) == 37440


def test_padding_a_page_replaces_its_size_and_longer_blocks_scale_it() -> None:
    """A padded page keeps its bytes; an unpadded one grows with its tokens."""
    window = SlidingWindowSpec(pages=LLAMA, sliding_window=1024)
    assert page_size_bytes(with_padded_page(window, 40000)) == 40000
    assert page_size_bytes(with_block_size(window, 64)) == 4 * page_size_bytes(window)
