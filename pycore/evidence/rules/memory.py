"""Rules of a start: the budget must close, and ranks, blocks and GPUs must agree."""

from collections.abc import Iterator
from typing import Final

from pycore.evidence import identify
from pycore.evidence.reading.numbers import gib_text
from pycore.evidence.recognise import counted_ranks
from pycore.evidence.rules.rule import Check, Contradiction, Evidence
from pycore.sizing.result import SizeResult
from pycore.units import GIB

# Printed with two decimals, five terms close to this.
CLOSES: Final = GIB // 16


def identity(evidence: Evidence) -> Iterator[Contradiction]:
    """Utilisation × total − weights − activations − non-torch − graphs = pool."""
    terms = evidence.terms
    fixed = evidence.findings.setting("kv_cache_memory_bytes")
    if evidence.scenario.pipeline_parallel_size > 1 or fixed is not None:
        return
    requested, available = terms.requested, terms.available
    taken = (terms.weights, terms.activation, terms.non_torch)
    if requested is None or available is None or None in taken:
        return
    left = requested.value - sum(term.value for term in taken if term is not None)
    graphs = terms.cuda_graphs_estimated.value if terms.cuda_graphs_estimated else 0
    misses = [left - available.value, left - graphs - available.value]
    if min(abs(miss) for miss in misses) <= CLOSES:
        return
    miss = misses[0]
    if evidence.graphs_in_budget and 0 < miss <= unprinted_graphs(evidence):
        return
    yield Contradiction(
        "budget_does_not_close",
        f"{gib_text(requested.value)} less weights, activations and non-torch leave "
        f"{gib_text(left)}; the log prints a pool of {gib_text(available.value)}: "
        f"{gib_text(abs(miss))} {'are missing' if miss > 0 else 'too much'}. The terms may be of "
        "different ranks, or of different starts.",
        {
            "requested_bytes": requested.value,
            "left_bytes": left,
            "available_kv_cache_bytes": available.value,
        },
    )


def unprinted_graphs(evidence: Evidence) -> float:
    """The most that an estimate for CUDA graphs may come to which the text does not print."""
    result = evidence.predicted
    if evidence.terms.cuda_graphs_estimated is not None or result is None:
        return 0.0
    return result.bounds.get("cuda_graph_bytes", (0.0, 0.0))[1]


def utilization(evidence: Evidence) -> Iterator[Contradiction]:
    """Weights and pool alone must fit into the share of the GPU that is said to be used."""
    terms, share = evidence.terms, evidence.scenario.gpu_memory_utilization
    result = evidence.predicted
    if terms.weights is None or terms.available is None or result is None:
        return
    if evidence.findings.setting("kv_cache_memory_bytes") is not None:
        return
    total = terms.total.value if terms.total else result.total_bytes
    if share is None:
        chosen = result.chosen.get("gpu_memory_utilization")
        share = chosen if isinstance(chosen, float) else 1.0
    held = terms.weights.value + terms.available.value
    doubt = terms.weights.rounding + terms.available.rounding
    doubt += share * (terms.total.rounding if terms.total else 0.0)
    if held <= share * total + doubt:
        return
    yield Contradiction(
        "more_than_the_budget",
        f"{gib_text(terms.weights.value)} of weights and a pool of "
        f"{gib_text(terms.available.value)} are {gib_text(held)}: more than {share:g} × "
        f"{gib_text(total)} = {gib_text(share * total)}. The run used more than {held / total:.3f}.",
        {"held_bytes": held, "requested_bytes": int(share * total), "utilization": share},
    )


def tokens(evidence: Evidence) -> Iterator[Contradiction]:
    """Tokens over blocks are the block size, where a model has one kind of cache."""
    size, blocks = evidence.value("kv_cache_size_tokens"), evidence.value("num_gpu_blocks")
    block_size = evidence.value("block_size")
    if not size or not blocks or not block_size:
        return
    ranks = evidence.scenario.decode_context_parallel_size
    if evidence.pinned is not None and is_grouped(evidence.pinned):
        return
    # int(concurrency × length) may fall short of a block's end.
    if abs(size - blocks * block_size * ranks) <= max(block_size * ranks, size * 0.001):
        return
    yield Contradiction(
        "tokens_do_not_follow_from_blocks",
        f"{size:,.0f} tokens in {blocks:,.0f} blocks are {size / blocks:.2f} a block; the block "
        f"size is said to be {block_size:.0f}.",
        {"kv_cache_size_tokens": size, "num_gpu_blocks": blocks, "block_size": block_size},
    )


def is_grouped(result: SizeResult) -> bool:
    """Whether the model's cache has several groups: then tokens are no multiple of blocks."""
    if not result.num_gpu_blocks or not result.kv_cache_size_tokens:
        return True
    per_block = result.kv_cache_size_tokens / result.num_gpu_blocks
    return abs(per_block - (result.block_size or 16)) > 1


def pool(evidence: Evidence) -> Iterator[Contradiction]:
    """What the printed pool holds by this model's cost of a token, against what was printed."""
    printed, available = evidence.value("kv_cache_size_tokens"), evidence.terms.available
    result = evidence.pinned
    if result is not None and not result.kv_cache_size_tokens:
        result = evidence.fitted
    if not printed or available is None or result is None or not result.kv_cache_size_tokens:
        return
    holds = result.kv_cache_size_tokens
    doubt = available.rounding / available.value if available.value > 0 else 1.0
    if abs(printed - holds) <= holds * max(0.02, 2 * doubt):
        return
    if is_grouped(result):
        return
    less = printed < holds
    yield Contradiction(
        "tokens_not_of_this_pool",
        f"{gib_text(available.value)} hold {holds:,} tokens of this model, but {printed:,.0f} were "
        f"printed: {'another rank had less' if less else 'the cache has narrower elements'}, or it "
        "is another model or split.",
        {"kv_cache_size_tokens": printed, "holds_tokens": holds},
    )


def ranks(evidence: Evidence) -> Iterator[Contradiction]:
    """The ranks that speak, the size that was set, and the ranks started must be one."""
    findings = evidence.findings
    counted, stated = counted_ranks(findings), findings.setting("tensor_parallel_size")
    if isinstance(stated, int) and counted > stated:
        yield Contradiction(
            "ranks_above_tensor_parallel_size",
            f"Rank TP{counted - 1} speaks in a log that says tensor_parallel_size {stated}.",
            {"ranks": counted, "tensor_parallel_size": stated},
        )
    world = findings.setting("world_size")
    planned = evidence.scenario.tensor_parallel_size * evidence.scenario.pipeline_parallel_size
    if isinstance(world, int) and world % planned:
        yield Contradiction(
            "world_size_differs",
            f"{world} ranks were started; TP × PP is {planned}.",
            {"world_size": world, "planned": planned},
        )


def memory_size(evidence: Evidence) -> Iterator[Contradiction]:
    """The printed memory must be one that the GPU named has."""
    total, scenario = evidence.findings.deciding("total_bytes"), evidence.scenario
    if total is None or scenario.accelerator is None:
        return
    named = any(identify.accelerator_of(name) for name in evidence.findings.accelerator_names)
    if not named or scenario.accelerator in identify.accelerators_with(total):
        return
    yield Contradiction(
        "memory_of_another_accelerator",
        f"The engine saw {gib_text(total.value)}, which is not the memory of the GPU named: it is "
        "sliced, shared with a virtual machine, or another one.",
        {"total_bytes": total.value, "accelerator": scenario.accelerator},
    )


RULES: Final[tuple[Check, ...]] = (
    identity,
    utilization,
    tokens,
    pool,
    ranks,
    memory_size,
)
