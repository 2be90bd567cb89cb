"""The range of every estimated figure, carried through to what follows from it."""

from pycore.engine.kv import capacity as kv_capacity
from pycore.engine.kv.groups import KVCachePlan
from pycore.sizing.budget import requested_bytes
from pycore.sizing.capacity import printed
from pycore.sizing.deployment import Deployment, total_range, workload_concurrency
from pycore.sizing.ledger import Ledger
from pycore.sizing.memory import StageMemory


def budget_bounds(deployment: Deployment) -> dict[str, tuple[float, float]]:
    """The range of the GPU's memory and of the share that the engine may use."""
    low, high = total_range(deployment.scenario, deployment.accelerator)
    if low == high:
        return {}
    share = deployment.settings.gpu_memory_utilization
    ends = [
        requested_bytes(total_bytes=total, gpu_memory_utilization=share) for total in (low, high)
    ]
    return {"total_bytes": (low, high), "requested_bytes": (ends[0], ends[1])}


def bounds_of(
    deployment: Deployment, plan: KVCachePlan, memories: tuple[StageMemory, ...]
) -> dict[str, tuple[float, float]]:
    """The range of every estimated figure, and of what follows from it."""
    first = min(memories, key=lambda memory: memory.available_kv_cache_bytes)
    terms = {
        "activation_bytes": first.activation,
        "cuda_graph_bytes": first.cuda_graphs,
        "non_torch_bytes": first.non_torch,
    }
    bounds: dict[str, tuple[float, float]] = {
        name: (term.low, term.high) for name, term in terms.items() if term.low != term.high
    }
    low = tuple(memory.available_low for memory in memories)
    high = tuple(memory.available_high for memory in memories)
    if low == high:
        return bounds
    bounds["available_kv_cache_bytes"] = (min(low), min(high))
    limit = deployment.model.model_limit_tokens
    held_back = deployment.settings.version.blocks_held_back
    ends = [kv_capacity.num_gpu_blocks(plan, available) for available in (low, high)]
    bounds["num_gpu_blocks"] = (ends[0], ends[1])
    longest = [
        kv_capacity.estimated_max_model_len(plan, blocks, limit, blocks_held_back=held_back)
        for blocks in ends
    ]
    bounds["longest_request_tokens"] = (longest[0], longest[1])
    workload = [workload_concurrency(deployment, plan, blocks) for blocks in ends]
    bounds["max_concurrency_for_workload"] = (workload[0], workload[1])
    longest_served = deployment.settings.max_model_len
    quiet, settings = Ledger(is_open=False), deployment.settings
    tokens = [printed(plan, b, longest_served, settings, quiet, "fitted")[0] for b in ends]
    bounds["kv_cache_size_tokens"] = (tokens[0], tokens[1])
    return bounds
