"""The run as a scenario: what of it sizing needs, and what sizing then says of it."""

from dataclasses import replace

from pycore.errors import InvalidRequest
from pycore.evidence.reading.readings import Findings
from pycore.evidence.recognise import Recognised
from pycore.evidence.terms import Terms
from pycore.hardware import accelerators
from pycore.scenario import Measured, Scenario
from pycore.sizing.result import SizeResult
from pycore.sizing.size import size


def past_its_start(told: Scenario, terms: Terms) -> Scenario:
    """The scenario of a run that loaded its weights: enough was free, whatever that was."""
    if told.accelerator_free_bytes is not None or not (terms.weights or terms.available):
        return told
    total = terms.total.value if terms.total else told.accelerator_total_bytes
    if total is None and told.accelerator is not None:
        known = accelerators.catalogue().get(told.accelerator, {}).get("total_bytes")
        total = known if isinstance(known, int) else None
    return told if total is None else replace(told, accelerator_free_bytes=total)


def predict(told: Scenario, recognised: Recognised) -> SizeResult | None:
    """The recognised scenario sized; None, with a note, where it cannot be."""
    if recognised.serves_other_model:
        return None
    try:
        return size(told)
    except InvalidRequest as error:
        if error.field in {"model", "accelerator"} and error.reason == "missing":
            recognised.note("nothing_to_hold_it_against", f"{error.message}.")
        else:
            recognised.note("cannot_be_sized", f"{error.field}: {error.message}.")
        return None


def sized(scenario: Scenario) -> SizeResult | None:
    """A scenario sized, or None where it cannot be."""
    try:
        return size(scenario)
    except InvalidRequest:
        return None


def pinned_to(told: Scenario, terms: Terms) -> SizeResult | None:
    """The scenario sized with the run's own pool: what should follow from it."""
    if terms.available is None or terms.available.value <= 0:
        return None
    return sized(replace(told, measured=Measured(available_kv_cache_bytes=terms.available.value)))


def graphs_in_budget(findings: Findings, predicted: SizeResult | None) -> bool:
    """Whether the engine takes the estimate for CUDA graphs from the pool.

    As the sizing has it: what its budget less all other terms leaves is the pool, or more.
    """
    if findings.setting("cuda_graphs_in_budget") is False or predicted is None:
        return False
    graphs, pool = predicted.cuda_graph_bytes, predicted.available_kv_cache_bytes
    terms = (
        predicted.loaded_weights_bytes_per_rank,
        predicted.activation_bytes,
        predicted.non_torch_bytes,
        pool,
    )
    if not graphs or None in terms:
        return False
    left = predicted.requested_bytes - sum(term for term in terms if term is not None)
    return left > graphs // 2


def with_defaults(told: Scenario, predicted: SizeResult | None) -> Scenario:
    """The scenario with the engine's own utilisation, where none was said."""
    if told.gpu_memory_utilization is not None or predicted is None:
        return told
    chosen = predicted.chosen.get("gpu_memory_utilization")
    return replace(told, gpu_memory_utilization=chosen) if isinstance(chosen, float) else told
