"""Will it start, how long a request, how many at once: one scenario sized on one kind of GPU."""

from dataclasses import dataclass, replace

from pycore.engine.attention.backends import NoAttentionBackendError
from pycore.engine.kv.capacity import needed_bytes
from pycore.engine.kv.groups import KVCachePlan
from pycore.engine.kv.pages import PagesDoNotUnifyError
from pycore.engine.refusals.architecture import architecture_refusals
from pycore.engine.refusals.before_loading import shape_refusals
from pycore.engine.refusals.cache import cache_refusal
from pycore.engine.refusals.memory import free_memory_too_small
from pycore.engine.refusals.refusal import Refusal
from pycore.engine.shards import ranks_of
from pycore.scenario import Scenario
from pycore.sizing.bars import bars
from pycore.sizing.bounds import bounds_of
from pycore.sizing.capacity import Capacity, marginal_bytes_per_token, pool_capacity
from pycore.sizing.contrast import contrast
from pycore.sizing.deployment import (
    Deployment,
    block_size_of,
    deployment_of,
    free_at_start,
    plan_of,
    pool_basis,
    pool_of,
    workload_concurrency,
)
from pycore.sizing.explain import explain_kv, explain_pool, explain_weights
from pycore.sizing.known import known_already
from pycore.sizing.ledger import Ledger
from pycore.sizing.memory import StageMemory, stage_memory
from pycore.sizing.notes import low_end_note, warm_up_note
from pycore.sizing.profiling_run import Run
from pycore.sizing.result import SizeResult
from pycore.sizing.verdict import judge
from pycore.sizing.weights import StageWeights, stage_weights


@dataclass(frozen=True, slots=True)
class Sizing:
    """A deployment whose shape the engine accepts, with its memory laid out."""

    deployment: Deployment
    stages: tuple[StageWeights, ...]
    memories: tuple[StageMemory, ...]
    plan: KVCachePlan
    capacity: Capacity

    @property
    def deciding_memory(self) -> StageMemory:
        """The memory of the stage that has least left for the KV cache."""
        return min(self.memories, key=lambda memory: memory.available_kv_cache_bytes)


def size(scenario: Scenario) -> SizeResult:
    """The answer to ``size``: a result, also when the engine would refuse.

    Raises ``InvalidRequest`` for a scenario that cannot be read.
    """
    ledger = Ledger(is_open=scenario.figures)
    deployment = deployment_of(scenario, ledger)
    refusals = refusals_before_loading(deployment)
    if refusals:
        return known_already(deployment, "refused", refusals, ledger)
    return result_of(sizing_of(deployment, ledger), ledger)


def refusals_before_loading(deployment: Deployment) -> tuple[Refusal, ...]:
    """Every reason for which the engine stops before it loads a byte."""
    scenario, settings = deployment.scenario, deployment.settings
    refusals = (
        *architecture_refusals(scenario, deployment.model),
        *shape_refusals(scenario, deployment.model, settings, deployment.accelerator),
    )
    try:
        pool_of(deployment)
    except (NoAttentionBackendError, PagesDoNotUnifyError) as error:
        refusals = (*refusals, cache_refusal(error, deployment.accelerator))
    free = free_at_start(deployment)
    if free >= deployment.requested_bytes:
        return refusals
    too_small = free_memory_too_small(
        free,
        deployment.total_bytes,
        deployment.requested_bytes,
        settings.gpu_memory_utilization,
    )
    return (*refusals, too_small)


def sizing_of(deployment: Deployment, ledger: Ledger) -> Sizing:
    """Weights, memory and KV pool of every stage."""
    model, settings = deployment.model, deployment.settings
    stages = stage_weights(
        model,
        ranks_of(deployment.scenario, deployment.accelerator),
        settings.dtype,
        settings.quantization,
    )
    explain_weights(max(stages, key=lambda stage: stage.num_bytes), ledger)
    memories = stage_memories(deployment, stages, ledger)
    plan = plan_of(deployment)
    explain_kv(deployment, plan, ledger)
    capacity = pool_capacity(
        plan,
        tuple(memory.available_kv_cache_bytes for memory in memories),
        settings,
        model.model_limit_tokens,
        ledger,
        pool_basis(deployment.scenario, deployment.accelerator),
    )
    return Sizing(deployment, stages, memories, plan, capacity)


def result_of(sizing: Sizing, ledger: Ledger) -> SizeResult:
    """The figures of a sizing, under the contract's names."""
    deployment, capacity, plan = sizing.deployment, sizing.capacity, sizing.plan
    memory = sizing.deciding_memory
    blocks = capacity.num_gpu_blocks
    workload = workload_concurrency(deployment, plan, blocks)
    explain_pool(deployment, plan, capacity, ledger)
    refusals, verdict, reason = judge(deployment, memory, capacity, workload)
    starts = not refusals
    known = verdict != "does_not_fit"
    by_stage = tuple(stage.num_bytes for stage in sizing.stages)
    limit = deployment.model.model_limit_tokens
    bounds = bounds_of(deployment, plan, sizing.memories) if known else {}
    base = known_already(deployment, verdict, refusals, ledger)
    return replace(
        base,
        notes=base.notes
        + (
            (*low_end_note(deployment, bounds), *warm_up_note(deployment, memory)) if starts else ()
        ),
        starts=starts,
        reason=reason,
        weights_bytes_per_rank=max(by_stage),
        weights_bytes_by_stage=by_stage,
        loaded_weights_bytes_per_rank=max(item.weights_bytes for item in sizing.memories),
        activation_bytes=memory.activation.value,
        cuda_graph_bytes=memory.cuda_graphs.value,
        non_torch_bytes=memory.non_torch.value,
        available_kv_cache_bytes=memory.available_kv_cache_bytes,
        kv_cache_bytes_per_token_per_rank=marginal_bytes_per_token(plan, limit),
        block_size=block_size_of(deployment),
        kv_cache_bytes_for_workload=needed_bytes(plan, deployment.workload_tokens),
        kv_cache_bytes_per_block=max(plan.bytes_per_block_by_stage),
        num_gpu_blocks=blocks if starts else None,
        max_model_len=capacity.max_model_len,
        kv_cache_size_tokens=capacity.kv_cache_size_tokens,
        kv_cache_max_concurrency=capacity.max_concurrency,
        needed_kv_cache_bytes=capacity.needed_bytes,
        estimated_max_model_len=capacity.estimated_max_model_len if known else None,
        longest_request_tokens=capacity.longest_request_tokens if known else None,
        max_concurrency_for_workload=workload if known else None,
        bounds={**base.bounds, **bounds},
        plain_formula=contrast(deployment, plan, capacity.max_model_len, capacity.needed_bytes),
        memory_by_stage=bars(deployment, sizing.memories, plan, blocks),
        chosen={**base.chosen, "max_model_len": capacity.max_model_len},
    )


def stage_memories(
    deployment: Deployment, stages: tuple[StageWeights, ...], ledger: Ledger
) -> tuple[StageMemory, ...]:
    """The memory of one GPU of each stage; of the one that decides, the arithmetic too."""
    quiet = Ledger(is_open=False)
    memories = tuple(
        memory_of(deployment, index, stage, quiet) for index, stage in enumerate(stages)
    )
    if ledger.is_open:
        available = [memory.available_kv_cache_bytes for memory in memories]
        decides = available.index(min(available))
        memory_of(deployment, decides, stages[decides], ledger)
    return memories


def memory_of(
    deployment: Deployment, index: int, stage: StageWeights, ledger: Ledger
) -> StageMemory:
    """The memory of one GPU of a stage, the stage's place among the others given."""
    run = Run(
        deployment.scenario,
        deployment.settings,
        deployment.model,
        deployment.accelerator,
        index,
    )
    return stage_memory(run, stage, deployment.requested_bytes, ledger)
