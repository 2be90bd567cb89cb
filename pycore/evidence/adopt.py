"""The run's own terms, in the form in which a request carries them.

Every what-if after that starts from what really ran. The pool itself is adopted only where its
terms are not known: a pool that is given does not move when a knob does.
"""

from dataclasses import dataclass, replace
from typing import Final

from pycore.evidence.reading.numbers import gib_text
from pycore.evidence.terms import Term, Terms
from pycore.scenario import Measured, Scenario
from pycore.sizing.result import SizeResult
from pycore.units import GIB

# The order in which unprinted terms give way to what the pool proves was left for them.
UNPRINTED: Final = ("non_torch_bytes", "activation_bytes", "cuda_graph_bytes")
NAMES: Final = {
    "non_torch_bytes": "non-torch memory",
    "activation_bytes": "activations",
    "cuda_graph_bytes": "the estimate for CUDA graphs",
}
# Terms that are printed with two decimals close no better than this.
CLOSES: Final = GIB // 20
SHOWN: Final = GIB // 100


@dataclass(frozen=True, slots=True)
class Adopted:
    """The terms to carry on with, and which of them the text does not print."""

    measured: Measured
    derived: tuple[str, ...] = ()
    """Terms of which only the sum is known, from the pool."""

    def terms(self) -> dict[str, int]:
        """The terms by name, without those that are not known."""
        found = {name: getattr(self.measured, name) for name in Measured.__slots__}
        return {name: size for name, size in found.items() if size is not None}

    def said_of_derived(self) -> str:
        """What a reader should know of the terms that are not printed."""
        left = sum(self.terms()[name] for name in self.derived)
        *others, last = (NAMES[name] for name in self.derived)
        names = f"{', '.join(others)} and {last}" if others else last
        if len(self.derived) == 1:
            return f"The text does not print {names}: the pool leaves {gib_text(left)} for it."
        return (
            f"The text does not print {names}: the pool leaves {gib_text(left)} for them, shared "
            "out as Napkin expects."
        )


def adopt(
    terms: Terms,
    scenario: Scenario,
    predicted: SizeResult | None,
    *,
    graphs_in_budget: bool,
    own_rules: bool = True,
) -> Adopted:
    """The measured terms to carry on with; of an engine with rules of its own, as printed."""
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
        return Adopted(found)
    if not own_rules:
        return Adopted(replace(found, available_kv_cache_bytes=terms.available.value))
    closed = close(found, terms, scenario, predicted, graphs_in_budget=graphs_in_budget)
    if closed is None:
        return Adopted(replace(found, available_kv_cache_bytes=terms.available.value))
    # A term that two decimals do not show is nothing: the printed terms close without it.
    derived = (name for name in UNPRINTED if getattr(closed, name) != getattr(found, name))
    return Adopted(closed, tuple(name for name in derived if getattr(closed, name) >= SHOWN))


def value(term: Term | None) -> int | None:
    """A term's value, if it is known; none is taken for less than nothing.

    What other processes, or sleep mode, give back while the engine profiles counts as a term
    below nothing: logs print −3.58 GiB outside torch, and −0.22 GiB for CUDA graphs.
    """
    return None if term is None else max(0, term.value)


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
    if found.weights_bytes_per_rank is None and not is_expected(left, predicted, unknown):
        # Other weights explain it as well as any of these terms.
        return None
    return deal(found, left, {name: getattr(predicted, name) or 0 for name in unknown})


def is_expected(left: int, predicted: SizeResult, names: list[str]) -> bool:
    """Whether what the pool leaves for some terms is what runs have shown of them."""
    bounds = [predicted.bounds.get(name) for name in names]
    most = sum(bound[1] for bound in bounds if bound is not None)
    return None in bounds or left <= most


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
