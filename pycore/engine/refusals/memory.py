"""Refusals of memory: too little is free, the weights leave nothing, the pool is too small."""

from typing import Final

from pycore.engine.refusals.refusal import Refusal
from pycore.units import gib

MORE_ROOM: Final = (
    "Try increasing `gpu_memory_utilization` (which also controls CPU memory on the CPU backend) "
    "or decreasing `max_model_len` when initializing the engine. See "
    "https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."
)


def printed_gib(num_bytes: int) -> str:
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
        f"({max_model_len}), ({printed_gib(needed_bytes)} GiB KV cache is needed, which is larger "
        f"than the available KV cache memory ({printed_gib(available_bytes)} GiB). {estimate}"
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
        f"ValueError: Free memory on device cuda:0 ({printed_gib(free_bytes)}/{printed_gib(total_bytes)}"
        f" GiB) on startup is less than desired GPU memory utilization ({utilization}, "
        f"{printed_gib(requested_bytes)} GiB). Decrease GPU memory utilization or reduce GPU memory "
        "used by other processes.",
        "gpu_memory_utilization",
    )
