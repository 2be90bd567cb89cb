"""Why a figure of a run differs from Napkin's: what is known of it, and no more."""

from dataclasses import dataclass
from typing import Final

from pycore.evidence.reading.numbers import gib_text
from pycore.evidence.reading.readings import Findings
from pycore.evidence.run_scenario import graphs_in_budget
from pycore.evidence.terms import Terms
from pycore.sizing.result import SizeResult
from pycore.units import GIB

Bounds = tuple[float, float] | None

FOLLOWS: Final = (
    "num_gpu_blocks",
    "kv_cache_size_tokens",
    "kv_cache_max_concurrency",
    "estimated_max_model_len",
)
BATCH: Final = ("max_num_seqs", "max_num_batched_tokens")
# What "%.2f" of a concurrency hides.
CONCURRENCY_ROUNDING: Final = 0.0051
# Ratios of printed sizes are whole to what two decimals leave open.
RATIO_DOUBT: Final = 0.01
NOT_WORTH_SAYING: Final = GIB // 20
GRAPHS: Final = "the estimate for CUDA graphs"


@dataclass(frozen=True, slots=True)
class Case:
    """One figure of a run, with all that it is judged by."""

    figure: str
    measured: int | float
    rounding: float
    findings: Findings
    terms: Terms
    predicted: SizeResult | None
    pinned: SizeResult | None


def because(case: Case, expected: float | None, bounds: Bounds) -> str:
    """Where the difference of one figure comes from."""
    if expected is None:
        return unexplained(case)
    difference = case.measured - expected
    if abs(difference) <= max(case.rounding, CONCURRENCY_ROUNDING):
        return "Equal, to the digits printed."
    if case.figure in FOLLOWS:
        return follows(case)
    match case.figure:
        case "loaded_weights_bytes_per_rank":
            return weights(case, expected, difference)
        case "total_bytes" | "requested_bytes":
            return budget(case)
        case "available_kv_cache_bytes":
            return pool(case, expected, difference)
        case "needed_kv_cache_bytes" | "block_size":
            return layout(case, expected)
        case _:
            return estimated(case, bounds)


def estimated(case: Case, bounds: Bounds) -> str:
    """Where the difference of an estimated term comes from."""
    match case.figure:
        case "cuda_graph_bytes":
            return graphs_taken(case, bounds)
        case "activation_bytes" | "printed_peak_activation_bytes":
            return activation(case, bounds)
        case "non_torch_bytes" | "consumed_bytes":
            return non_torch(case, bounds)
        case _:
            return estimate(case, bounds)


def unexplained(case: Case) -> str:
    """Why there is nothing to hold the figure against."""
    if case.predicted is None:
        return "Nothing to hold it against: the model or the GPU is not known."
    if case.figure in FOLLOWS and getattr(case.pinned, case.figure, None) is not None:
        return "Napkin expects a refusal here. " + follows(case)
    return "Napkin expects a refusal here, so it has no such figure."


def weights(case: Case, expected: float, difference: float) -> str:
    """Weights, as loaded."""
    if abs(difference) < expected * 0.0005:
        return "Within 0.1%: buffers of the kernels in use."
    share = f"{abs(difference) / expected:.1%} {'more' if difference > 0 else 'less'}"
    if difference > 0 and case.findings.setting("speculative_config") is not None:
        return f"{share}: the draft model is loaded beside it."
    if difference > 0 and case.findings.setting("enable_lora") is not None:
        return f"{share}: slots for LoRA adapters are set aside with the weights."
    if abs(difference) <= expected * 0.005:
        return f"{share}: what the allocator rounds up, and buffers of the kernels in use."
    if difference < 0:
        return f"{share} than the whole model: a part was left out, or other weights were loaded."
    if case.predicted is not None and case.predicted.chosen.get("quantization"):
        return f"{share}: quantised weights are laid out anew once loaded, in a way not known here."
    return f"{share} than parameters and buffers come to; nothing in the text says why."


def budget(case: Case) -> str:
    """The GPU's memory, and the share of it that may be used."""
    if case.figure == "total_bytes":
        return "ECC, virtualisation and drivers take their part: one name stands for several sizes."
    return "Utilisation times the GPU's memory: one of the two differs."


def layout(case: Case, expected: float) -> str:
    """The cache of one request, or of one block."""
    ratio = case.measured / expected
    if ratio > 1 and abs(ratio - round(ratio)) < RATIO_DOUBT:
        return f"{round(ratio)} times Napkin's: fewer ranks, wider elements or another model."
    if 0 < ratio < 1 and abs(1 / ratio - round(1 / ratio)) < RATIO_DOUBT:
        return f"1/{round(1 / ratio)} of Napkin's: more ranks, narrower elements or another model."
    return "Another layout of the KV cache than Napkin's: blocks, groups or element type."


def activation(case: Case, bounds: Bounds) -> str:
    """The activation peak."""
    said = estimate(case, bounds)
    assumed = [name for name in BATCH if case.findings.setting(name) is None]
    if assumed:
        verb = "is" if len(assumed) == 1 else "are"
        said += f" {' and '.join(assumed)} {verb} not printed: the defaults are assumed."
    if case.figure == "printed_peak_activation_bytes" and case.terms.includes_estimate:
        said += " From 0.27 the printed peak has the estimate for CUDA graphs in it."
    return said


def non_torch(case: Case, bounds: Bounds) -> str:
    """Memory outside the tensor library, or all that stays."""
    said = estimate(case, bounds)
    if case.terms.consumed is not None:
        said += (
            " From 0.27 the log prints what vanished from the GPU: what the allocator reserved and "
            "does not use counts too."
        )
    return said


def graphs_taken(case: Case, bounds: Bounds) -> str:
    """What CUDA graphs took in the end."""
    estimated = case.terms.cuda_graphs_estimated
    if estimated is not None:
        return (
            f"What the graphs took; the engine had estimated {gib_text(estimated.value)}, and the "
            "pool feels the estimate."
        )
    return estimate(case, bounds)


def estimate(case: Case, bounds: Bounds) -> str:
    """Any estimated figure: whether real runs went that far."""
    if bounds is None:
        return "An estimate, without a stated range."
    if bounds[0] - case.rounding <= case.measured <= bounds[1] + case.rounding:
        return "Within the range of other runs."
    side = "Below" if case.measured < bounds[0] else "Above"
    return f"{side} the range of other runs."


def pool(case: Case, expected: float, difference: float) -> str:
    """The pool: what took more or less before it, and what that leaves unexplained."""
    result, terms = case.predicted, case.terms
    if result is None:
        return ""
    if expected <= 0 < case.measured:
        return "The scenario does not fit here and the run did: another model, form or split ran."
    left, parts, unprinted = difference, [], []
    for name, measured, sized in (
        ("the budget", terms.requested, result.requested_bytes),
        ("weights", terms.weights, result.loaded_weights_bytes_per_rank),
        ("activations", terms.activation, result.activation_bytes),
        ("non-torch memory", terms.non_torch, result.non_torch_bytes),
        (GRAPHS, terms.cuda_graphs_estimated, result.cuda_graph_bytes),
    ):
        if sized is None or (measured is None and name == "the budget"):
            continue
        if name == GRAPHS and not graphs_in_budget(case.findings, result):
            continue
        if measured is None:
            unprinted.append(name)
            continue
        change = measured.value - sized
        left -= change if name == "the budget" else -change
        if abs(change) >= GIB // 100:
            verb = "is" if name == "the budget" else "took"
            parts.append(f"{name} {verb} {more(change)}")
    if abs(left) > NOT_WORTH_SAYING:
        parts.append(the_rest(-left, unprinted))
    return capital("; ".join(parts) or "small differences of what is taken before it") + "."


def the_rest(change: float, unprinted: list[str]) -> str:
    """What is left of the difference, and whose it is."""
    if not unprinted:
        return f"{gib_text(abs(change))} of it is not told by what is printed"
    *others, last = unprinted
    names = f"{', '.join(others)} and {last}" if others else last
    return f"{more(change)} went to {names}, not printed"


def more(change: float) -> str:
    """How far a term is from the predicted one."""
    return f"{gib_text(abs(change))} {'more' if change > 0 else 'less'}"


def capital(text: str) -> str:
    """A sentence's beginning."""
    return text[:1].upper() + text[1:]


def follows(case: Case) -> str:
    """Blocks, tokens, requests: whether they follow from the printed pool."""
    if case.pinned is None:
        return "Follows from the pool, which the text does not print."
    expected = getattr(case.pinned, case.figure)
    if expected is None:
        return "Napkin expects that the printed pool is refused."
    per_block = case.pinned.kv_cache_bytes_per_block or 1
    available = case.terms.available
    doubt = available.rounding / per_block + 1 if available else 1
    blocks = (available.value if available else 0) // per_block or 1
    if abs(case.measured - expected) <= max(CONCURRENCY_ROUNDING, expected * doubt / blocks):
        return "Follows from the KV pool above."
    return (
        f"The printed pool would hold {expected:,.2f}".removesuffix(".00")
        + ": another rank had less, or the cache is laid out in another way."
    )
