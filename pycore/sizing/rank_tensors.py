"""What one rank holds of each tensor: as the engine creates it, and once it is loaded.

A rank's share is not the total over TP: norms, routers and rotary tables are whole on every rank,
key-value heads cannot be split below one, and the vocabulary is padded.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, assert_never

from pycore.dtypes import element_bytes
from pycore.engine.expert_filling import filling_of, fitted
from pycore.engine.kv.formulas import num_kv_heads_per_rank
from pycore.engine.shards import UNFILLED, Filling, Ranks, shard_of
from pycore.model.buffers import buffer_tensors
from pycore.model.latent import LatentAttention
from pycore.model.layers import (
    ChunkedLocalAttention,
    FullAttention,
    Layer,
    MoeMlp,
    ParallelMixers,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)
from pycore.model.model import Model
from pycore.model.module_forms import Forms, outer_form
from pycore.model.parameters import layer_tensors
from pycore.model.quantization.methods import Quantization
from pycore.model.quantization.weight_formats import WeightFormat, format_bytes
from pycore.model.tensors import Linear, Tensor, Vector
from pycore.sizing.allocator import allocated_bytes
from pycore.sizing.loaded_weights import latent_copy_bytes, loaded_bytes
from pycore.units import round_up

VOCABULARY_MULTIPLE: Final = 64


def padded_vocab_size(*, vocab_size: int) -> int:
    """Rows of embedding and head, padded to a multiple of 64.

    Source: vLLM 0.33.0, layers/vocab_parallel_embedding.py, pad_vocab_size.
    """
    return round_up(vocab_size, VOCABULARY_MULTIPLE)


@dataclass(frozen=True, slots=True)
class Held:
    """What one rank holds of a tensor: as created, and once loaded and allocated."""

    component: str
    num_bytes: int
    loaded_bytes: int


def plainly(component: str, num_bytes: int) -> Held:
    """A tensor that loading leaves as it is."""
    return Held(component, num_bytes, allocated_bytes(num_bytes=num_bytes))


def linear_held(
    linear: Linear,
    ranks: Ranks,
    dtype: str,
    form: WeightFormat | None,
    filling: Filling = UNFILLED,
) -> Held:
    """What one rank holds of a linear: elements, biases and scales."""
    shard = shard_of(linear, ranks, filling)
    bias_rows = shard.num_rows if linear.bias else 0
    if form is None:
        in_float32 = linear.float32_without_kernels and not ranks.has_router_kernels
        width = element_bytes("float32" if in_float32 else linear.dtype or dtype)
        matrix = shard.num_rows * shard.columns * width
    else:
        width = element_bytes(dtype)
        form = fitted(form, shard, linear, ranks) if shard.is_routed else form
        matrix = format_bytes(form, shard.rows, shard.columns, width, routed=shard.is_routed)
    return Held(
        linear.component,
        shard.experts * (matrix + bias_rows * width),
        loaded_bytes(form, shard, bias_rows, ranks, width),
    )


def vector_bytes(vector: Vector, ranks: Ranks, dtype: str) -> int:
    """Bytes that one rank holds of a vector."""
    length = vector.length // ranks.tensor_parallel_size if vector.split else vector.length
    return max(length, vector.least_per_rank) * element_bytes(vector.dtype or dtype)


def tensor_held(
    tensor: Tensor,
    ranks: Ranks,
    dtype: str,
    form: WeightFormat | None,
    filling: Filling = UNFILLED,
) -> Held:
    """What one rank holds of a tensor."""
    match tensor:
        case Linear():
            return linear_held(tensor, ranks, dtype, form, filling)
        case Vector():
            return plainly(tensor.component, vector_bytes(tensor, ranks, dtype))
        case _:
            assert_never(tensor)


def layer_held(
    model: Model, layer: Layer, ranks: Ranks, dtype: str, forms: Forms
) -> Iterator[Held]:
    """What one rank holds of a decoder layer, tensor by tensor."""
    for tensor in layer_tensors(layer, model.hidden_size):
        form, filling = forms.get(tensor.name), UNFILLED
        if isinstance(layer.feed_forward, MoeMlp):
            filling = filling_of(layer.feed_forward, form, ranks)
        yield tensor_held(tensor, ranks, dtype, form, filling)
    for tensor in buffer_tensors(layer.mixer):
        yield tensor_held(tensor, ranks, dtype, None)
    if isinstance(layer.feed_forward, MoeMlp) and ranks.enable_expert_parallel:
        # Where each expert lives: one int32 for every expert of the model.
        yield plainly("buffers", 4 * layer.feed_forward.num_experts)
    yield Held("attention", 0, latent_copy_bytes(layer.mixer, forms, ranks, dtype))


def cache_scales(layer: Layer, ranks: Ranks, dtype: str, quantization: Quantization | None) -> Held:
    """What a quantised checkpoint may say of the KV cache, in layers with attention.

    Once loaded it is copied into the buffers that each such layer has in any case.
    """
    nothing = Held("attention", 0, 0)
    if quantization is None:
        return nothing
    extras, heads = quantization.attention_scales, 0
    match layer.mixer:
        case LatentAttention():
            extras = quantization.latent_scales
        case FullAttention() | SlidingWindowAttention() | ChunkedLocalAttention():
            heads = cached_heads(layer.mixer, ranks)
        case ParallelMixers(attention=attention):
            heads = cached_heads(attention, ranks)
        case SharedKeyValueAttention(attention=attention):
            heads = cached_heads(attention, ranks)
        case _:
            return nothing
    return Held("attention", extras.num_bytes(heads, 0, element_bytes(dtype)), 0)


def cached_heads(
    mixer: FullAttention | SlidingWindowAttention | ChunkedLocalAttention, ranks: Ranks
) -> int:
    """Key-value heads that one rank caches."""
    attention = mixer if isinstance(mixer, FullAttention) else mixer.attention
    return num_kv_heads_per_rank(
        num_key_value_heads=attention.num_key_value_heads,
        tensor_parallel_size=ranks.tensor_parallel_size,
    )


def outer_held(
    model: Model, ranks: Ranks, dtype: str, stage: int, head: WeightFormat | None = None
) -> Iterator[Held]:
    """What stands around the layers of a stage: embedding, head, norm, buffers."""
    width = element_bytes(dtype)
    rows = padded_vocab_size(vocab_size=model.vocab_size) // ranks.tensor_parallel_size
    matrix = rows * model.hidden_size * width
    is_first = stage == 0
    is_last = stage == ranks.pipeline_parallel_size - 1
    everywhere, tied = model.ends_on_every_stage, model.tie_word_embeddings
    if is_first or everywhere or model.embedding_on_every_stage or (tied and is_last):
        whole = model.vocab_size * model.hidden_size * width
        yield plainly("embedding", whole if model.embedding_is_whole else matrix)
    if not tied and (is_last or everywhere or model.head_on_every_stage):
        kept = format_bytes(head, (rows,), model.hidden_size, width) if head else matrix
        yield plainly("lm_head", kept)
        if model.head_bias:
            yield plainly("lm_head", rows * width)
    if is_last or everywhere:
        yield plainly("norm", model.final_norm_size * width)
    yield plainly("buffers", model.extra_buffer_bytes)


def rotary_held(model: Model, ranks: Ranks, dtype: str, first: int, end: int) -> Iterator[Held]:
    """The rotary tables of a stage that holds layers from ``first`` up to ``end``."""
    for table in model.rotary_tables:
        if table.is_among(first, end):
            yield plainly("buffers", table.num_bytes(dtype, is_compiled=ranks.is_compiled))


def outer_tensors_held(
    model: Model, ranks: Ranks, dtype: str, quant: Quantization | None, stage: int
) -> Iterator[tuple[Held, int]]:
    """Towers, projectors and the like on one rank of a stage, each with how many there are."""
    for outer in model.outer_tensors:
        if outer.on_ranks and outer.place.is_on(stage, ranks.pipeline_parallel_size):
            form = outer_form(model, quant, outer.tensor)
            yield tensor_held(outer.tensor, ranks, dtype, form), outer.repeats
