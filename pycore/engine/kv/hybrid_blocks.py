"""Blocks of models that have both attention and states of fixed size.

All pages must be equal in bytes, and a state is far larger than sixteen tokens of keys and
values. So the attention's block is lengthened until its page holds a state, and the state is
padded to that page: with less KV per token (more ranks, fp8) the blocks get longer.

Source: vLLM 0.33.0, platforms/interface.py, _align_hybrid_block_size.
"""

import math

from pycore.units import ceil_div, round_up

MLA_BLOCK_ALIGNMENT = 128
"""FlashInfer's MLA kernels want their blocks to be whole groups of 128 tokens."""


def align_hybrid_block_size(
    *,
    block_size: int,
    state_bytes: int,
    attention_bytes_per_token: int,
    kernel_block_size: int,
    checkpoint_alignment: int,
    is_latent: bool,
) -> int:
    """Tokens of a block, so that the page of an attention layer holds the largest state.

    ``attention_bytes_per_token`` is of one layer on one rank. ``kernel_block_size`` is the least
    that every attention kernel reads. ``checkpoint_alignment`` is where the kernels of the state
    can leave a checkpoint inside a prefill: 64 tokens for FlashInfer's gated delta nets with
    prefix caching, else 1.

    Source: vLLM 0.33.0, platforms/interface.py, _align_hybrid_block_size.
    """
    alignment = max(kernel_block_size, block_size)
    if is_latent:
        alignment = max(alignment, MLA_BLOCK_ALIGNMENT)
    alignment = math.lcm(alignment, checkpoint_alignment)
    aligned = alignment * ceil_div(state_bytes, alignment * attention_bytes_per_token)
    return max(block_size, round_up(aligned, kernel_block_size))


def mixed_precision_block_size(*, block_size: int, element_bytes: int) -> int:
    """Tokens of a block where some layers keep a packed format and some the model's own width.

    A block of the packed layers, taken at a byte an element, must hold sixteen tokens of the
    wide ones.

    Source: vLLM 0.33.0, platforms/interface.py, _align_heterogeneous_kv_block_size.
    """
    return block_size * ceil_div(16 * element_bytes, block_size)
