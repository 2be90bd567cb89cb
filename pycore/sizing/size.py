"""Will it start, how long a request, how many at once: one scenario sized on one kind of GPU."""

from dataclasses import dataclass, replace

from pycore.engine import kv_capacity
from pycore.engine.kv_groups import KVCachePlan
from pycore.engine.kv_specs import RequestLimits
from pycore.engine.refusals import (
    WEIGHTS_TOO_LARGE,
    Refusal,
    free_memory_too_small,
    shape_refusals,
)
from pycore.engine.vllm import Settings, choose_settings
from pycore.errors import InvalidRequest
from pycore.hardware import accelerators
from pycore.hardware.accelerators import Accelerator
from pycore.model.catalogue import model_of
from pycore.model.model import Model, num_active_parameters, num_parameters
from pycore.scenario import Scenario
from pycore.sizing import budget
from pycore.sizing.capacity import Capacity, marginal_bytes_per_token, pool_capacity
from pycore.sizing.explain import explain_kv, explain_weights
from pycore.sizing.kv_cache import DEFAULT_BLOCK_SIZE, kv_plan
from pycore.sizing.ledger import Basis, Ledger
from pycore.sizing.memory import StageMemory, stage_memory
from pycore.sizing.result import SizeResult, StageBar, Verdict
from pycore.sizing.weights import Ranks, StageWeights, stage_weights
from pycore.units import ceil_div

# A pool under this share of the GPU is called tight.
TIGHT_SHARE = 10


@dataclass(frozen=True, slots=True)
class Deployment:
    """A scenario with every choice made, before its memory is looked at."""

    scenario: Scenario
    model: Model
    accelerator: Accelerator
    settings: Settings
    total_bytes: int
    requested_bytes: int

    @property
    def workload_tokens(self) -> int:
        """Tokens of one request of the workload when it is done."""
        return self.scenario.input_tokens + self.scenario.output_tokens

    @property
    def concurrency_per_replica(self) -> int:
        """Requests at once that each replica is asked to hold."""
        return ceil_div(self.scenario.concurrency, self.scenario.data_parallel_size)


def size(scenario: Scenario) -> SizeResult:
    """The answer to ``size``: a result, also when the engine would refuse.

    Raises ``InvalidRequest`` for a scenario that cannot be read.
    """
    ledger = Ledger(is_open=scenario.figures)
    deployment = deployment_of(scenario, ledger)
    refusals = shape_refusals(
        scenario, deployment.model, deployment.settings, deployment.accelerator
    )
    free = scenario.accelerator_free_bytes
    if free is not None and free < deployment.requested_bytes:
        refusals += (
            free_memory_too_small(
                free,
                deployment.total_bytes,
                deployment.requested_bytes,
                deployment.settings.gpu_memory_utilization,
            ),
        )
    if refusals:
        return refused_for_shape(deployment, refusals, ledger)
    return sized(deployment, ledger)


def deployment_of(scenario: Scenario, ledger: Ledger) -> Deployment:
    """Model, accelerator and settings of a scenario."""
    model = model_of(scenario)
    accelerator = accelerator_of(scenario)
    settings = choose_settings(scenario, model, accelerator)
    measured = scenario.measured.total_bytes
    total = accelerator.total_bytes if measured is None else measured
    requested = ledger.exact(
        budget.requested_bytes,
        total_bytes=total,
        gpu_memory_utilization=settings.gpu_memory_utilization,
    )
    return Deployment(scenario, model, accelerator, settings, total, requested)


def accelerator_of(scenario: Scenario) -> Accelerator:
    """The accelerator of the catalogue, or one of the user's own."""
    if scenario.accelerator is not None and scenario.accelerator_total_bytes is not None:
        raise InvalidRequest(
            "accelerator", "conflict", "give an accelerator or accelerator_total_bytes, not both"
        )
    if scenario.accelerator_total_bytes is not None:
        return accelerators.custom(scenario.accelerator_total_bytes)
    if scenario.accelerator is None:
        raise InvalidRequest(
            "accelerator", "missing", "name an accelerator, or give accelerator_total_bytes"
        )
    return accelerators.find(scenario.accelerator)


def sized(deployment: Deployment, ledger: Ledger) -> SizeResult:
    """The result of a deployment whose shape the engine accepts."""
    scenario, model, settings = deployment.scenario, deployment.model, deployment.settings
    ranks = ranks_of(scenario)
    stages = stage_weights(model, ranks, settings.dtype, settings.quantization)
    explain_weights(max(stages, key=lambda stage: stage.num_bytes), ledger)
    memories = stage_memories(deployment, stages, ledger)
    plan = plan_of(deployment)
    explain_kv(model, settings, scenario, ledger)
    available = tuple(memory.available_kv_cache_bytes for memory in memories)
    basis = pool_basis(scenario)
    capacity = pool_capacity(plan, available, settings, model.model_limit_tokens, ledger, basis)
    decider = min(range(len(stages)), key=lambda stage: available[stage])
    memory = memories[decider]
    workload = workload_concurrency(deployment, plan, capacity.num_gpu_blocks)
    refusals, verdict, reason = judge(deployment, memory, capacity, workload)
    starts = not refusals
    known = verdict != "does_not_fit"
    return replace(
        base_result(deployment, verdict, refusals, ledger),
        starts=starts,
        reason=reason,
        weights_bytes_per_rank=max(stage.num_bytes for stage in stages),
        weights_bytes_by_stage=tuple(stage.num_bytes for stage in stages),
        loaded_weights_bytes_per_rank=max(item.weights_bytes for item in memories),
        activation_bytes=memory.activation.value,
        cuda_graph_bytes=memory.cuda_graphs.value,
        non_torch_bytes=memory.non_torch.value,
        available_kv_cache_bytes=memory.available_kv_cache_bytes,
        kv_cache_bytes_per_token_per_rank=marginal_bytes_per_token(
            plan, model.model_limit_tokens
        ),
        block_size=scenario.block_size or DEFAULT_BLOCK_SIZE,
        kv_cache_bytes_per_block=max(plan.bytes_per_block_by_stage),
        num_gpu_blocks=capacity.num_gpu_blocks if known else None,
        max_model_len=capacity.max_model_len,
        kv_cache_size_tokens=capacity.kv_cache_size_tokens if starts else None,
        kv_cache_max_concurrency=capacity.max_concurrency if starts else None,
        needed_kv_cache_bytes=capacity.needed_bytes,
        estimated_max_model_len=capacity.estimated_max_model_len if known else None,
        longest_request_tokens=capacity.longest_request_tokens if known else None,
        max_concurrency_for_workload=workload if known else None,
        bounds=bounds_of(deployment, plan, memories) if known else {},
        memory_by_stage=bars(deployment, stages, memories, plan, capacity.num_gpu_blocks),
        chosen=chosen_of(deployment, capacity.max_model_len),
        figures=tuple(ledger.figures) if ledger.is_open else None,
    )


def ranks_of(scenario: Scenario) -> Ranks:
    """How the scenario spreads its model."""
    return Ranks(
        scenario.tensor_parallel_size,
        scenario.pipeline_parallel_size,
        scenario.data_parallel_size,
        scenario.enable_expert_parallel,
    )


def stage_memories(
    deployment: Deployment, stages: tuple[StageWeights, ...], ledger: Ledger
) -> tuple[StageMemory, ...]:
    """The memory of one GPU of each stage; the first stage's arithmetic is written down."""
    quiet = Ledger(is_open=False)
    return tuple(
        stage_memory(
            deployment.scenario,
            deployment.settings,
            deployment.model,
            deployment.accelerator,
            stage,
            deployment.requested_bytes,
            ledger if index == 0 else quiet,
        )
        for index, stage in enumerate(stages)
    )


def plan_of(deployment: Deployment) -> KVCachePlan:
    """The plan of the KV pool."""
    scenario, settings = deployment.scenario, deployment.settings
    return kv_plan(
        deployment.model,
        settings.kv_cache_dtype,
        scenario.block_size or DEFAULT_BLOCK_SIZE,
        scenario.tensor_parallel_size,
        scenario.pipeline_parallel_size,
        RequestLimits(
            max_in_flight_tokens=settings.max_in_flight_tokens,
            decode_context_parallel_size=scenario.decode_context_parallel_size,
        ),
    )


def pool_basis(scenario: Scenario) -> Basis:
    """How far the pool's size is to be trusted: exactly when it was given."""
    given = scenario.measured.available_kv_cache_bytes, scenario.kv_cache_memory_bytes
    return "fitted" if given == (None, None) else "exact"


def workload_concurrency(deployment: Deployment, plan: KVCachePlan, blocks: int) -> float:
    """Requests of the workload's length that one replica holds at once."""
    per_request = kv_capacity.blocks_per_request(plan, deployment.workload_tokens)
    return min(max(0, blocks) / per_request, float(deployment.settings.max_num_seqs))


def judge(
    deployment: Deployment, memory: StageMemory, capacity: Capacity, workload: float
) -> tuple[tuple[Refusal, ...], Verdict, dict[str, object]]:
    """The refusals, the verdict, and why."""
    requested = deployment.requested_bytes
    if memory.weights_bytes >= requested and pool_basis(deployment.scenario) == "fitted":
        reason = {"weights_bytes": memory.weights_bytes, "requested_bytes": requested}
        kind = "weights_exceed_budget"
        return (WEIGHTS_TOO_LARGE,), "does_not_fit", {"kind": kind, **reason}
    if capacity.refusal is not None and memory.available_kv_cache_bytes <= 0:
        short = -memory.available_kv_cache_bytes
        kind = "fixed_terms_exceed_budget"
        return (capacity.refusal,), "does_not_fit", {"kind": kind, "short_bytes": short}
    if capacity.refusal is not None:
        return (capacity.refusal,), "refused", {
            "kind": "kv_cache_too_small",
            "needed_kv_cache_bytes": capacity.needed_bytes,
            "available_kv_cache_bytes": memory.available_kv_cache_bytes,
            "max_model_len": capacity.max_model_len,
        }
    if workload < deployment.concurrency_per_replica:
        return (), "tight", {
            "kind": "concurrency_short",
            "max_concurrency_for_workload": workload,
            "concurrency": deployment.concurrency_per_replica,
        }
    pool = {"available_kv_cache_bytes": memory.available_kv_cache_bytes}
    if memory.available_kv_cache_bytes * TIGHT_SHARE < deployment.total_bytes:
        return (), "tight", {"kind": "pool_small", **pool}
    return (), "fits", {"kind": "room_to_spare", **pool}


def base_result(
    deployment: Deployment, verdict: Verdict, refusals: tuple[Refusal, ...], ledger: Ledger
) -> SizeResult:
    """What is known of any deployment, whatever its memory holds."""
    scenario, model = deployment.scenario, deployment.model
    return SizeResult(
        verdict=verdict,
        starts=False,
        reason={"kind": refusals[0].kind} if refusals else {},
        refusals=refusals,
        model_name=model.name,
        model_limit_tokens=model.model_limit_tokens,
        num_accelerators=scenario.tensor_parallel_size
        * scenario.pipeline_parallel_size
        * scenario.data_parallel_size,
        num_parameters=num_parameters(model),
        num_active_parameters=num_active_parameters(model),
        weights_bytes_per_rank=None,
        weights_bytes_by_stage=None,
        loaded_weights_bytes_per_rank=None,
        total_bytes=deployment.total_bytes,
        requested_bytes=deployment.requested_bytes,
        activation_bytes=None,
        cuda_graph_bytes=None,
        non_torch_bytes=None,
        available_kv_cache_bytes=None,
        kv_cache_bytes_per_token_per_rank=None,
        block_size=scenario.block_size,
        kv_cache_bytes_per_block=None,
        num_gpu_blocks=None,
        max_model_len=deployment.settings.max_model_len,
        kv_cache_size_tokens=None,
        kv_cache_max_concurrency=None,
        needed_kv_cache_bytes=None,
        estimated_max_model_len=None,
        longest_request_tokens=None,
        max_concurrency_for_workload=None,
        architecture=model.architecture_numbers,
        chosen=chosen_of(deployment, deployment.settings.max_model_len),
        notes=notes_of(deployment),
        figures=tuple(ledger.figures) if ledger.is_open else None,
    )


def refused_for_shape(
    deployment: Deployment, refusals: tuple[Refusal, ...], ledger: Ledger
) -> SizeResult:
    """The result of a deployment that the engine refuses before it loads anything."""
    return base_result(deployment, "refused", refusals, ledger)


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
    tokens = [kv_capacity.kv_cache_capacity(plan, b, longest_served)[0] for b in ends]
    bounds["kv_cache_size_tokens"] = (tokens[0], tokens[1])
    return bounds


def bars(
    deployment: Deployment,
    stages: tuple[StageWeights, ...],
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


def chosen_of(deployment: Deployment, max_model_len: int) -> dict[str, object]:
    """What every choice that was left to the engine became."""
    scenario, settings = deployment.scenario, deployment.settings
    return {
        "gpu_memory_utilization": settings.gpu_memory_utilization,
        "max_num_seqs": settings.max_num_seqs,
        "max_num_batched_tokens": settings.max_num_batched_tokens,
        "block_size": scenario.block_size or DEFAULT_BLOCK_SIZE,
        "max_model_len": max_model_len,
        "dtype": settings.dtype,
        "quantization": settings.quantization.method if settings.quantization else None,
        "kv_cache_dtype": settings.kv_cache_dtype,
        "accelerators_per_node": scenario.accelerators_per_node
        or deployment.accelerator.accelerators_per_node,
        "accelerator": deployment.accelerator.name,
        "engine_version": scenario.engine_version,
    }


def notes_of(deployment: Deployment) -> tuple[dict[str, str], ...]:
    """What a reader should know before trusting the figures."""
    notes = []
    accelerator, model, scenario = deployment.accelerator, deployment.model, deployment.scenario
    if not accelerator.total_is_measured and scenario.measured.total_bytes is None:
        notes.append(
            {
                "kind": "assumed_total_bytes",
                "message": f"The memory of {accelerator.name} is assumed, not read off a real "
                "one: no public log that prints it was found.",
            }
        )
    # An absent flag that is off says nothing new; any other default decides a figure.
    decisive = {name: value for name, value in model.defaulted.items() if value is not False}
    if decisive:
        named = ", ".join(f"{name} = {value}" for name, value in decisive.items())
        notes.append(
            {
                "kind": "defaulted_fields",
                "message": f"The config leaves out: {named} (transformers' own default).",
            }
        )
    if not deployment.settings.version.established:
        notes.append(
            {
                "kind": "version_not_established",
                "message": f"No record of vLLM {scenario.engine_version} was seen: its overheads "
                "are taken from the versions around it.",
            }
        )
    if deployment.workload_tokens > deployment.settings.max_model_len:
        notes.append(
            {
                "kind": "workload_longer_than_max_model_len",
                "message": f"A request of {deployment.workload_tokens} tokens is longer than "
                f"max_model_len ({deployment.settings.max_model_len}): the engine rejects it.",
            }
        )
    return tuple(notes)

