"""The cheapest single changes that cure a refusal."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from pycore.decide.knobs import Change, single
from pycore.decide.measured_terms import carried
from pycore.engine.overheads import taken_at_least
from pycore.engine.refusals.refusal import Refusal, Remedy
from pycore.scenario import Scenario
from pycore.sizing.result import SizeResult
from pycore.sizing.size import size

MOST_REMEDIES: Final = 5
LARGEST_TENSOR_PARALLEL: Final = 64
MOST_STAGES: Final = 16
LARGEST_SHARE: Final = 0.95
HALF_PRECISION: Final = ("bfloat16", "float16")


def with_remedies(scenario: Scenario, result: SizeResult) -> SizeResult:
    """``result`` with remedies on each refusal: one change that does away with all of them."""
    if not result.refusals:
        return result
    trial = Trial(replace(scenario, figures=False), result)
    return replace(
        result,
        refusals=tuple(
            replace(refusal, remedies=remedies_of(refusal, trial)) for refusal in result.refusals
        ),
    )


@dataclass(slots=True)
class Trial:
    """Changes of one scenario, each tried once however many refusals suggest it."""

    scenario: Scenario
    here: SizeResult
    known: dict[str, Remedy | None] = field(default_factory=dict)

    def remedy(self, change: Change) -> Remedy | None:
        """The remedy that ``change`` is, or None where it cures nothing."""
        key = repr(change.changes)
        if key not in self.known:
            self.known[key] = tried(self.scenario, change)
        return self.known[key]


def remedies_of(refusal: Refusal, trial: Trial) -> tuple[Remedy, ...]:
    """The first few changes that cure ``refusal`` and whatever else the engine refuses."""
    found = []
    for change in changes_for(trial.scenario, trial.here, refusal):
        remedy = trial.remedy(change)
        if remedy is not None:
            found.append(remedy)
        # Once more GPUs have cured it, still more of them are no cheaper.
        if len(found) == MOST_REMEDIES or (
            remedy is not None and adds_gpus(trial.scenario, change)
        ):
            break
    return tuple(found)


def tried(scenario: Scenario, change: Change) -> Remedy | None:
    """The remedy that ``change`` is, or None where it cures nothing."""
    whole = replace(change, changes=carried(scenario, change.changes))
    there = size(replace(scenario, **whole.changes))  # type: ignore[arg-type]  # our own fields
    return remedy_of(whole, there) if there.starts else None


def remedy_of(change: Change, there: SizeResult) -> Remedy:
    """A change and what it gives."""
    return Remedy(
        label=change.label,
        changes=change.changes,
        verdict=there.verdict,
        max_model_len=there.max_model_len,
        longest_request_tokens=there.longest_request_tokens,
        max_concurrency_for_workload=there.max_concurrency_for_workload,
        num_accelerators=there.num_accelerators,
    )


def changes_for(scenario: Scenario, result: SizeResult, refusal: Refusal) -> Iterator[Change]:
    """Single changes that may cure ``refusal``, cheapest first: flags before GPUs."""
    match refusal.kind:
        case "kv_cache_too_small" | "no_memory_for_kv_cache":
            yield from length_changes(result)
            yield from memory_changes(scenario, result)
        case "weights_exceed_budget":
            yield from weight_changes(scenario, result)
        case "max_model_len_above_model":
            yield from choice_changes(scenario, refusal)
            yield single("max_model_len", "auto", "--max-model-len auto")
        case "dtype_not_on_accelerator":
            yield from dtype_changes(result)
        case "quantisation_not_on_accelerator" | "unsupported_quantisation":
            yield from quantization_changes(scenario, result)
        case "no_attention_backend":
            yield from backend_changes(scenario)
        case "pipeline_parallel":
            yield from stage_changes(scenario)
        case "context_parallel":
            yield single("decode_context_parallel_size", 1, "decode_context_parallel_size 1")
        case "free_memory_too_small":
            yield from utilization_changes(scenario, result)
        case _:
            yield from choice_changes(scenario, refusal)


def quantization_changes(scenario: Scenario, result: SizeResult) -> Iterator[Change]:
    """The checkpoint's own form, and the element types that it may be computed and cached in."""
    if scenario.quantization is not None:
        yield single("quantization", None, "weights as published")
    for dtype in HALF_PRECISION:
        if dtype != result.chosen["dtype"]:
            yield single("dtype", dtype, f"--dtype {dtype}")
    yield from cache_changes(scenario)


def dtype_changes(result: SizeResult) -> Iterator[Change]:
    """The other half precision, which takes no more memory, then the whole one."""
    if result.chosen["dtype"] == "float16":
        yield single("dtype", "bfloat16", "--dtype bfloat16")
    else:
        yield single("dtype", "float16", "--dtype half")
    yield single("dtype", "float32", "--dtype float32")


def backend_changes(scenario: Scenario) -> Iterator[Change]:
    """What kernels may not read taken back, then other element types of the cache."""
    if scenario.block_size is not None:
        yield single("block_size", None, "blocks as the kernels want them")
    if scenario.disable_hybrid_kv_cache_manager:
        label = "--no-disable-hybrid-kv-cache-manager"
        yield single("disable_hybrid_kv_cache_manager", value=False, label=label)
    if scenario.decode_context_parallel_size > 1:
        yield single("decode_context_parallel_size", 1, "decode_context_parallel_size 1")
    yield from cache_changes(scenario)


def cache_changes(scenario: Scenario) -> Iterator[Change]:
    """Other element types of the cache."""
    for dtype in ("auto", "fp8", *HALF_PRECISION):
        if dtype != scenario.kv_cache_dtype:
            yield single("kv_cache_dtype", dtype, f"--kv-cache-dtype {dtype}")


def stage_changes(scenario: Scenario) -> Iterator[Change]:
    """Fewer stages: of wider ranks, so that the GPUs stay as many, or else of fewer GPUs."""
    ranks, stages = scenario.tensor_parallel_size, scenario.pipeline_parallel_size
    halved = [1 << power for power in reversed(range((stages - 1).bit_length()))]
    for fewer in halved:
        if ranks * stages % fewer == 0:
            wider = ranks * stages // fewer
            changes = {"tensor_parallel_size": wider, "pipeline_parallel_size": fewer}
            yield Change("pipeline_parallel_size", fewer, f"TP {wider} × PP {fewer}", changes)
    for fewer in halved:
        yield single("pipeline_parallel_size", fewer, f"pipeline_parallel_size {fewer}")


def length_changes(result: SizeResult) -> Iterator[Change]:
    """Shorter longest requests: just what fits, and the power of two below."""
    fits = result.estimated_max_model_len
    if not fits:
        return
    yield single("max_model_len", fits, f"--max-model-len {fits}")
    rounded = 1 << (fits.bit_length() - 1)
    if rounded != fits:
        yield single("max_model_len", rounded, f"--max-model-len {rounded}")


def memory_changes(scenario: Scenario, result: SizeResult) -> Iterator[Change]:
    """More room for the KV cache, or less need of it."""
    if scenario.kv_cache_dtype == "auto":
        yield single("kv_cache_dtype", "fp8", "--kv-cache-dtype fp8")
    yield from share_changes(scenario)
    if not scenario.enforce_eager:
        yield single("enforce_eager", True, "--enforce-eager")
    yield from narrower_weights(result)
    yield from gpu_changes(scenario, result)


def weight_changes(scenario: Scenario, result: SizeResult) -> Iterator[Change]:
    """A share of each GPU that holds its weights, or fewer of them; no cache or graph matters."""
    largest = result.total_bytes * LARGEST_SHARE
    if (result.loaded_weights_bytes_per_rank or 0) < largest:
        yield from share_changes(scenario)
    yield from narrower_weights(result)
    yield from gpu_changes(scenario, result)


def share_changes(scenario: Scenario) -> Iterator[Change]:
    """As much of the GPU as leaves the driver room."""
    if (scenario.gpu_memory_utilization or 0) < LARGEST_SHARE:
        label = f"--gpu-memory-utilization {LARGEST_SHARE}"
        yield single("gpu_memory_utilization", LARGEST_SHARE, label)


def narrower_weights(result: SizeResult) -> Iterator[Change]:
    """Weights quantised at load, where the checkpoint's are not already."""
    if result.chosen["quantization"] is None:
        yield single("quantization", "fp8", "fp8 weights")


def gpu_changes(scenario: Scenario, result: SizeResult) -> Iterator[Change]:
    """More GPUs: TP up to what one node has, then pipeline stages over more nodes."""
    per_node = result.chosen.get("accelerators_per_node")
    most = per_node if isinstance(per_node, int) else LARGEST_TENSOR_PARALLEL
    ranks = scenario.tensor_parallel_size * 2
    while ranks <= most:
        yield single("tensor_parallel_size", ranks, f"TP {ranks}")
        ranks *= 2
    widest = max(ranks // 2, scenario.tensor_parallel_size)
    stages = scenario.pipeline_parallel_size * 2
    while stages <= MOST_STAGES:
        changes = {"tensor_parallel_size": widest, "pipeline_parallel_size": stages}
        yield Change("pipeline_parallel_size", stages, f"TP {widest} × PP {stages}", changes)
        stages *= 2


def adds_gpus(scenario: Scenario, change: Change) -> bool:
    """Whether a change takes more GPUs than the scenario has."""
    ranks = change.changes.get("tensor_parallel_size", scenario.tensor_parallel_size)
    stages = change.changes.get("pipeline_parallel_size", scenario.pipeline_parallel_size)
    here = scenario.tensor_parallel_size * scenario.pipeline_parallel_size
    return isinstance(ranks, int) and isinstance(stages, int) and ranks * stages > here


def utilization_changes(scenario: Scenario, result: SizeResult) -> Iterator[Change]:
    """A share of the memory that is really free."""
    free = scenario.accelerator_free_bytes
    if free is None:
        free = result.total_bytes - taken_at_least(scenario.tensor_parallel_size)
    share = free * 100 // result.total_bytes / 100
    if share > 0:
        yield single("gpu_memory_utilization", share, f"--gpu-memory-utilization {share}")


def choice_changes(scenario: Scenario, refusal: Refusal) -> Iterator[Change]:
    """Values that the broken rule accepts, the nearest to what was asked first."""
    if not refusal.field:
        return
    asked = getattr(scenario, refusal.field)
    base = asked if isinstance(asked, int) else 0
    for value in sorted(refusal.choices, key=lambda choice: (abs(choice - base), choice)):
        yield single(refusal.field, value, f"{refusal.field} {value}")
