"""Which knob moves what: one change each from here, and what it buys."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pycore.decide.measured_terms import carried
from pycore.scenario import Scenario
from pycore.sizing.result import SizeResult
from pycore.sizing.size import size

WATCHED = (
    "available_kv_cache_bytes",
    "weights_bytes_per_rank",
    "kv_cache_bytes_per_token_per_rank",
    "num_gpu_blocks",
    "longest_request_tokens",
    "max_concurrency_for_workload",
    "num_accelerators",
)


@dataclass(frozen=True, slots=True)
class Change:
    """One turn of one knob; ``changes`` are all the request's fields that it sets."""

    field: str
    value: object
    label: str
    changes: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class KnobRow:
    """What one change buys."""

    field: str
    """The request's key that is changed."""
    value: object
    """Its new value."""
    label: str
    """That value in a few words."""
    changes: Mapping[str, object]
    """All of the request's fields that the change sets."""
    verdict: str
    """The verdict with it."""
    longest_request_tokens: int | None
    """As in the result of size, with the change [tokens]."""
    max_concurrency_for_workload: float | None
    """As in the result of size, with the change."""
    available_kv_cache_bytes: int | None
    """As in the result of size, with the change [bytes]."""
    num_accelerators: int
    """GPUs of all stages and replicas, with the change."""
    moved: Mapping[str, object]
    """The result's fields that it moves, with their new values."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """The answer to ``knobs``."""

    rows: tuple[KnobRow, ...]
    """One change each from here; those that move nothing are left out."""


def knobs(scenario: Scenario) -> Knobs:
    """One row for every change worth trying from here, those left out that move nothing."""
    here = size(replace(scenario, figures=False))
    rows = [row(scenario, here, change) for change in changes_from(scenario, here)]
    return Knobs(tuple(found for found in rows if found.moved or found.verdict != here.verdict))


def row(scenario: Scenario, here: SizeResult, change: Change) -> KnobRow:
    """What ``change`` buys."""
    changes = carried(scenario, change.changes)
    there = size(replace(scenario, figures=False, **changes))  # type: ignore[arg-type]  # our own fields
    moved = {
        name: getattr(there, name)
        for name in WATCHED
        if getattr(there, name) != getattr(here, name)
    }
    return KnobRow(
        change.field,
        change.value,
        change.label,
        changes,
        there.verdict,
        there.longest_request_tokens,
        there.max_concurrency_for_workload,
        there.available_kv_cache_bytes,
        there.num_accelerators,
        moved,
    )


def single(field: str, value: object, label: str) -> Change:
    """A change of one field."""
    return Change(field, value, label, {field: value})


def changes_from(scenario: Scenario, here: SizeResult) -> Iterator[Change]:
    """The changes worth trying: each knob one sensible step from where it stands."""
    if here.chosen["kv_cache_dtype"] not in {"fp8", "fp8_e4m3", "fp8_e5m2"}:
        yield single("kv_cache_dtype", "fp8", "fp8")
    else:
        yield single("kv_cache_dtype", "auto", "auto")
    doubled = scenario.tensor_parallel_size * 2
    yield single("tensor_parallel_size", doubled, str(doubled))
    if scenario.tensor_parallel_size > 1:
        halved = scenario.tensor_parallel_size // 2
        yield single("tensor_parallel_size", halved, str(halved))
    if here.chosen["quantization"] is None:
        yield single("quantization", "fp8", "fp8")
    elif scenario.quantization is not None:
        yield single("quantization", None, "as published")
    utilization = 0.95 if here.chosen["gpu_memory_utilization"] != 0.95 else 0.9
    yield single("gpu_memory_utilization", utilization, str(utilization))
    if scenario.measured.cuda_graph_bytes is None:
        eager = not scenario.enforce_eager
        yield single("enforce_eager", eager, "on" if eager else "off")
    yield from sequence_changes(here)
    if scenario.tensor_parallel_size > 1:
        halved = scenario.tensor_parallel_size // 2
        stages = scenario.pipeline_parallel_size * 2
        yield Change(
            "pipeline_parallel_size",
            stages,
            f"{stages} × TP {halved}",
            {"pipeline_parallel_size": stages, "tensor_parallel_size": halved},
        )


def sequence_changes(here: SizeResult) -> Iterator[Change]:
    """Smaller batches: they free activation memory, and cap concurrency."""
    sequences = here.chosen["max_num_seqs"]
    if isinstance(sequences, int) and sequences > 64:
        yield single("max_num_seqs", 64, "64")
    batched = here.chosen["max_num_batched_tokens"]
    if isinstance(batched, int) and batched > 2048:
        yield single("max_num_batched_tokens", 2048, "2048")
