"""Refusals of ranks that would share one request's tokens.

Source: vLLM 0.33.0, config/model.py (verify_with_parallel_config), config/parallel.py.
"""

from pycore.engine.refusals.refusal import Refusal
from pycore.model.layers import SlidingWindowAttention
from pycore.model.model import Model
from pycore.scenario import Scenario


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
