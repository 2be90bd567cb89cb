"""What an engine makes for itself in a layer, and no checkpoint holds: scales, copies of weights."""

from collections.abc import Iterator
from dataclasses import replace

from pycore.model.latent import LatentAttention
from pycore.model.layers import (
    AnyMixer,
    ChunkedLocalAttention,
    CrossAttention,
    FullAttention,
    ParallelMixers,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)
from pycore.model.recurrent import KimiDeltaAttention, Mamba2
from pycore.model.recurrent_parameters import mamba2_convolution, mamba2_input_rows
from pycore.model.tensors import Linear, Tensor, Vector

NUM_SCALES = 4
"""Query, key, value and probability: one float32 each."""


def buffer_tensors(mixer: AnyMixer) -> Iterator[Tensor]:
    """The buffers of one layer; a layer without a KV cache in elements has none.

    A Mamba 2 registers its convolution a second time, as another view of the same weights.
    Source: vLLM 0.33.0, layers/attention/attention.py (set_default_quant_scales),
    layers/mamba/mamba_mixer2.py, model_executor/models/falcon_h1.py (mup_vector),
    models/kimi_k3/nvidia/mla.py and kda.py.
    """
    match mixer:
        case (
            FullAttention()
            | SlidingWindowAttention()
            | ChunkedLocalAttention()
            | SharedKeyValueAttention()
        ):
            yield scales("self_attn.attn", NUM_SCALES)
        case ParallelMixers():
            yield from buffer_tensors(mixer.attention)
            yield from buffer_tensors(mixer.recurrent)
        case Mamba2():
            yield replace(
                mamba2_convolution(mixer, "mixer.conv_weights"), component="buffers", bias=False
            )
            if mixer.multipliers:
                rows = mamba2_input_rows(mixer)
                yield Linear("buffers", "mamba.mup_vector", rows, 1, quantizable=False)
        case CrossAttention():
            yield scales("self_attn.attn", NUM_SCALES)
            yield scales("encoder_attn.attn", NUM_SCALES)
        case LatentAttention():
            yield scales("self_attn.attn", mixer.num_scales)
        case KimiDeltaAttention(full_rank_gate=True):
            yield from decoding_copies(mixer)
        case _:
            return


def decoding_copies(mixer: KimiDeltaAttention) -> Iterator[Tensor]:
    """Convolution and norm once more, as the fused decoding kernel reads them."""
    width = 3 * mixer.num_heads * mixer.head_dim * mixer.conv_kernel
    yield Vector("buffers", "self_attn.decode_conv1d_weight", width, split=True, dtype="float32")
    yield Vector("buffers", "self_attn.decode_norm_weight", mixer.head_dim, dtype="float32")


def scales(name: str, count: int) -> Vector:
    """Float32 scales beside an attention's cache."""
    return Vector("buffers", f"{name}.scales", count, dtype="float32")
