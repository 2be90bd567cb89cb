"""A scenario with every choice made: model, accelerator, settings and the plan of its KV pool."""

from dataclasses import dataclass
from typing import Final

from pycore.engine import overheads
from pycore.engine.cache_settings import CacheSettings
from pycore.engine.kv import capacity as kv_capacity
from pycore.engine.kv import formulas as kv_formulas
from pycore.engine.kv.groups import KVCachePlan
from pycore.engine.kv.specs import RequestLimits
from pycore.engine.runners import keeps_states
from pycore.engine.vllm import Settings, choose_settings
from pycore.errors import InvalidRequest
from pycore.hardware import accelerators
from pycore.hardware.accelerators import Accelerator
from pycore.model.catalogue import model_of
from pycore.model.model import Model
from pycore.scenario import Scenario
from pycore.sizing import budget
from pycore.sizing.kv_cache import KVPool, kv_pool
from pycore.sizing.ledger import Basis, Ledger
from pycore.units import ceil_div

# For none of NVIDIA's rules.
NO_CAPABILITY: Final = (0, 0)
BLACKWELL_MAJOR: Final = 10


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


def deployment_of(scenario: Scenario, ledger: Ledger) -> Deployment:
    """Model, accelerator and settings of a scenario."""
    model = model_of(scenario)
    accelerator = accelerator_of(scenario)
    settings = choose_settings(scenario, model, accelerator)
    measured = scenario.measured.total_bytes
    total = accelerator.total_bytes if measured is None else measured
    refuse_more_than_all(scenario, max(total, accelerator.total_range_bytes[1]))
    requested = ledger.noted(
        total_basis(scenario, accelerator),
        budget.requested_bytes,
        total_bytes=total,
        gpu_memory_utilization=settings.gpu_memory_utilization,
    )
    return Deployment(scenario, model, accelerator, settings, total, requested)


def refuse_more_than_all(scenario: Scenario, most_bytes: int) -> None:
    """Refuse free memory that no such accelerator has."""
    free = scenario.accelerator_free_bytes
    if free is not None and free > most_bytes:
        raise InvalidRequest(
            "accelerator_free_bytes",
            "out_of_range",
            f"accelerator_free_bytes must be at most the accelerator's memory, {most_bytes}, "
            f"not {free}",
        )


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


def total_range(scenario: Scenario, accelerator: Accelerator) -> tuple[int, int]:
    """The least and the most that such a GPU's driver may report: one figure where it is given.

    Error correction, virtual GPUs and drivers take their part of one that was seen; of one that
    was not, the range is what the total was derived from.
    """
    given = scenario.measured.total_bytes
    return accelerator.total_range_bytes if given is None else (given, given)


def total_basis(scenario: Scenario, accelerator: Accelerator) -> Basis:
    """How far the GPU's memory is to be trusted: given, seen on several real ones, or derived."""
    low, high = total_range(scenario, accelerator)
    if low == high:
        return "exact"
    return "fitted" if accelerator.total_is_measured else "assumed"


def free_at_start(deployment: Deployment) -> int:
    """Memory that is free when the engine looks: stated, or what its context surely leaves."""
    stated = deployment.scenario.accelerator_free_bytes
    surely_taken = overheads.taken_at_least(deployment.scenario.tensor_parallel_size)
    return max(0, deployment.total_bytes - surely_taken) if stated is None else stated


def pool_of(deployment: Deployment) -> KVPool:
    """The KV pool: what each layer keeps, and in which groups."""
    scenario, settings = deployment.scenario, deployment.settings
    return kv_pool(
        deployment.model,
        CacheSettings(
            dtype=settings.dtype,
            compute_capability=deployment.accelerator.compute_capability or NO_CAPABILITY,
            cdna_generation=deployment.accelerator.cdna_generation,
            max_model_len=settings.max_model_len,
            tensor_parallel_size=scenario.tensor_parallel_size,
            decode_context_parallel_size=scenario.decode_context_parallel_size,
            kv_cache_dtype=cache_dtype_of(deployment),
            block_size=scenario.block_size,
            enable_prefix_caching=keeps_prefixes(deployment),
            checkpointed_states=settings.version.checkpointed_states,
            mamba_ssm_cache_dtype=scenario.mamba_ssm_cache_dtype,
            use_mm_prefix=deployment.model.reads_pictures_both_ways
            and not scenario.language_model_only,
        ),
        scenario.pipeline_parallel_size,
        RequestLimits(
            max_in_flight_tokens=settings.max_in_flight_tokens,
            decode_context_parallel_size=scenario.decode_context_parallel_size,
            max_num_encoder_input_tokens=settings.max_num_batched_tokens,
        ),
        hybrid_kv_cache_manager=not scenario.disable_hybrid_kv_cache_manager,
    )


def keeps_prefixes(deployment: Deployment) -> bool:
    """Whether blocks of past requests are kept for reuse: as asked, else as the version does.

    Of models with states of fixed size, versions before 0.26 keep them when told to, and those
    before states could be copied at block ends never.
    Source: vLLM 0.25.1 and 0.26.0, config/model.py, is_prefix_caching_supported; vLLM 0.13.0,
    model_executor/models/config.py, MambaModelConfig.
    """
    asked = deployment.scenario.enable_prefix_caching
    if not keeps_states(deployment.model):
        return asked is not False
    rule = deployment.settings.version.hybrid_prefix_caching
    return rule != "never" and (rule == "default" if asked is None else asked)


def cache_dtype_of(deployment: Deployment) -> str:
    """The cache's format as the engine names it: ``auto`` where it is the model's own type.

    GLM-5 turns to fp8 by itself on Blackwell.
    Source: vLLM 0.33.0, model_executor/models/config.py, GlmMoeDsaForCausalLM.
    """
    settings, capability = deployment.settings, deployment.accelerator.compute_capability
    if settings.kv_cache_dtype != settings.dtype:
        return settings.kv_cache_dtype
    narrows = deployment.model.architecture == "GlmMoeDsaForCausalLM"
    on_blackwell = capability is not None and capability[0] == BLACKWELL_MAJOR
    if narrows and on_blackwell and deployment.scenario.kv_cache_dtype == "auto":
        return "fp8_e4m3"
    return "auto"


def plan_of(deployment: Deployment) -> KVCachePlan:
    """The plan of the KV pool."""
    return pool_of(deployment).plan


def block_size_of(deployment: Deployment) -> int:
    """Tokens of a block: asked for, or as the attention kernels and the states want it."""
    return pool_of(deployment).layers.block_size


def pool_basis(scenario: Scenario, accelerator: Accelerator) -> Basis:
    """How far the pool's size is to be trusted: exactly when it was given, else as its terms."""
    given = scenario.measured.available_kv_cache_bytes, scenario.kv_cache_memory_bytes
    if given != (None, None):
        return "exact"
    return "assumed" if total_basis(scenario, accelerator) == "assumed" else "fitted"


def workload_concurrency(deployment: Deployment, plan: KVCachePlan, blocks: int) -> float:
    """Requests of the workload's length that one replica holds at once."""
    per_request = kv_capacity.blocks_per_request(plan, deployment.workload_tokens)
    return kv_formulas.max_concurrency_for_workload(
        num_gpu_blocks=max(0, blocks),
        blocks_per_request=per_request,
        max_num_seqs=deployment.settings.max_num_seqs,
    )
