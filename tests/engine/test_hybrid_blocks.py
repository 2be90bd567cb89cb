"""How far blocks are lengthened so that a page of keys and values holds a state."""

from hypothesis import given
from hypothesis import strategies as st

from pycore.engine.kv.hybrid_blocks import align_hybrid_block_size, mixed_precision_block_size

SIZES = st.integers(1, 1 << 24)


@given(
    state_bytes=SIZES,
    token_bytes=st.sampled_from([256, 512, 1024, 1152]),
    kernel=st.sampled_from([16, 32, 64]),
    alignment=st.sampled_from([1, 64]),
    is_latent=st.booleans(),
)
def test_the_page_holds_the_state_and_the_kernels_can_read_it(
    state_bytes: int, token_bytes: int, kernel: int, alignment: int, *, is_latent: bool
) -> None:
    """And no block is longer than it must be."""
    block_size = align_hybrid_block_size(
        block_size=kernel,
        state_bytes=state_bytes,
        attention_bytes_per_token=token_bytes,
        kernel_block_size=kernel,
        checkpoint_alignment=alignment,
        is_latent=is_latent,
    )
    step = max(kernel, alignment, 128 if is_latent else 1)
    assert block_size * token_bytes >= state_bytes
    assert block_size % step == 0
    assert block_size == step or (block_size - step) * token_bytes < state_bytes


def test_a_block_that_is_long_enough_stays() -> None:
    """LFM2's state is smaller than a page of sixteen tokens."""
    assert (
        align_hybrid_block_size(
            block_size=16,
            state_bytes=8192,
            attention_bytes_per_token=2048,
            kernel_block_size=16,
            checkpoint_alignment=1,
            is_latent=False,
        )
        == 16
    )


def test_packed_layers_hold_sixteen_tokens_of_wide_ones() -> None:
    """TurboQuant: blocks of 32, since its first and last layers stay in bfloat16."""
    assert mixed_precision_block_size(block_size=16, element_bytes=2) == 32
    assert mixed_precision_block_size(block_size=64, element_bytes=2) == 64
