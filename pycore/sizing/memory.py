"""One GPU of each pipeline stage: what takes its memory, and within which range."""

import math
from dataclasses import dataclass
from typing import Final

from pycore.engine import cuda_graphs, overheads
from pycore.engine.overheads import Estimate, around, exactly, learnt, learnt_bytes
from pycore.engine.runners import is_moe, keeps_states, takes_cuda_graphs_from_budget
from pycore.model.latent import CompressedAttention, LatentAttention
from pycore.model.model import Model, distinct_layers
from pycore.scenario import Measured
from pycore.sizing import budget
from pycore.sizing.deployment import pool_basis, total_range
from pycore.sizing.kept_tensors import works_without_workspace
from pycore.sizing.ledger import Ledger
from pycore.sizing.profiling import Profiled, profiled
from pycore.sizing.profiling_run import Run
from pycore.sizing.weights import StageWeights

# What a version that was not established adds to the ranges of its terms.
WIDER: Final = 2


@dataclass(frozen=True, slots=True)
class StageMemory:
    """The memory of one GPU of a stage before the KV cache is laid out.

    ``cuda_graph_bytes_in_budget`` is 0 where the engine takes graphs from beyond its budget.
    """

    weights_bytes: int
    activation: Estimate
    cuda_graphs: Estimate
    cuda_graph_bytes_in_budget: int
    non_torch: Estimate
    available_kv_cache_bytes: int
    available_low: int
    available_high: int
    warm_up_bytes: int
    """What starting takes beyond the budget: graphs not counted, sampling not profiled."""


def stage_memory(
    run: Run,
    stage: StageWeights,
    requested: int,
    ledger: Ledger,
) -> StageMemory:
    """What takes the memory of one GPU of ``stage``, and what is left for the KV cache."""
    measured = run.scenario.measured
    profile = profiled(run, ledger)
    graphs = cuda_graphs_of(run, stage, ledger)
    activation = activation_of(run, profile, graphs)
    counted = takes_cuda_graphs_from_budget(
        run.settings.version, run.accelerator, v2_runner=run.settings.v2_runner
    )
    in_budget = graphs if counted else exactly(0)
    other = non_torch_of(run, profile, ledger)
    weights = measured.weights_bytes_per_rank
    loaded = stage.loaded_bytes if weights is None else weights
    available = available_of(run, requested, loaded, (activation, other, in_budget), ledger)
    # Experts that allocate as they go still held what was profiled when sampling began and died.
    spare = 0 if works_without_workspace(run) else activation.value - profile.forward_bytes
    not_profiled = max(0, profile.sampling_bytes - spare) + learnt_bytes("kernel_warm_up_bytes")
    return StageMemory(
        loaded,
        activation,
        graphs,
        in_budget.value,
        other,
        available.value,
        available.low,
        available.high,
        graphs.value - in_budget.value + not_profiled,
    )


def budget_of(run: Run, requested: int) -> Estimate:
    """The budget, with what other drivers and hosts report of the same GPU as its range.

    Error correction, virtual GPUs and Windows change the total: 44.38 to 44.52 GiB on an L40S.
    Who measured anything has one GPU, whose total it is.
    """
    low, high = total_range(run.scenario, run.accelerator)
    total, share = run.accelerator.total_bytes, run.settings.gpu_memory_utilization
    if low == high or run.scenario.measured != Measured():
        return exactly(requested)
    return around(requested, share * max(0, total - low), share * max(0, high - total))


def available_of(
    run: Run,
    requested: int,
    loaded: int,
    terms: tuple[Estimate, Estimate, Estimate],
    ledger: Ledger,
) -> Estimate:
    """What is left for the KV cache: given, or the budget less its terms.

    The terms err independently, so their ranges add up as the sides of right triangles do.
    """
    scenario = run.scenario
    given = scenario.measured.available_kv_cache_bytes
    given = scenario.kv_cache_memory_bytes if given is None else given
    if given is not None:
        return exactly(given)
    activation, other, graphs = terms
    value = ledger.noted(
        pool_basis(scenario, run.accelerator),
        budget.available_kv_cache_bytes,
        requested_bytes=requested,
        loaded_weights_bytes=loaded,
        activation_bytes=activation.value,
        non_torch_bytes=other.value,
        cuda_graph_bytes=graphs.value,
    )
    limit = budget_of(run, requested)
    below = math.hypot(limit.value - limit.low, *(term.high - term.value for term in terms))
    above = math.hypot(limit.high - limit.value, *(term.value - term.low for term in terms))
    return Estimate(value, math.floor(value - below), math.ceil(value + above))


def activation_of(run: Run, profile: Profiled, graphs: Estimate) -> Estimate:
    """The activation peak: measured, or estimated.

    A start that finds the compiled model in its cache makes no copy of the embedding. What sparse
    and compressed latent attention take was not learnt from any run. Where V2 serves a model by
    default, features that a request does not name turn to V1, which profiles the sampler and
    takes graphs from the budget: the range reaches to it.
    """
    measured = run.scenario.measured.activation_bytes
    if measured is not None:
        return exactly(measured)
    value = profile.peak_bytes
    each = learnt("activation_error_bytes") + learnt("activation_error_share") * value
    each *= 1 if run.settings.version.established else WIDER
    beyond = learnt_bytes("sparse_activation_bytes") if is_unseen(run.model) else 0
    if run.settings.v2_runner and run.settings.version.v2_runner != "always":
        beyond += graphs.value + max(0, profile.sampling_bytes - profile.forward_bytes)
    return Estimate(value, max(0, int(profile.least_peak_bytes - each)), int(value + each + beyond))


def is_unseen(model: Model) -> bool:
    """Whether the model's attention is of a kind that no run with printed terms had."""
    return any(
        isinstance(layer.mixer, CompressedAttention)
        or (isinstance(layer.mixer, LatentAttention) and layer.mixer.indexer is not None)
        for layer in distinct_layers(model)
    )


def cuda_graphs_of(run: Run, stage: StageWeights, ledger: Ledger) -> Estimate:
    """Memory for CUDA graphs: none when eager, measured, or estimated."""
    if run.scenario.enforce_eager:
        return exactly(0)
    measured = run.scenario.measured.cuda_graph_bytes
    if measured is not None:
        return exactly(measured)
    graphs = cuda_graphs.num_cuda_graphs(
        run.settings.max_num_seqs, run.settings.max_num_batched_tokens
    )
    pool, each = graph_names(run)
    value = ledger.fitted(
        cuda_graphs.cuda_graph_bytes,
        pool_bytes=learnt_bytes(pool),
        num_cuda_graphs=graphs,
        num_layers=stage.num_layers,
        bytes_per_graph_and_layer=learnt_bytes(each) if each else 0,
    )
    share = learnt("graph_error_share")
    return around(value, share * value / (1 + share), share * value)


def graph_names(run: Run) -> tuple[str, str | None]:
    """The learnt constants of the pool of CUDA graphs and of each graph and layer.

    Of V2's estimates only models of 30 and 32 layers are known: no growth with layers is learnt.
    """
    version = run.settings.version
    if run.settings.v2_runner and version.v2_cuda_graphs_in_budget:
        return "v2_graph_pool_bytes", None
    if version.cuda_graphs_in_budget:
        states = keeps_states(run.model)
        return "graph_pool_bytes", "state_graph_layer_bytes" if states else "graph_layer_bytes"
    return "older_graph_pool_bytes", "older_graph_layer_bytes"


def leaves_slack(run: Run) -> bool:
    """Whether blocks that loading gave back in part count as taken.

    Weights that are laid out anew, quantised ones and routed experts, leave holes in what the
    tensor library reserved.
    """
    lays_out_anew = run.settings.quantization is not None or is_moe(run.model)
    return run.settings.version.counts_consumed and lays_out_anew


def non_torch_of(run: Run, profile: Profiled, ledger: Ledger) -> Estimate:
    """Memory outside the tensor library: measured, or estimated."""
    measured = run.scenario.measured.non_torch_bytes
    if measured is not None:
        return exactly(measured)
    version, ranks = run.settings.version, run.scenario.tensor_parallel_size
    in_stages = run.scenario.pipeline_parallel_size > 1 and ranks == 1
    first = overheads.first_rank_name(version, run.accelerator, in_stages=in_stages)
    others = overheads.ranks_name(version, run.accelerator, ranks)
    early = overheads.CUBLAS_BYTES if version.starts_cublas_first else 0
    is_shared = run.accelerator.shares_host_memory
    value = ledger.fitted(
        overheads.non_torch_bytes,
        first_rank_bytes=learnt_bytes(first) - early,
        ranks_bytes=learnt_bytes(others) if others else 0,
        further_ranks=ranks - 1 if others and run.accelerator.is_linked else 0,
        bytes_per_further_rank=learnt_bytes("further_rank_bytes"),
        host_memory_bytes=learnt_bytes("host_memory_bytes") if is_shared else 0,
        slack_bytes=learnt_bytes("slack_bytes") if leaves_slack(run) else 0,
        kept_bytes=profile.kept_bytes,
    )
    spread = learnt("non_torch_error_bytes") + learnt("ranks_error_bytes") * (ranks > 1)
    files = "host_files_consumed_bytes" if version.counts_consumed else "host_files_bytes"
    shared = learnt_bytes(files) if is_shared else 0
    foreign = learnt("ranks_error_bytes") if run.accelerator.vendor == "AMD" else 0
    below = spread + foreign + (learnt("host_memory_bytes") if is_shared else 0)
    return around(value, below, spread + foreign + shared)
