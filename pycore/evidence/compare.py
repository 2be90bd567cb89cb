"""Predicted beside measured, line by line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pycore.evidence.reading.readings import Findings
from pycore.evidence.residuals import Case, because
from pycore.evidence.terms import Basis, Term, Terms
from pycore.sizing.result import SizeResult

Number = int | float
# Tokens of a block in every version of V0 unless it was told otherwise.
DEFAULT_BLOCK_SIZE: Final = 16


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One figure of a run beside Napkin's."""

    figure: str
    """The figure's name; the contract's where it has one."""
    predicted: int | float | None
    """What Napkin says of the recognised scenario; null where it has no such figure."""
    measured: int | float
    """What the run printed; of several ranks the one that decides."""
    difference: int | float | None
    """Measured less predicted."""
    unit: str
    """bytes, tokens, blocks or requests."""
    because: str
    """Where the difference comes from, as far as it is known."""
    basis: Basis
    """printed, or derived from what was printed."""
    bounds: tuple[float, float] | None = None
    """The range that Napkin stated for the figure."""
    inside: bool | None = None
    """Whether the run fell inside that range, to the digits printed."""
    line: int | None = None
    """The line of the text that it stands on."""
    by_worker: Mapping[str, int | float] = field(default_factory=dict)
    """What each rank printed, where they differ."""


def attribute(name: str) -> Callable[[SizeResult], Number | None]:
    """A reader of one figure of a sizing."""

    def read(result: SizeResult) -> Number | None:
        value: Number | None = getattr(result, name)
        return value

    return read


def summed(*names: str) -> Callable[[SizeResult], Number | None]:
    """A reader of the sum of several figures."""

    def read(result: SizeResult) -> Number | None:
        values = [getattr(result, name) for name in names]
        return None if None in values else sum(values)

    return read


WEIGHTS: Final = "loaded_weights_bytes_per_rank"
# In the order of the budget: the GPU, what is taken of it, what is left, what that holds.
PREDICTED: Final[dict[str, Callable[[SizeResult], Number | None]]] = {
    "total_bytes": attribute("total_bytes"),
    "requested_bytes": attribute("requested_bytes"),
    WEIGHTS: attribute(WEIGHTS),
    "consumed_bytes": summed(WEIGHTS, "non_torch_bytes"),
    "activation_bytes": attribute("activation_bytes"),
    "printed_peak_activation_bytes": attribute("activation_bytes"),
    "non_torch_bytes": attribute("non_torch_bytes"),
    "cuda_graph_estimated_bytes": attribute("cuda_graph_bytes"),
    "cuda_graph_bytes": attribute("cuda_graph_bytes"),
    "total_non_kv_cache_bytes": summed(WEIGHTS, "activation_bytes", "non_torch_bytes"),
    "available_kv_cache_bytes": attribute("available_kv_cache_bytes"),
    "block_size": attribute("block_size"),
    "num_gpu_blocks": attribute("num_gpu_blocks"),
    "kv_cache_size_tokens": attribute("kv_cache_size_tokens"),
    "kv_cache_max_concurrency": attribute("kv_cache_max_concurrency"),
    "needed_kv_cache_bytes": attribute("needed_kv_cache_bytes"),
    "estimated_max_model_len": attribute("estimated_max_model_len"),
}
BOUNDED: Final = {"cuda_graph_estimated_bytes": "cuda_graph_bytes"}


def compare(
    findings: Findings, terms: Terms, predicted: SizeResult | None, pinned: SizeResult | None
) -> tuple[CheckRow, ...]:
    """One row for every figure that the run printed or that follows from what it printed.

    ``pinned`` is the scenario sized with the run's own pool: what should follow from it.
    """
    derived = {
        "activation_bytes": terms.activation,
        "non_torch_bytes": terms.non_torch,
        "cuda_graph_estimated_bytes": terms.cuda_graphs_estimated,
        "kv_cache_size_tokens": tokens_of_blocks(findings),
    }
    rows = []
    for figure in PREDICTED:
        if figure == "printed_peak_activation_bytes" and not terms.includes_estimate:
            # The same number as the activation's own.
            continue
        reading, term = findings.deciding(figure), derived.get(figure)
        if reading is not None:
            case = Case(figure, reading.value, reading.rounding, findings, terms, predicted, pinned)
            rows.append(row(case, "printed", reading.line))
        elif term is not None:
            case = Case(figure, term.value, term.rounding, findings, terms, predicted, pinned)
            rows.append(row(case, term.basis, term.line))
    return tuple(rows)


def row(case: Case, basis: Basis, line: int) -> CheckRow:
    """The row of one figure."""
    figure, result = case.figure, case.predicted
    expected = PREDICTED[figure](result) if result is not None else None
    if figure == "printed_peak_activation_bytes" and result is not None:
        expected = with_estimate(result, case.terms)
    bounds = result.bounds.get(BOUNDED.get(figure, figure)) if result is not None else None
    inside = None
    if bounds is not None:
        inside = bounds[0] - case.rounding <= case.measured <= bounds[1] + case.rounding
    return CheckRow(
        figure=figure,
        predicted=expected,
        measured=case.measured,
        difference=None if expected is None else case.measured - expected,
        unit=unit_of(figure),
        because=because(case, expected, bounds),
        basis=basis,
        bounds=bounds,
        inside=inside,
        line=line,
        by_worker=by_worker(case.findings, figure),
    )


def tokens_of_blocks(findings: Findings) -> Term | None:
    """Tokens of a pool whose engine prints only blocks, as V0 does: blocks times their size."""
    blocks = findings.deciding("num_gpu_blocks")
    if blocks is None:
        return None
    size = findings.value("block_size") or findings.setting("block_size") or DEFAULT_BLOCK_SIZE
    if not isinstance(size, int):
        return None
    return Term(int(blocks.value) * size, 0.0, "derived", blocks.line)


def with_estimate(result: SizeResult, terms: Terms) -> Number | None:
    """The predicted activation as the run's version prints it."""
    names = ["activation_bytes"]
    if terms.includes_estimate:
        names.append("cuda_graph_bytes")
    return summed(*names)(result)


def by_worker(findings: Findings, figure: str) -> dict[str, Number]:
    """What each rank printed, where they are not all the same."""
    found = {reading.worker or "engine": reading.value for reading in findings.readings(figure)}
    return found if len(set(found.values())) > 1 else {}


def unit_of(figure: str) -> str:
    """A figure's unit, from its name."""
    if figure.endswith(("_bytes", "_bytes_per_rank")):
        return "bytes"
    if figure == "num_gpu_blocks":
        return "blocks"
    return "requests" if figure == "kv_cache_max_concurrency" else "tokens"
