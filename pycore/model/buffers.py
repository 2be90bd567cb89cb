"""What an engine makes for itself in a layer, and no checkpoint holds: scales, copies of weights."""

from collections.abc import Iterator

from pycore.model.latent import CompressedAttention, LatentAttention
from pycore.model.layers import (
    AnyMixer,
    ChunkedLocalAttention,
    CrossAttention,
    FullAttention,
    ParallelMixers,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)
from pycore.model.recurrent import KimiDeltaAttention
from pycore.model.tensors import Tensor, Vector

NUM_SCALES = 4
"""Query, key, value and probability: one float32 each."""


def buffer_tensors(mixer: AnyMixer) -> Iterator[Tensor]:
    """The buffers of one layer; a layer without a KV cache in elements has none.

    Source: vLLM 0.33.0, layers/attention/attention.py (set_default_quant_scales),
    models/kimi_k3/nvidia/mla.py and kda.py.
    """
    match mixer:
        case (
            FullAttention()
            | SlidingWindowAttention()
            | ChunkedLocalAttention()
            | SharedKeyValueAttention()
            | ParallelMixers()
        ):
            yield scales("self_attn.attn", NUM_SCALES)
        case CrossAttention():
            yield scales("self_attn.attn", NUM_SCALES)
            yield scales("encoder_attn.attn", NUM_SCALES)
        case LatentAttention():
            yield scales("self_attn.attn", mixer.num_scales)
        case KimiDeltaAttention(full_rank_gate=True):
            width = 3 * mixer.num_heads * mixer.head_dim * mixer.conv_kernel
            yield Vector(
                "buffers", "self_attn.decode_conv1d_weight", width, split=True, dtype="float32"
            )
            yield Vector("buffers", "self_attn.decode_norm_weight", mixer.head_dim, dtype="float32")
        case CompressedAttention():
            return
        case _:
            return


def scales(name: str, count: int) -> Vector:
    """Float32 scales beside an attention's cache."""
    return Vector("buffers", f"{name}.scales", count, dtype="float32")
