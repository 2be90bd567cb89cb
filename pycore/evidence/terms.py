"""One GPU's memory as the log accounts for it, whatever the version's words for it were.

Up to 0.26 the printed activation leaves the estimate for CUDA graphs out; from 0.27 the log prints
"consumed" memory (weights and all else that stays) and an activation that has the estimate in it.
Source: public start-up records of vLLM 0.6 to 0.31 and the code of 0.33.0.
"""

from dataclasses import dataclass
from typing import Literal

from pycore.evidence.reading.readings import Findings, Reading

Basis = Literal["printed", "derived"]


@dataclass(frozen=True, slots=True)
class Term:
    """One term: its value, how exact it is, and whether it stands in the log as it is."""

    value: int
    rounding: float
    basis: Basis
    line: int


@dataclass(frozen=True, slots=True)
class Terms:
    """The memory of the rank that decides the pool; None is what the log does not tell."""

    total: Term | None
    requested: Term | None
    weights: Term | None
    activation: Term | None
    non_torch: Term | None
    cuda_graphs_estimated: Term | None
    cuda_graphs: Term | None
    consumed: Term | None
    available: Term | None
    includes_estimate: bool
    """Whether the printed activation has the estimate for CUDA graphs in it."""


def terms_of(findings: Findings) -> Terms:
    """The terms of the rank whose pool is the smallest."""
    pool = findings.deciding("available_kv_cache_bytes")
    worker = pool.worker if pool else None
    consumed = term(findings, "consumed_bytes", worker)
    total = term(findings, "total_bytes", worker)
    total = total if total and total.value > 0 else None
    weights = term(findings, "loaded_weights_bytes_per_rank", worker)
    estimated = term(findings, "cuda_graph_estimated_bytes", worker) or share_of(
        findings, worker, total
    )
    return Terms(
        total=total,
        requested=term(findings, "requested_bytes", worker),
        weights=weights,
        activation=activation_of(findings, worker, weights, estimated, consumed),
        non_torch=term(findings, "non_torch_bytes", worker) or difference(consumed, weights),
        cuda_graphs_estimated=estimated,
        cuda_graphs=term(findings, "cuda_graph_bytes", worker),
        consumed=consumed,
        available=term(findings, "available_kv_cache_bytes", worker),
        includes_estimate=consumed is not None,
    )


def term(findings: Findings, figure: str, worker: str | None) -> Term | None:
    """A figure as that rank printed it, else as it was printed at all."""
    own = [reading for reading in findings.readings(figure) if reading.worker == worker]
    reading: Reading | None = own[0] if own else findings.deciding(figure)
    if reading is None:
        return None
    return Term(int(reading.value), reading.rounding, "printed", reading.line)


def share_of(findings: Findings, worker: str | None, total: Term | None) -> Term | None:
    """The estimate for CUDA graphs, from the two utilisations that differ by it."""
    own = [
        reading
        for reading in findings.readings("cuda_graph_estimated_share")
        if reading.worker == worker
    ]
    share = own[0] if own else findings.deciding("cuda_graph_estimated_share")
    if share is None or total is None:
        return None
    return Term(
        round(share.value * total.value), share.rounding * total.value, "derived", share.line
    )


def difference(whole: Term | None, part: Term | None) -> Term | None:
    """What is left of one term without another; never below nothing."""
    if whole is None or part is None:
        return None
    return Term(
        max(0, whole.value - part.value), whole.rounding + part.rounding, "derived", whole.line
    )


def activation_of(
    findings: Findings,
    worker: str | None,
    weights: Term | None,
    estimated: Term | None,
    consumed: Term | None,
) -> Term | None:
    """The activation peak without the estimate for CUDA graphs."""
    plain = term(findings, "activation_bytes", worker)
    if plain is not None:
        return plain
    printed = term(findings, "printed_peak_activation_bytes", worker)
    if printed is None:
        whole = term(findings, "total_non_kv_cache_bytes", worker)
        peak = term(findings, "peak_torch_bytes", worker)
        return difference(whole, consumed) or difference(peak, weights)
    if consumed is None or findings.setting("cuda_graphs_in_budget") is False:
        return printed
    return difference(printed, estimated)
