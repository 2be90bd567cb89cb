"""Weights on one rank: parameters and buffers, as the engine creates them.

A rank's share is not the total over TP: norms, routers and rotary tables are whole on every rank,
key-value heads cannot be split below one, the vocabulary is padded, and the stages of a pipeline
differ at both ends.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd
from typing import Final, assert_never

from pycore.dtypes import element_bytes
from pycore.model.buffers import buffer_tensors
from pycore.model.layers import Layer, MoeMlp
from pycore.model.model import Model
from pycore.model.parameters import layer_tensors
from pycore.model.quantization import Quantization
from pycore.model.tensors import Linear, Split, Tensor, Vector
from pycore.units import ceil_div, round_up

VOCABULARY_MULTIPLE: Final = 64
SCALE_BYTES: Final = 4
# A quantised checkpoint may carry scales for the KV cache: two float32 parameters a layer.
KV_SCALE_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Ranks:
    """How a model is spread: over ranks of a stage, over stages, over replicas."""

    tensor_parallel_size: int
    pipeline_parallel_size: int
    data_parallel_size: int
    enable_expert_parallel: bool

    @property
    def expert_ranks(self) -> int:
        """Ranks that share the routed experts: those of all replicas together."""
        return self.tensor_parallel_size * self.data_parallel_size


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


def rank_shape(linear: Linear, ranks: Ranks) -> tuple[int, list[int], int]:
    """Experts, rows of each fused matrix, and columns that one rank holds of a linear."""
    split, experts = ranks.tensor_parallel_size, 1
    if linear.num_experts:
        split, experts = ranks.expert_ranks, linear.num_experts
        if ranks.enable_expert_parallel and split > 1:
            split, experts = 1, ceil_div(linear.num_experts, ranks.expert_ranks)
    if linear.least_width_per_rank and ranks.tensor_parallel_size > 1 and split > 1:
        linear = widened(linear, linear.least_width_per_rank * ranks.tensor_parallel_size)
    rows = [part.on_rank(split) for part in linear.rows]
    rows[-1] += -sum(rows) % linear.rows_multiple
    columns = linear.columns // split if linear.columns_split else linear.columns
    return experts, rows, columns


def widened(linear: Linear, least: int) -> Linear:
    """Routed experts whose width is filled up to ``least`` before it is split.

    Source: vLLM 0.33.0, models/kimi_k3/nvidia/model.py, padded_moe_intermediate_size.
    """
    rows = tuple(
        replace(part, count=max(part.count, least)) if part.split is Split.EVEN else part
        for part in linear.rows
    )
    columns = max(linear.columns, least) if linear.columns_split else linear.columns
    return replace(linear, rows=rows, columns=columns)


def linear_bytes(
    linear: Linear, ranks: Ranks, dtype: str, quantization: Quantization | None
) -> int:
    """Bytes that one rank holds of a linear: elements, biases and scales."""
    experts, rows, columns = rank_shape(linear, ranks)
    num_rows = sum(rows)
    bias_rows = num_rows if linear.bias else 0
    if quantization is None or not linear.quantisable:
        width = element_bytes(linear.dtype or dtype)
        return experts * (num_rows * columns + bias_rows) * width
    scales = scale_bytes(rows, columns, quantization, routed=linear.num_experts > 0)
    return experts * (num_rows * columns + bias_rows * element_bytes(dtype) + scales)


def scale_bytes(
    rows: Sequence[int], columns: int, quantization: Quantization, *, routed: bool
) -> int:
    """Bytes of the float32 scales of one fp8 weight.

    One for each block of rows and columns; without blocks one for each fused matrix, and as many
    again for activations where the checkpoint fixes them.
    """
    if quantization.block is None:
        return SCALE_BYTES * len(rows) * (2 if quantization.static_activation_scale else 1)
    block_rows, block_columns = quantization.block
    if not routed:
        return SCALE_BYTES * ceil_div(sum(rows), block_rows) * ceil_div(columns, block_columns)
    width = rows[0] if len(rows) > 1 else columns
    block_rows, block_columns = refined_block(width, quantization.block)
    grid_rows = sum(ceil_div(part, block_rows) for part in rows)
    return SCALE_BYTES * grid_rows * ceil_div(columns, block_columns)


def refined_block(width: int, block: tuple[int, int]) -> tuple[int, int]:
    """The block that a routed expert's scales cover on a rank with ``width`` of each expert.

    Where TP cuts through a block, every scale is repeated on a grid fine enough for the cut.
    Source: worked out from what vLLM 0.33.0 creates for experts 192 and 96 wide in 128-blocks.
    """
    return (gcd(width, block[0]), gcd(width, block[1])) if width % block[0] else block


def vector_bytes(vector: Vector, ranks: Ranks, dtype: str) -> int:
    """Bytes that one rank holds of a vector."""
    length = vector.length // ranks.tensor_parallel_size if vector.split else vector.length
    return max(length, vector.least_per_rank) * element_bytes(vector.dtype or dtype)


def tensor_bytes(tensor: Tensor, ranks: Ranks, dtype: str, quant: Quantization | None) -> int:
    """Bytes that one rank holds of a tensor."""
    match tensor:
        case Linear():
            return linear_bytes(tensor, ranks, dtype, quant)
        case Vector():
            return vector_bytes(tensor, ranks, dtype)
        case _:
            assert_never(tensor)


def layer_bytes(
    layer: Layer, hidden_size: int, ranks: Ranks, dtype: str, quant: Quantization | None
) -> Counter[str]:
    """Bytes of one decoder layer on one rank, by component."""
    total: Counter[str] = Counter()
    for tensor in layer_tensors(layer, hidden_size):
        total[tensor.component] += tensor_bytes(tensor, ranks, dtype, quant)
    for tensor in buffer_tensors(layer.mixer):
        total[tensor.component] += tensor_bytes(tensor, ranks, dtype, None)
    if quant is not None and not quant.online:
        total["attention"] += KV_SCALE_BYTES
    if isinstance(layer.feed_forward, MoeMlp) and ranks.enable_expert_parallel:
        # Where each expert lives: one int32 for every expert of the model.
        total["buffers"] += 4 * layer.feed_forward.num_experts
    return total


@lru_cache(maxsize=256)
def stage_weights(
    model: Model, ranks: Ranks, dtype: str, quantization: Quantization | None
) -> tuple[StageWeights, ...]:
    """Bytes on the largest rank of each pipeline stage."""
    per_layer: dict[Layer, Counter[str]] = {}
    stages = []
    first = 0
    for stage, count in enumerate(layers_by_stage(len(model.layers), ranks.pipeline_parallel_size)):
        total = outer_bytes(model, ranks, dtype, stage)
        total.update(outer_tensor_bytes(model, ranks, dtype, quantization, stage))
        for layer, repeats in Counter(model.layers[first : first + count]).items():
            if layer not in per_layer:
                per_layer[layer] = layer_bytes(layer, model.hidden_size, ranks, dtype, quantization)
            for component, num_bytes in per_layer[layer].items():
                total[component] += repeats * num_bytes
        first += count
        stages.append(StageWeights(count, dict(total)))
    return tuple(stages)


def outer_bytes(model: Model, ranks: Ranks, dtype: str, stage: int) -> Counter[str]:
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
        total["lm_head"] = matrix + (rows * width if model.head_bias else 0)
    if is_last or everywhere:
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
            num_bytes = tensor_bytes(outer.tensor, ranks, dtype, quant)
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
