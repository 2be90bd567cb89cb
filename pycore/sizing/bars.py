"""The memory of one GPU of each stage, in the parts that the page draws."""

from pycore.engine.kv import capacity as kv_capacity
from pycore.engine.kv.groups import KVCachePlan
from pycore.sizing.deployment import Deployment
from pycore.sizing.memory import StageMemory
from pycore.sizing.result import StageBar


def bars(
    deployment: Deployment,
    memories: tuple[StageMemory, ...],
    plan: KVCachePlan,
    blocks: int,
) -> tuple[StageBar, ...]:
    """The memory of one GPU of each stage, in the parts that the page draws."""
    per_request = kv_capacity.blocks_per_request(plan, deployment.workload_tokens)
    in_use = min(max(0, blocks), deployment.concurrency_per_replica * per_request)
    drawn = []
    for index, memory in enumerate(memories):
        pool = max(0, memory.available_kv_cache_bytes)
        used = min(pool, in_use * plan.bytes_per_block_by_stage[index])
        fixed = (
            memory.weights_bytes
            + memory.cuda_graphs.value
            + memory.activation.value
            + memory.non_torch.value
        )
        over = max(0, -memory.available_kv_cache_bytes)
        drawn.append(
            StageBar(
                stage=index,
                num_ranks=deployment.scenario.tensor_parallel_size,
                total_bytes=deployment.total_bytes,
                budget_bytes=deployment.requested_bytes,
                weights_bytes=memory.weights_bytes,
                cuda_graph_bytes=memory.cuda_graphs.value,
                activation_bytes=memory.activation.value,
                non_torch_bytes=memory.non_torch.value,
                kv_cache_in_use_bytes=used,
                kv_cache_free_bytes=pool - used,
                outside_budget_bytes=max(0, deployment.total_bytes - fixed - pool),
                over_budget_bytes=over,
            )
        )
    return tuple(drawn)
