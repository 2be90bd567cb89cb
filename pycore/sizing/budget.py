"""One GPU's memory, from what the driver reports down to what is left for the KV cache.

The identity: pool = utilisation × total − weights − activations − non-torch − CUDA graphs (from
vLLM 0.20 on). It closes within 0.02 GiB on public start-up records that print every term.
"""

import math


def requested_bytes(*, total_bytes: int, gpu_memory_utilization: float) -> int:
    """What the engine may use: a share of the GPU's whole memory, not of what is free.

    Source: vLLM 0.33.0, v1/worker/utils.py, request_memory.
    """
    return math.ceil(total_bytes * gpu_memory_utilization)


def available_kv_cache_bytes(
    *,
    requested_bytes: int,
    loaded_weights_bytes: int,
    activation_bytes: int,
    non_torch_bytes: int,
    cuda_graph_bytes: int,
) -> int:
    """What is left for the KV cache.

    Where the engine takes CUDA graphs from the memory beyond the budget, they are 0 here: up to
    vLLM 0.19, and up to 0.28 where its V2 runner serves the model.
    Source: vLLM 0.33.0, v1/worker/gpu_worker.py, determine_available_memory.
    """
    return (
        requested_bytes
        - loaded_weights_bytes
        - activation_bytes
        - non_torch_bytes
        - cuda_graph_bytes
    )
