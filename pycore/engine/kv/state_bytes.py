"""Bytes of a recurrent state on one rank: its convolution's last inputs, and its matrices.

Source: vLLM 0.33.0, layers/mamba/mamba_utils.py (MambaStateShapeCalculator and
MambaStateDtypeCalculator).
"""

from typing import assert_never

from pycore import dtypes
from pycore.model.recurrent import (
    GatedDeltaNet,
    KimiDeltaAttention,
    LinearAttention,
    Mamba1,
    Mamba2,
    Recurrent,
    ShortConvolution,
)


def state_bytes(
    mixer: Recurrent, *, tensor_parallel_size: int, dtype: str, ssm_cache_dtype: str = "auto"
) -> int:
    """One layer's state of one request on one rank.

    ``ssm_cache_dtype`` is the engine's ``--mamba-ssm-cache-dtype``: it widens or narrows the
    recurrent part alone, whatever the model says of itself.
    """
    ranks = tensor_parallel_size
    width = dtypes.element_bytes(dtype)
    match mixer:
        case Mamba1():
            channels = mixer.intermediate_size // ranks
            convolution = channels * (mixer.conv_kernel - 1)
            recurrent = channels * mixer.state_size
        case Mamba2():
            groups = mixer.n_groups + extra_groups(mixer.n_groups, ranks)
            channels = (mixer.intermediate_size + 2 * groups * mixer.state_size) // ranks
            convolution = channels * (mixer.conv_kernel - 1)
            recurrent = mixer.num_heads // ranks * mixer.head_dim * mixer.state_size
        case GatedDeltaNet():
            keys = mixer.linear_num_key_heads * mixer.linear_key_head_dim
            values = mixer.linear_num_value_heads * mixer.linear_value_head_dim
            convolution = (2 * keys + values) // ranks * (mixer.linear_conv_kernel_dim - 1)
            recurrent = values // ranks * mixer.linear_key_head_dim
        case KimiDeltaAttention():
            channels = mixer.num_heads * mixer.head_dim
            convolution = 3 * channels // ranks * (mixer.conv_kernel - 1)
            recurrent = channels // ranks * mixer.head_dim
        case LinearAttention():
            return mixer.num_heads // ranks * mixer.head_dim * mixer.head_dim * width
        case ShortConvolution():
            return mixer.width // ranks * (mixer.conv_kernel - 1) * width
        case _:
            assert_never(mixer)
    stated = mixer.ssm_dtype or dtype if ssm_cache_dtype == "auto" else ssm_cache_dtype
    return convolution * width + recurrent * dtypes.element_bytes(dtypes.canonical(stated))


def extra_groups(n_groups: int, tensor_parallel_size: int) -> int:
    """Groups added so that every rank has one for its heads: copies, as with KV heads."""
    return 0 if n_groups % tensor_parallel_size == 0 else tensor_parallel_size - n_groups
