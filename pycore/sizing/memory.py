"""One GPU of each pipeline stage: what takes its memory, and within which range."""

from dataclasses import dataclass

from pycore.engine import overheads
from pycore.engine.overheads import Estimate
from pycore.engine.vllm import Settings
from pycore.hardware.accelerators import Accelerator
from pycore.model.model import Model
from pycore.scenario import Scenario
from pycore.sizing import budget
from pycore.sizing.ledger import Ledger
from pycore.sizing.weights import StageWeights
from pycore.units import GIB


@dataclass(frozen=True, slots=True)
class StageMemory:
    """The memory of one GPU of a stage before the KV cache is laid out.

    ``cuda_graphs_in_budget`` is 0 where the engine takes graphs from beyond its budget.
    """

    weights_bytes: int
    activation: Estimate
    cuda_graphs: Estimate
    cuda_graph_bytes_in_budget: int
    non_torch: Estimate
    available_kv_cache_bytes: int
    available_low: int
    available_high: int


def exactly(value: int) -> Estimate:
    """A figure that was measured: no range."""
    return Estimate(value, value, value)


def stage_memory(
    scenario: Scenario,
    settings: Settings,
    model: Model,
    accelerator: Accelerator,
    stage: StageWeights,
    requested: int,
    ledger: Ledger,
) -> StageMemory:
    """What takes the memory of one GPU of ``stage``, and what is left for the KV cache."""
    measured = scenario.measured
    activation = activation_of(scenario, settings, model, ledger)
    graphs = cuda_graphs_of(scenario, settings, stage, ledger)
    other = non_torch_of(scenario, settings, accelerator, ledger)
    in_budget = graphs if settings.version.cuda_graphs_in_budget else exactly(0)
    weights = measured.weights_bytes_per_rank
    loaded = stage.loaded_bytes if weights is None else weights
    given = measured.available_kv_cache_bytes
    given = scenario.kv_cache_memory_bytes if given is None else given
    if given is not None:
        available, low, high = given, given, given
    else:
        available = ledger.noted(
            "fitted",
            budget.available_kv_cache_bytes,
            requested_bytes=requested,
            loaded_weights_bytes=loaded,
            activation_bytes=activation.value,
            non_torch_bytes=other.value,
            cuda_graph_bytes=in_budget.value,
        )
        spread = (activation, other, in_budget)
        low = requested - loaded - sum(term.high for term in spread)
        high = requested - loaded - sum(term.low for term in spread)
    return StageMemory(loaded, activation, graphs, in_budget.value, other, available, low, high)


def activation_of(scenario: Scenario, settings: Settings, model: Model, ledger: Ledger) -> Estimate:
    """The activation peak: measured, or estimated."""
    measured = scenario.measured.activation_bytes
    if measured is not None:
        return exactly(measured)
    if ledger.is_open:
        ledger.fitted(
            overheads.activation_bytes,
            sampler_factor=settings.version.sampler_factor,
            max_num_seqs=settings.max_num_seqs,
            vocab_size=model.vocab_size,
            max_num_batched_tokens=settings.max_num_batched_tokens,
            hidden_size=model.hidden_size,
        )
    return overheads.estimate_activation(settings, model.vocab_size, model.hidden_size)


def cuda_graphs_of(
    scenario: Scenario, settings: Settings, stage: StageWeights, ledger: Ledger
) -> Estimate:
    """Memory for CUDA graphs: none when eager, measured, or estimated."""
    if scenario.enforce_eager:
        return exactly(0)
    measured = scenario.measured.cuda_graph_bytes
    if measured is not None:
        return exactly(measured)
    if ledger.is_open:
        ledger.fitted(
            overheads.cuda_graph_bytes,
            num_layers=stage.num_layers,
            num_capture_sizes=overheads.num_capture_sizes(
                settings.max_num_seqs, settings.max_num_batched_tokens
            ),
        )
    return overheads.estimate_cuda_graphs(settings, stage.num_layers)


def non_torch_of(
    scenario: Scenario, settings: Settings, accelerator: Accelerator, ledger: Ledger
) -> Estimate:
    """Memory outside the tensor library: measured, or estimated."""
    measured = scenario.measured.non_torch_bytes
    if measured is not None:
        return exactly(measured)
    gibs = overheads.non_torch_gib(
        settings.version,
        accelerator,
        scenario.tensor_parallel_size,
        scenario.pipeline_parallel_size,
    )
    value = ledger.fitted(budget.non_torch_bytes, non_torch_gib=gibs)
    spread = GIB // 5 if scenario.tensor_parallel_size == 1 else GIB * 7 // 10
    return Estimate(value, max(0, value - spread), value + spread)
