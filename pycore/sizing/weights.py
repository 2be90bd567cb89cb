"""Weights on one rank: parameters and buffers, as the engine creates them.

A rank's share is not the total over TP: norms, routers and rotary tables are whole on every rank,
key-value heads cannot be split below one, the vocabulary is padded, and the stages of a pipeline
differ at both ends.
"""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, assert_never

from pycore.dtypes import element_bytes
from pycore.engine.shards import UNFILLED, Filling, Ranks, filling_of, fitted, shard_of
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
from pycore.model.module_forms import Forms, head_form, layer_forms, outer_form
from pycore.model.parameters import layer_tensors
from pycore.model.quantization import Quantization
from pycore.model.tensors import Linear, Tensor, Vector
from pycore.model.weight_formats import WeightFormat, format_bytes
from pycore.units import round_up

VOCABULARY_MULTIPLE: Final = 64


@dataclass(frozen=True, slots=True)
class StageWeights:
    """Bytes on the largest rank of one pipeline stage, by component."""

    num_layers: int
    bytes_by_component: dict[str, int]

    @property
    def num_bytes(self) -> int:
        """All components together."""
        return sum(self.bytes_by_component.values())


def layers_by_stage(num_layers: int, pipeline_parallel_size: int) -> tuple[int, ...]:
    """Layers of each pipeline stage.

    An equal share each; what is left over goes to the stages before the last, from the last but
    one backwards, since the last also holds the head.
    Source: vLLM 0.33.0, distributed/utils.py, get_pp_indices.
    """
    share, rest = divmod(num_layers, pipeline_parallel_size)
    sizes = [share] * pipeline_parallel_size
    for stage in range(rest):
        sizes[-(stage + 2)] += 1
    return tuple(sizes)


def padded_vocab_size(*, vocab_size: int) -> int:
    """Rows of embedding and head, padded to a multiple of 64.

    Source: vLLM 0.33.0, layers/vocab_parallel_embedding.py, pad_vocab_size.
    """
    return round_up(vocab_size, VOCABULARY_MULTIPLE)


def linear_bytes(
    linear: Linear,
    ranks: Ranks,
    dtype: str,
    form: WeightFormat | None,
    filling: Filling = UNFILLED,
) -> int:
    """Bytes that one rank holds of a linear: elements, biases and scales."""
    shard = shard_of(linear, ranks, filling)
    bias_rows = shard.num_rows if linear.bias else 0
    if form is None:
        in_float32 = linear.float32_without_kernels and not ranks.has_router_kernels
        width = element_bytes("float32" if in_float32 else linear.dtype or dtype)
        return shard.experts * (shard.num_rows * shard.columns + bias_rows) * width
    width, routed = element_bytes(dtype), linear.num_experts > 0
    form = fitted(form, shard, linear) if routed else form
    matrix = format_bytes(form, shard.rows, shard.columns, width, routed=routed)
    return shard.experts * (matrix + bias_rows * width)


def vector_bytes(vector: Vector, ranks: Ranks, dtype: str) -> int:
    """Bytes that one rank holds of a vector."""
    length = vector.length // ranks.tensor_parallel_size if vector.split else vector.length
    return max(length, vector.least_per_rank) * element_bytes(vector.dtype or dtype)


def tensor_bytes(
    tensor: Tensor,
    ranks: Ranks,
    dtype: str,
    form: WeightFormat | None,
    filling: Filling = UNFILLED,
) -> int:
    """Bytes that one rank holds of a tensor."""
    match tensor:
        case Linear():
            return linear_bytes(tensor, ranks, dtype, form, filling)
        case Vector():
            return vector_bytes(tensor, ranks, dtype)
        case _:
            assert_never(tensor)


def layer_bytes(
    layer: Layer, hidden_size: int, ranks: Ranks, dtype: str, forms: Forms
) -> Counter[str]:
    """Bytes of one decoder layer on one rank, by component."""
    total: Counter[str] = Counter()
    for tensor in layer_tensors(layer, hidden_size):
        form, filling = forms.get(tensor.name), UNFILLED
        if isinstance(layer.feed_forward, MoeMlp):
            filling = filling_of(layer.feed_forward, form, ranks)
        total[tensor.component] += tensor_bytes(tensor, ranks, dtype, form, filling)
    for tensor in buffer_tensors(layer.mixer):
        total[tensor.component] += tensor_bytes(tensor, ranks, dtype, None)
    if isinstance(layer.feed_forward, MoeMlp) and ranks.enable_expert_parallel:
        # Where each expert lives: one int32 for every expert of the model.
        total["buffers"] += 4 * layer.feed_forward.num_experts
    return total


@lru_cache(maxsize=256)
def stage_weights(
    model: Model, ranks: Ranks, dtype: str, quantization: Quantization | None
) -> tuple[StageWeights, ...]:
    """Bytes on the largest rank of each pipeline stage."""
    forms = layer_forms(model, quantization)
    kinds = [(layer, id(own)) for layer, own in zip(model.layers, forms, strict=True)]
    per_kind = {
        kind: layer_bytes(kind[0], model.hidden_size, ranks, dtype, own)
        + cache_scales(kind[0], ranks, dtype, quantization)
        for kind, own in dict(zip(kinds, forms, strict=True)).items()
    }
    stages = []
    first = 0
    for stage, count in enumerate(layers_by_stage(len(model.layers), ranks.pipeline_parallel_size)):
        total = outer_bytes(model, ranks, dtype, stage, head_form(model, quantization))
        total.update(outer_tensor_bytes(model, ranks, dtype, quantization, stage))
        for kind, repeats in Counter(kinds[first : first + count]).items():
            for component, num_bytes in per_kind[kind].items():
                total[component] += repeats * num_bytes
        first += count
        stages.append(StageWeights(count, dict(total)))
    return tuple(stages)


def cache_scales(
    layer: Layer, ranks: Ranks, dtype: str, quantization: Quantization | None
) -> Counter[str]:
    """Bytes of what a quantised checkpoint may say of the KV cache, in layers with attention."""
    if quantization is None:
        return Counter()
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
            return Counter()
    return Counter(attention=extras.num_bytes(heads, 0, element_bytes(dtype)))


def cached_heads(
    mixer: FullAttention | SlidingWindowAttention | ChunkedLocalAttention, ranks: Ranks
) -> int:
    """Key-value heads that one rank caches."""
    attention = mixer if isinstance(mixer, FullAttention) else mixer.attention
    return max(1, attention.num_key_value_heads // ranks.tensor_parallel_size)


def outer_bytes(
    model: Model, ranks: Ranks, dtype: str, stage: int, head: WeightFormat | None = None
) -> Counter[str]:
    """Bytes of what stands around the layers of a stage: embedding, head, norm, buffers."""
    width = element_bytes(dtype)
    rows = padded_vocab_size(vocab_size=model.vocab_size) // ranks.tensor_parallel_size
    matrix = rows * model.hidden_size * width
    is_first = stage == 0
    is_last = stage == ranks.pipeline_parallel_size - 1
    everywhere, tied = model.ends_on_every_stage, model.tie_word_embeddings
    total: Counter[str] = Counter()
    if is_first or everywhere or model.embedding_on_every_stage or (tied and is_last):
        total["embedding"] = matrix
    if not tied and (is_last or everywhere or model.head_on_every_stage):
        bias = rows * width if model.head_bias else 0
        form = format_bytes(head, (rows,), model.hidden_size, width) if head else matrix
        total["lm_head"] = form + bias
    if is_last or everywhere or model.norm_on_every_stage:
        total["norm"] = model.final_norm_size * width
    total["buffers"] = model.extra_buffer_bytes + sum(
        table.num_bytes(dtype) for table in model.rotary_tables
    )
    return total


def outer_tensor_bytes(
    model: Model, ranks: Ranks, dtype: str, quant: Quantization | None, stage: int
) -> Counter[str]:
    """Bytes of towers, projectors and the like on one rank of a stage, by component."""
    total: Counter[str] = Counter()
    for outer in model.outer_tensors:
        if outer.on_ranks and outer.place.is_on(stage, ranks.pipeline_parallel_size):
            form = outer_form(model, quant, outer.tensor)
            num_bytes = tensor_bytes(outer.tensor, ranks, dtype, form)
            total[outer.tensor.component] += outer.repeats * num_bytes
    return total


def weights_bytes_per_rank(
    *,
    embedding_bytes: int,
    attention_bytes: int,
    recurrent_bytes: int,
    mlp_bytes: int,
    experts_bytes: int,
    shared_expert_bytes: int,
    router_bytes: int,
    norm_bytes: int,
    lm_head_bytes: int,
    tower_bytes: int,
    buffers_bytes: int,
) -> int:
    """Parameters and buffers of the largest rank, as the engine creates them.

    Linears are divided by TP; norms, routers and rotary tables are whole on every rank. A tower
    is what reads images or sound; recurrent layers keep a state of fixed size (Mamba).
    Source: the model's own shapes; vLLM 0.33.0 for what is divided and what is not.
    """
    return (
        embedding_bytes
        + attention_bytes
        + recurrent_bytes
        + mlp_bytes
        + experts_bytes
        + shared_expert_bytes
        + router_bytes
        + norm_bytes
        + lm_head_bytes
        + tower_bytes
        + buffers_bytes
    )
