"""How far Napkin's figures lie from what real servers printed, with the runs in question left out.

Each record is predicted with constants learnt from the records of all other models, and once more
from those of all other sources: a model or a source never helps to predict itself.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from pycore.bridge import answer
from pycore.engine.overheads import learnt_anew
from tests.accuracy.fit import fitted
from tests.accuracy.observations import Deployed, Observation, deployed, observations
from tests.accuracy.requests import request_of, tells_of_graphs, unusable
from tests.runs.records import RunRecord

GIB: Final = 1 << 30
FIGURES: Final = (
    "weights",
    "activation",
    "non_torch",
    "cuda_graphs",
    "kv_pool",
    "tokens",
    "concurrency",
)
# What a log's two decimals of a GiB hide.
ROUNDING_GIB: Final = 0.006
# A pool below this share of the GPU is tight: small errors elsewhere are large ones there.
TIGHT_SHARE: Final = 0.10
# Printed terms that differ from the budget by more than this contradict each other [GiB].
CONTRADICTION_GIB: Final = 0.15


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure of one record: predicted and measured, in GiB, tokens or requests."""

    figure: str
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """The relative error; above nothing is a promise of more than there was."""
        return self.predicted / self.measured - 1


@dataclass(frozen=True, slots=True)
class Scored:
    """One record, as predicted without its own model or source."""

    deployed: Deployed
    comparisons: Mapping[str, Comparison]
    pool_bounds: tuple[float, float]
    starts: bool

    @property
    def record(self) -> RunRecord:
        """The record."""
        return self.deployed.record

    @property
    def is_within(self) -> bool:
        """Whether the measured pool lies within the stated range."""
        low, high = self.pool_bounds
        measured = self.comparisons["kv_pool"].measured
        return low - ROUNDING_GIB <= measured <= high + ROUNDING_GIB

    @property
    def is_tight(self) -> bool:
        """Whether the pool is a small part of the GPU."""
        total = self.deployed.deployment.total_bytes / GIB
        return self.comparisons["kv_pool"].measured < TIGHT_SHARE * total


@dataclass(frozen=True, slots=True)
class Evidence:
    """The records that can be predicted, why the others cannot, and what they say of each term."""

    used: tuple[Deployed, ...]
    left: tuple[tuple[RunRecord, str], ...]
    said: tuple[Observation, ...]


def evidence(records: Iterable[RunRecord]) -> Evidence:
    """What these records can tell."""
    used: list[Deployed] = []
    left: list[tuple[RunRecord, str]] = []
    of_graphs_alone: list[Deployed] = []
    for record in records:
        reason = unusable(record)
        one = deployed(record) if reason is None or tells_of_graphs(record) else None
        if reason is None and one is not None:
            reason = contradiction(one) or refused(one)
        if reason is not None:
            left.append((record, reason))
        elif one is not None:
            used.append(one)
        if reason is not None and one is not None and tells_of_graphs(record):
            of_graphs_alone.append(one)
    return Evidence(tuple(used), tuple(left), tuple(observations(used, of_graphs_alone)))


def refused(one: Deployed) -> str | None:
    """That Napkin would not even load it, and so predicts no memory."""
    result = json.loads(answer(json.dumps(request_of(one.record))))["result"]
    if result["loaded_weights_bytes_per_rank"] is not None:
        return None
    return f"Napkin refuses it before loading: {result['refusals'][0]['kind']}"


def contradiction(one: Deployed) -> str | None:
    """That a record's own terms and pool do not add up to the budget that it states."""
    measured = one.record.measured
    names = ("loaded_weights_gib_per_rank", "activation_gib", "non_torch_gib")
    parts = [measured.get(name) for name in (*names, "available_kv_cache_gib")]
    if one.counts_consumed or len(one.stages) > 1 or None in parts:
        return None
    graphs = measured.get("cuda_graph_estimated_gib", 0)
    budget = one.deployment.requested_bytes / GIB
    known = [part for part in parts if part is not None]
    differs = budget - sum(known)
    if min(abs(differs), abs(differs - graphs)) <= CONTRADICTION_GIB:
        return None
    return f"its own terms differ from the budget that it states by {differs:+.2f} GiB"


def scored(one: Deployed, constants: Mapping[str, float]) -> Scored:
    """A record as these constants predict it."""
    with learnt_anew(constants):
        result = json.loads(answer(json.dumps(request_of(one.record))))["result"]
    pool = first_stage_pool(result, one)
    bounds = result["bounds"].get("available_kv_cache_bytes", [pool * GIB, pool * GIB])
    shift = pool - result["available_kv_cache_bytes"] / GIB
    return Scored(
        one,
        {comparison.figure: comparison for comparison in compared(one, result, pool)},
        (bounds[0] / GIB + shift, bounds[1] / GIB + shift),
        result["starts"],
    )


def first_stage_pool(result: Mapping[str, Any], one: Deployed) -> float:
    """The pool that is printed first: of the first stage, which need not be the one that decides."""
    if "pool_of_another_stage" not in one.record.traits:
        return float(result["available_kv_cache_bytes"]) / GIB
    first = result["memory_by_stage"][0]
    return float(first["kv_cache_in_use_bytes"] + first["kv_cache_free_bytes"]) / GIB


def compared(one: Deployed, result: Mapping[str, Any], pool: float) -> list[Comparison]:
    """Every figure that the record has, beside what Napkin says."""
    measured = one.record.measured
    stages = "pool_of_another_stage" in one.record.traits
    # Half the tokens are then in flight, which the request cannot say: windows hold fewer.
    serial = "without_async_scheduling" in one.record.traits
    pairs: list[tuple[str, float | None, float | None]] = [
        (
            "weights",
            in_gib(result, "loaded_weights_bytes_per_rank"),
            measured.get("loaded_weights_gib_per_rank"),
        ),
        ("kv_pool", pool, measured.get("available_kv_cache_gib")),
        ("tokens", result["kv_cache_size_tokens"], measured.get("kv_cache_size_tokens")),
        (
            "concurrency",
            result["kv_cache_max_concurrency"],
            measured.get("kv_cache_max_concurrency"),
        ),
        ("cuda_graphs", in_gib(result, "cuda_graph_bytes"), graphs_of(one)),
    ]
    if not one.counts_consumed and not stages:
        pairs += [
            ("activation", in_gib(result, "activation_bytes"), measured.get("activation_gib")),
            ("non_torch", in_gib(result, "non_torch_bytes"), measured.get("non_torch_gib")),
        ]
    return [
        Comparison(figure, float(predicted), float(real))
        for figure, predicted, real in pairs
        if predicted is not None and real is not None and real > 0
        if not (serial and figure in ("tokens", "concurrency"))
    ]


def graphs_of(one: Deployed) -> float | None:
    """What a record says of CUDA graphs: the estimate, where printed, else what they took."""
    if one.record.request.get("enforce_eager"):
        return None
    measured = one.record.measured
    return measured.get("cuda_graph_estimated_gib", measured.get("cuda_graph_gib"))


def in_gib(result: Mapping[str, Any], name: str) -> float | None:
    """A size of an answer in GiB."""
    value = result[name]
    return None if value is None else float(value) / GIB


def folds(found: Evidence, key: Callable[[RunRecord], str]) -> list[Scored]:
    """Every record, predicted from the records that do not share its key."""
    learnt: dict[str, dict[str, float]] = {}
    for name in sorted({key(one.record) for one in found.used}):
        others = [o for o in found.said if key(o.deployed.record) != name]
        learnt[name] = fitted(others)
    return [scored(one, learnt[key(one.record)]) for one in found.used]


def model_of(record: RunRecord) -> str:
    """The model, whichever way its weights are kept."""
    name = record.model.lower().split("/")[-1]
    for ending in ("-quantized.w8a8", "-quantized.w4a16", "-fp8-dynamic", "-fp8", "-nvfp4"):
        name = name.removesuffix(ending)
    return name.removeprefix("meta-").removesuffix("-instruct").removesuffix("-it")


def source_of(record: RunRecord) -> str:
    """Who published the record."""
    return record.source_group or record.source


def errors(all_scored: Iterable[Scored], figure: str) -> list[float]:
    """The relative errors of one figure."""
    return [one.comparisons[figure].error for one in all_scored if figure in one.comparisons]


@dataclass(frozen=True, slots=True)
class Summary:
    """The errors of one figure over some records, all relative."""

    count: int
    median: float
    mean: float
    worst: float
    over: int
    under: int


# A promise that rounding alone explains is none.
EVEN: Final = 0.0005


def summary(values: list[float]) -> Summary | None:
    """What a list of errors comes to; None of none."""
    if not values:
        return None
    sizes = [abs(value) for value in values]
    return Summary(
        len(values),
        median(sizes),
        sum(sizes) / len(sizes),
        max(values, key=abs),
        sum(1 for value in values if value > EVEN),
        sum(1 for value in values if value < -EVEN),
    )
