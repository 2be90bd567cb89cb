"""What vLLM refuses before it has loaded a byte, in its own words.

Each rule is one function that gives a ``Refusal`` or None; they run in the engine's order, and
the first that applies is what a user would read.
Source: vLLM 0.33.0, config/model.py, config/parallel.py, config/scheduler.py and
distributed/utils.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pycore.engine.quantisation_rules import start_errors
from pycore.engine.quantised_shards import shard_error
from pycore.engine.shards import Ranks, ranks_of
from pycore.engine.vllm import Settings, has_bfloat16
from pycore.hardware.accelerators import Accelerator
from pycore.model.layers import MoeMlp, SlidingWindowAttention
from pycore.model.model import Model, distinct_layers
from pycore.model.parameters import layer_tensors
from pycore.model.tensors import Linear, Split, Tensor, Vector
from pycore.scenario import Scenario
from pycore.units import gib, round_up

LARGEST_TENSOR_PARALLEL: Final = 128
HALF_PRECISION: Final = ("float16", "bfloat16")
MORE_ROOM: Final = (
    "Try increasing `gpu_memory_utilization` (which also controls CPU memory on the CPU backend) "
    "or decreasing `max_model_len` when initializing the engine. See "
    "https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why the engine would not start.

    ``message`` is the engine's own; ``choices`` are values of ``field`` that this rule accepts.
    """

    kind: str
    """Which rule was broken, as one word of the contract."""
    message: str
    """The engine's own words, with this scenario's numbers."""
    field: str = ""
    """The request's key that the rule is about."""
    choices: tuple[int, ...] = ()
    """Values of that key which the rule accepts."""
    remedies: tuple[dict[str, object], ...] = ()
    """Single changes that cure it, cheapest first: a label, the changes, what they give."""


def shape_refusals(
    scenario: Scenario, model: Model, settings: Settings, accelerator: Accelerator
) -> tuple[Refusal, ...]:
    """Every rule of the engine that this deployment breaks, memory left aside."""
    found = (
        over_long(settings, model),
        few_batched_tokens(settings),
        dtype_missing(settings, accelerator),
        other_cache_dtype(settings),
        quantisation_refused(scenario, model, settings, accelerator),
        odd_heads(scenario, model),
        too_many(scenario),
        context_parallel(scenario, model),
        parted_windows(scenario, model),
        odd_kv_heads(scenario, model),
        odd_vocabulary(scenario, model),
        odd_shards(scenario, model),
        no_experts(scenario, model),
        odd_quantised_shards(scenario, model, settings, accelerator),
        too_many_stages(scenario, model),
    )
    return tuple(refusal for refusal in found if refusal is not None)


def over_long(settings: Settings, model: Model) -> Refusal | None:
    """A max_model_len above what the model was made for, where its config sets a limit."""
    if settings.auto_fit or settings.max_model_len <= model.model_limit_tokens:
        return None
    if not model.model_limit_field:
        return None
    limit = model.model_limit_tokens
    named = f"{model.model_limit_field}={float(limit)}"
    longest = limit if model.model_limit_field == "model_max_length" else None
    return Refusal(
        "max_model_len_above_model",
        f"User-specified max_model_len ({settings.max_model_len}) is greater than the derived "
        f"max_model_len ({named} or model_max_length={longest} in model's config.json). To allow "
        "overriding this maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1.",
        "max_model_len",
        (limit,),
    )


def few_batched_tokens(settings: Settings) -> Refusal | None:
    """Fewer tokens a step than sequences: some would never move."""
    if settings.max_num_batched_tokens >= settings.max_num_seqs:
        return None
    return Refusal(
        "batched_tokens_too_small",
        f"max_num_batched_tokens ({settings.max_num_batched_tokens}) must be greater than or "
        f"equal to max_num_seqs ({settings.max_num_seqs}).",
        "max_num_batched_tokens",
        (settings.max_num_seqs,),
    )


def dtype_missing(settings: Settings, accelerator: Accelerator) -> Refusal | None:
    """bfloat16 on a GPU that does not compute in it."""
    if settings.dtype != "bfloat16" or has_bfloat16(accelerator):
        return None
    return Refusal(
        "dtype_not_on_accelerator",
        "Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your "
        f"{accelerator.name} GPU has compute capability {capability_text(accelerator)}. You can "
        "use float16 instead by explicitly setting the `dtype` flag in CLI, for example: "
        "--dtype=half.",
        "dtype",
    )


def other_cache_dtype(settings: Settings) -> Refusal | None:
    """A cache in the other half-precision type than the model's.

    Source: vLLM 0.33.0, config/vllm.py, _reject_mismatched_float_kv_cache.
    """
    cache, own = settings.kv_cache_dtype, settings.dtype
    if cache not in HALF_PRECISION or cache == own:
        return None
    allowed = f"`auto` or `{own}`" if own in HALF_PRECISION else "`auto`"
    message = (
        f'kv_cache_dtype="{cache}" is incompatible with dtype="{own}". Please set '
        f"`--kv-cache-dtype` to {allowed}."
    )
    return Refusal("no_attention_backend", message, "kv_cache_dtype")


def capability_text(accelerator: Accelerator) -> str:
    """A compute capability as the engine prints it."""
    major, minor = accelerator.compute_capability or (0, 0)
    return f"{major}.{minor}"


def quantisation_refused(
    scenario: Scenario, model: Model, settings: Settings, accelerator: Accelerator
) -> Refusal | None:
    """A quantisation that the engine does not start with, here or at all."""
    found = next(start_errors(scenario, model, settings, accelerator), None)
    return None if found is None else Refusal(*found, "quantization")


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


def context_parallel(scenario: Scenario, model: Model) -> Refusal | None:
    """Decode context parallelism that the ranks or the heads do not allow."""
    dcp, size = scenario.decode_context_parallel_size, scenario.tensor_parallel_size
    if dcp == 1:
        return None
    if size % dcp:
        return Refusal(
            "context_parallel",
            f"tp_size={size} must be divisible by dcp_size={dcp}.",
            "decode_context_parallel_size",
        )
    kv_heads = model.num_key_value_heads
    if model.num_attention_heads == 0:
        # The engine divides by the KV heads that a model of states alone does not have.
        message = "ZeroDivisionError: integer division or modulo by zero"
        return Refusal("context_parallel", message, "decode_context_parallel_size", (1,))
    if kv_heads == 0:
        return None
    if size <= kv_heads:
        message = (
            "Decode context parallelism for GQA/MQA requires `--tensor-parallel-size` "
            f"({size}) to be greater than the model's total number of KV heads ({kv_heads}). "
            "Increase `--tensor-parallel-size` or set `--decode-context-parallel-size 1`."
        )
    elif dcp > size // kv_heads:
        message = (
            f"`--decode-context-parallel-size` ({dcp}) exceeds the maximum supported value "
            f"({size // kv_heads}) for `--tensor-parallel-size` ({size}) and {kv_heads} model KV "
            "heads."
        )
    elif (model.num_attention_heads // kv_heads) % dcp:
        message = (
            "The model's number of query heads per KV head "
            f"({model.num_attention_heads // kv_heads}) must be divisible by "
            f"`--decode-context-parallel-size` ({dcp}) for GQA/MQA."
        )
    else:
        return None
    return Refusal("context_parallel", message, "decode_context_parallel_size", (1,))


def parted_windows(scenario: Scenario, model: Model) -> Refusal | None:
    """Windows whose tokens ranks would share; those kept in full may be shared.

    Source: vLLM 0.33.0, v1/kv_cache_interface.py, SlidingWindowSpec.max_memory_usage_bytes.
    """
    dcp = scenario.decode_context_parallel_size
    if dcp == 1 or scenario.disable_hybrid_kv_cache_manager:
        return None
    if not any(isinstance(layer.mixer, SlidingWindowAttention) for layer in model.layers):
        return None
    message = "AssertionError: DCP not support sliding window."
    return Refusal("context_parallel", message, "decode_context_parallel_size", (1,))


def divides(large: int, small: int) -> bool:
    """Whether one of two sizes is a whole number of the other."""
    return max(large, small) % min(large, small) == 0


def odd_kv_heads(scenario: Scenario, model: Model) -> Refusal | None:
    """Key-value heads, in any layer, that can neither be split nor repeated evenly."""
    size = scenario.tensor_parallel_size
    odd = next((heads for heads in kv_head_counts(model) if not divides(size, heads)), None)
    if odd is None:
        return None
    large, small = max(size, odd), min(size, odd)
    return Refusal(
        "indivisible_kv_heads",
        f"AssertionError: {large} is not divisible by {small}",
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
    for outer in model.outer_tensors:
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
    """A projection whose width TP does not divide; too few experts for the ranks."""
    size = scenario.tensor_parallel_size
    expert_ranks = size * scenario.data_parallel_size
    for count, routed in split_sizes(model):
        if routed and scenario.enable_expert_parallel:
            continue
        refusal = not_divisible(count, expert_ranks if routed else size, model)
        if refusal is not None:
            return refusal
    return few_experts(scenario, model, size)


def no_experts(scenario: Scenario, model: Model) -> Refusal | None:
    """Expert parallelism of a model that has no experts.

    Source: vLLM 0.33.0, config/model.py, _verify_with_expert_parallelism.
    """
    if not scenario.enable_expert_parallel:
        return None
    if any(isinstance(layer.feed_forward, MoeMlp) for layer in model.layers):
        return None
    message = (
        "Number of experts in the model must be greater than 0 when expert parallelism is enabled."
    )
    return Refusal("indivisible_other", message, "enable_expert_parallel", (False,))


def few_experts(scenario: Scenario, model: Model, size: int) -> Refusal | None:
    """More ranks than experts, which some models refuse."""
    experts = [
        layer.feed_forward.num_experts
        for layer in distinct_layers(model)
        if isinstance(layer.feed_forward, MoeMlp)
    ]
    limit = min(experts, default=0)
    if not limit or size <= limit or scenario.enable_expert_parallel:
        return None
    return Refusal(
        "indivisible_other",
        f"Tensor parallel size {size} is greater than the number of experts {limit}.",
        "tensor_parallel_size",
        tuple(works for works in working_sizes(model) if works <= limit),
    )


def odd_quantised_shards(
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
    return tuple(
        size
        for size in range(1, min(heads or LARGEST_TENSOR_PARALLEL, LARGEST_TENSOR_PARALLEL) + 1)
        if heads % size == 0
        and all(divides(size, count) for count in kv_heads)
        and all(count % size == 0 for count in sizes)
        and cuts_evenly(model, size)
    )


def cuts_evenly(model: Model, size: int) -> bool:
    """Whether TP of that size leaves whole groups of the checkpoint's own quantisation."""
    ranks = Ranks(size, 1, 1, enable_expert_parallel=False)
    return shard_error(model, model.quantization, ranks, model.dtype) is None


def gib_text(num_bytes: int) -> str:
    """GiB as the engine prints them: two decimals at most, one at least."""
    return str(round(gib(num_bytes), 2))


def kv_cache_too_small(
    *, max_model_len: int, needed_bytes: int, available_bytes: int, estimated: int, version: int
) -> Refusal:
    """The refusal of a pool that does not hold one request of max_model_len."""
    models = "model's" if version >= 11 else "models's"
    estimate = (
        f"Based on the available memory, the estimated maximum model length is {estimated}. "
        if estimated
        else ""
    )
    return Refusal(
        "kv_cache_too_small",
        f"ValueError: To serve at least one request with the {models} max seq len "
        f"({max_model_len}), ({gib_text(needed_bytes)} GiB KV cache is needed, which is larger "
        f"than the available KV cache memory ({gib_text(available_bytes)} GiB). {estimate}"
        f"{MORE_ROOM}",
        "max_model_len",
    )


AUTO_FIT_FAILED: Final = Refusal(
    "kv_cache_too_small",
    "ValueError: Cannot auto-fit max_model_len: not enough GPU memory available to serve even a "
    "single token. Try increasing `gpu_memory_utilization`.",
    "gpu_memory_utilization",
)
NO_MEMORY: Final = Refusal(
    "no_memory_for_kv_cache",
    "ValueError: No available memory for the cache blocks. Try increasing "
    "`gpu_memory_utilization` when initializing the engine (this flag also controls CPU memory "
    "reservation on the CPU backend, despite its name). See "
    "https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details.",
    "gpu_memory_utilization",
)
WEIGHTS_TOO_LARGE: Final = Refusal(
    "weights_exceed_budget",
    "Failed to load model - not enough GPU memory. Try lowering --gpu-memory-utilization to free "
    "memory for weights, increasing --tensor-parallel-size, or using --quantization. See "
    "https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more tips.",
    "tensor_parallel_size",
)


def free_memory_too_small(
    free_bytes: int, total_bytes: int, requested_bytes: int, utilization: float
) -> Refusal:
    """The refusal of a GPU on which less is free than the engine is to take."""
    return Refusal(
        "free_memory_too_small",
        f"ValueError: Free memory on device cuda:0 ({gib_text(free_bytes)}/{gib_text(total_bytes)}"
        f" GiB) on startup is less than desired GPU memory utilization ({utilization}, "
        f"{gib_text(requested_bytes)} GiB). Decrease GPU memory utilization or reduce GPU memory "
        "used by other processes.",
        "gpu_memory_utilization",
    )
