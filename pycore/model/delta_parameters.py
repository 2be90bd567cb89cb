"""The tensors of Kimi's delta attention.

Source: vLLM 0.33.0, models/kimi_k3/nvidia/kda.py (a gate of full rank) and
model_executor/layers/mamba/gdn/kimi_gdn_linear_attn.py (a gate of low rank).
"""

from collections.abc import Iterator
from typing import Final

from pycore.model.recurrent import KimiDeltaAttention
from pycore.model.tensors import Linear, Rows, Split, Tensor, Vector

FULL_RANK_ROWS_MULTIPLE: Final = 16
"""Rows of the fused input projection are filled up to this on a rank, for aligned kernels."""


def delta_attention_tensors(mixer: KimiDeltaAttention, hidden_size: int) -> Iterator[Tensor]:
    """Queries, keys and values with their convolution; decay, strength and gate of each head."""
    width = Rows(mixer.num_heads * mixer.head_dim)
    yield input_projection(mixer, hidden_size)
    yield Linear("recurrent", "self_attn.f_b_proj", (width,), mixer.head_dim)
    if not mixer.full_rank_gate:
        low_rank = (Rows(mixer.head_dim, Split.REPLICATED),)
        yield Linear("recurrent", "self_attn.g_a_proj", low_rank, hidden_size)
        yield Linear("recurrent", "self_attn.g_b_proj", (width,), mixer.head_dim)
    yield Linear(
        "recurrent",
        "self_attn.conv1d",
        (width,) * 3,
        mixer.conv_kernel,
        quantizable=False,
        dtype="float32",
    )
    yield Vector("recurrent", "self_attn.dt_bias", width.count, split=True, dtype="float32")
    yield Vector("recurrent", "self_attn.A_log", mixer.num_heads, split=True, dtype="float32")
    yield Vector("recurrent", "self_attn.o_norm", mixer.head_dim)
    yield Linear(
        "recurrent",
        "self_attn.o_proj",
        (Rows(hidden_size, Split.REPLICATED),),
        width.count,
        columns_split=True,
    )


def input_projection(mixer: KimiDeltaAttention, hidden_size: int) -> Linear:
    """Everything that is made of the input, fused: the low-rank half of the decay is whole."""
    width = Rows(mixer.num_heads * mixer.head_dim)
    strength = Rows(mixer.num_heads)
    decay = Rows(mixer.head_dim, Split.REPLICATED)
    rows: tuple[Rows, ...] = (*((width,) * 3), strength, decay)
    multiple = 1
    if mixer.full_rank_gate:
        rows, multiple = (*((width,) * 4), decay, strength), FULL_RANK_ROWS_MULTIPLE
    return Linear(
        "recurrent", "self_attn.in_proj_qkvgfab", rows, hidden_size, rows_multiple=multiple
    )
