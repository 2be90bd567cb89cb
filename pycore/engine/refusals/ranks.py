"""Refusals of ranks that do not divide a model: its heads, widths, experts, layers.

Source: vLLM 0.33.0, config/model.py, config/parallel.py, distributed/utils.py.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from pycore.engine.kv.formulas import num_kv_heads_per_rank
from pycore.engine.kv.mixer_specs import attention_of
from pycore.engine.refusals.quantized_shards import shard_error
from pycore.engine.refusals.refusal import Refusal
from pycore.engine.shards import Ranks, ranks_of
from pycore.engine.vllm import Settings
from pycore.hardware.accelerators import Accelerator
from pycore.model.model import Model, distinct_layers
from pycore.model.parameters import layer_tensors
from pycore.model.tensors import Linear, Split, Tensor, Vector
from pycore.scenario import Scenario
from pycore.units import round_up

LARGEST_TENSOR_PARALLEL: Final = 128

# Classes that divide their KV heads by the ranks and copy none.
NEVER_COPIED: Final = ("GptOssForCausalLM",)


def odd_heads(scenario: Scenario, model: Model) -> Refusal | None:
    """Attention heads that TP does not divide."""
    size, heads = scenario.tensor_parallel_size, model.num_attention_heads
    if heads % size == 0:
        return None
    return Refusal(
        "indivisible_heads",
        f"Total number of attention heads ({heads}) must be divisible by tensor parallel size "
        f"({size}).",
        "tensor_parallel_size",
        working_sizes(model),
    )


def too_many(scenario: Scenario) -> Refusal | None:
    """More ranks than a node has accelerators: TP does not leave the node."""
    per_node = scenario.accelerators_per_node
    if per_node is None or scenario.tensor_parallel_size <= per_node:
        return None
    world_size = scenario.tensor_parallel_size * scenario.pipeline_parallel_size
    return Refusal(
        "too_many_accelerators",
        f"World size ({world_size}) is larger than the number of available GPUs ({per_node}) in "
        "this node. If this is intentional and you are using:\n- ray, set "
        "'--distributed-executor-backend ray'.\n- multiprocessing, set '--nnodes' appropriately.",
        "tensor_parallel_size",
        tuple(size for size in range(1, per_node + 1) if model_free(size)),
    )


def model_free(size: int) -> bool:
    """Sizes that any model is likely to take: powers of two."""
    return size & (size - 1) == 0


def odd_kv_heads(scenario: Scenario, model: Model) -> Refusal | None:
    """Key-value heads, in any layer, that can neither be split nor repeated evenly."""
    size = scenario.tensor_parallel_size
    odd = next((heads for heads in kv_head_counts(model) if not divides(size, heads)), None)
    if odd is None:
        return uncopied_heads(scenario, model)
    large, small = max(size, odd), min(size, odd)
    return Refusal(
        "indivisible_kv_heads",
        f"AssertionError: {large} is not divisible by {small}",
        "tensor_parallel_size",
        working_sizes(model),
    )


def uneven_groups(scenario: Scenario, model: Model) -> Refusal | None:
    """Query heads of a rank that its key-value heads do not divide into equal groups.

    Source: vLLM 0.33.0, model_executor/layers/attention/attention.py, Attention.
    """
    size = scenario.tensor_parallel_size
    for layer in distinct_layers(model):
        attention = attention_of(layer.mixer)
        if attention is None or attention.num_attention_heads % size:
            continue
        heads = attention.num_attention_heads // size
        kv_heads = num_kv_heads_per_rank(
            num_key_value_heads=attention.num_key_value_heads, tensor_parallel_size=size
        )
        if heads % kv_heads:
            return Refusal(
                "indivisible_kv_heads",
                f"AssertionError: num_heads ({heads}) is not divisible by num_kv_heads "
                f"({kv_heads})",
            )
    return None


def uncopied_heads(scenario: Scenario, model: Model) -> Refusal | None:
    """Fewer KV heads than ranks in a class that leaves the others none.

    Source: vLLM 0.33.0, model_executor/models/gpt_oss.py, OAIAttention.
    """
    heads = model.num_key_value_heads
    if model.architecture not in NEVER_COPIED or scenario.tensor_parallel_size <= heads:
        return None
    return Refusal(
        "indivisible_kv_heads",
        "ZeroDivisionError: integer modulo by zero",
        "tensor_parallel_size",
        working_sizes(model),
    )


@lru_cache(maxsize=256)
def kv_head_counts(model: Model) -> tuple[int, ...]:
    """How many key-value heads layers have: one number in most models, several in some."""
    counts = [model.num_key_value_heads]
    for layer in distinct_layers(model):
        for tensor in layer_tensors(layer, model.hidden_size):
            if isinstance(tensor, Linear):
                counts += (
                    rows.count // rows.unit for rows in tensor.rows if rows.split is Split.KV_HEADS
                )
    return tuple(count for count in dict.fromkeys(counts) if count)


def odd_vocabulary(scenario: Scenario, model: Model) -> Refusal | None:
    """A padded vocabulary that TP does not divide."""
    rows, size = round_up(model.vocab_size, 64), scenario.tensor_parallel_size
    return not_divisible(rows, size, model)


def not_divisible(count: int, size: int, model: Model) -> Refusal | None:
    """The engine's assertion where ``size`` does not divide ``count``."""
    if count % size == 0:
        return None
    return Refusal(
        "indivisible_other",
        f"AssertionError: {count} is not divisible by {size}",
        "tensor_parallel_size",
        working_sizes(model),
    )


@lru_cache(maxsize=256)
def split_sizes(model: Model) -> tuple[tuple[int, bool], ...]:
    """Every size that TP must divide, and whether it belongs to routed experts."""
    return tuple(dict.fromkeys(each_split_size(model)))


def each_split_size(model: Model) -> Iterator[tuple[int, bool]]:
    """The sizes that TP must divide, tensor by tensor: those of the layers, then the towers'."""
    for layer in distinct_layers(model):
        for tensor in layer_tensors(layer, model.hidden_size):
            yield from split_sizes_of(tensor)
    for outer in (*model.outer_tensors, *model.empty_towers):
        if outer.on_ranks:
            yield from split_sizes_of(outer.tensor)


def split_sizes_of(tensor: Tensor) -> Iterator[tuple[int, bool]]:
    """The sizes of one tensor that TP must divide; rows that are heads go by heads."""
    match tensor:
        case Linear(split_heads=0):
            routed = tensor.num_experts > 0
            if tensor.columns_split:
                yield tensor.columns, routed
            for rows in tensor.rows:
                if rows.split is Split.EVEN:
                    yield rows.count // rows.unit, routed
        case Vector(split=True):
            yield tensor.length, False
        case _:
            return


def odd_shards(scenario: Scenario, model: Model) -> Refusal | None:
    """A projection whose width TP does not divide."""
    size = scenario.tensor_parallel_size
    expert_ranks = size * scenario.data_parallel_size
    for count, routed in split_sizes(model):
        if routed and scenario.enable_expert_parallel:
            continue
        refusal = not_divisible(count, expert_ranks if routed else size, model)
        if refusal is not None:
            return refusal
    return None


def odd_quantized_shards(
    scenario: Scenario, model: Model, settings: Settings, accelerator: Accelerator
) -> Refusal | None:
    """A rank's share of a quantised matrix that cuts through its groups."""
    error = shard_error(
        model, settings.quantization, ranks_of(scenario, accelerator), settings.dtype
    )
    if error is None:
        return None
    return Refusal("unaligned_quantised_shard", error, "tensor_parallel_size", working_sizes(model))


def too_many_stages(scenario: Scenario, model: Model) -> Refusal | None:
    """More pipeline stages than layers."""
    stages, layers = scenario.pipeline_parallel_size, len(model.layers)
    if stages <= layers:
        return None
    return Refusal(
        "pipeline_parallel",
        f"pipeline_parallel_size ({stages}) must not exceed the number of hidden layers "
        f"({layers}).",
        "pipeline_parallel_size",
    )


def working_sizes(model: Model) -> tuple[int, ...]:
    """Tensor-parallel sizes that divide everything that must be divided."""
    heads, kv_heads = model.num_attention_heads, kv_head_counts(model)
    sizes = {count for count, _ in split_sizes(model)} | {round_up(model.vocab_size, 64)}
    most = min(heads or LARGEST_TENSOR_PARALLEL, LARGEST_TENSOR_PARALLEL)
    if model.architecture in NEVER_COPIED:
        most = min(most, model.num_key_value_heads)
    return tuple(
        size
        for size in range(1, most + 1)
        if heads % size == 0
        and all(divides(size, count) for count in kv_heads)
        and all(count % size == 0 for count in sizes)
        and cuts_evenly(model, size)
    )


def cuts_evenly(model: Model, size: int) -> bool:
    """Whether TP of that size leaves whole groups of the checkpoint's own quantisation."""
    ranks = Ranks(size, 1, 1, enable_expert_parallel=False)
    return shard_error(model, model.quantization, ranks, model.dtype) is None


def divides(large: int, small: int) -> bool:
    """Whether one of two sizes is a whole number of the other."""
    return max(large, small) % min(large, small) == 0
