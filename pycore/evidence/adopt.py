"""The run's own terms, in the form in which a request carries them.

Every what-if after that starts from what really ran. The pool itself is adopted only where its
terms are not known: a pool that is given does not move when a knob does.
"""

from dataclasses import replace
from typing import Final

from pycore.evidence.terms import Term, Terms
from pycore.scenario import Measured, Scenario
from pycore.sizing.result import SizeResult
from pycore.units import GIB

# The order in which unprinted terms give way to what the pool proves was left for them.
UNPRINTED: Final = ("non_torch_bytes", "activation_bytes", "cuda_graph_bytes")
# Terms that are printed with two decimals close no better than this.
CLOSES: Final = GIB // 20


def adopt(
    terms: Terms, scenario: Scenario, predicted: SizeResult | None, *, graphs_in_budget: bool
) -> Measured:
    """The measured terms to carry on with."""
    graphs = terms.cuda_graphs_estimated if graphs_in_budget else terms.cuda_graphs
    if graphs is None and not graphs_in_budget:
        graphs = terms.cuda_graphs_estimated
    found = Measured(
        weights_bytes_per_rank=value(terms.weights),
        activation_bytes=value(terms.activation),
        cuda_graph_bytes=value(graphs),
        non_torch_bytes=value(terms.non_torch),
        total_bytes=value(terms.total),
    )
    if terms.available is None or terms.available.value <= 0:
        return found
    closed = close(found, terms, scenario, predicted, graphs_in_budget=graphs_in_budget)
    if closed is None:
        return replace(found, available_kv_cache_bytes=terms.available.value)
    return closed


def value(term: Term | None) -> int | None:
    """A term's value, if it is known."""
    return None if term is None else term.value


def close(
    found: Measured,
    terms: Terms,
    scenario: Scenario,
    predicted: SizeResult | None,
    *,
    graphs_in_budget: bool,
) -> Measured | None:
    """The terms with what the pool left for the unprinted ones; None where that cannot be told.

    Only their sum is measured: it is dealt out in proportion to what Napkin expects of each.
    """
    if predicted is None or terms.available is None:
        return None
    weights = found.weights_bytes_per_rank
    weights = predicted.loaded_weights_bytes_per_rank if weights is None else weights
    if weights is None:
        return None
    if scenario.kv_cache_memory_bytes is not None or scenario.pipeline_parallel_size > 1:
        return None
    requested = value(terms.requested) or predicted.requested_bytes
    counts_graphs = graphs_in_budget and not scenario.enforce_eager
    names = [name for name in UNPRINTED if counts_graphs or name != "cuda_graph_bytes"]
    left = requested - weights - terms.available.value
    unknown = [name for name in names if getattr(found, name) is None]
    for name in names:
        left -= getattr(found, name) or 0
    if not unknown:
        return settle(found, left)
    return deal(found, left, {name: getattr(predicted, name) or 0 for name in unknown})


def settle(found: Measured, left: int) -> Measured | None:
    """All terms printed: as they are if they close, else with what is left beside them."""
    if abs(left) <= CLOSES:
        return found
    graphs = found.cuda_graph_bytes or 0
    if abs(left + graphs) <= CLOSES:
        # This engine set nothing aside for graphs, whatever it had estimated.
        return replace(found, cuda_graph_bytes=0)
    others = (found.non_torch_bytes or 0) + left
    return replace(found, non_torch_bytes=others) if others >= 0 else None


def deal(found: Measured, left: int, expected: dict[str, int]) -> Measured | None:
    """The unprinted terms, as much of each as Napkin expects of it within their sum."""
    whole = sum(expected.values())
    if left < 0 or not whole:
        return None
    shares = {name: left * size // whole for name, size in expected.items()}
    # What the divisions leave goes to the first, so that the terms close.
    first = next(iter(shares))
    shares[first] += left - sum(shares.values())
    return replace(found, **shares)
