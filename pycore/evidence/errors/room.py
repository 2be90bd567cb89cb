"""Changes that leave more room."""

from collections.abc import Iterator

from pycore.decide.knobs import Change, single
from pycore.decide.remedies import memory_changes
from pycore.evidence.errors.story import Situation


def more_room(situation: Situation) -> Iterator[Change]:
    """More room for the KV cache, or less need of it, cheapest first."""
    if situation.result is not None:
        yield from memory_changes(situation.scenario, situation.result)
        return
    yield single("kv_cache_dtype", "fp8", "--kv-cache-dtype fp8")
    yield single("gpu_memory_utilization", 0.95, "--gpu-memory-utilization 0.95")
    yield from wider(situation)


def utilization_of(situation: Situation) -> float:
    """The share of the GPU that the engine was to use."""
    result = situation.result
    chosen = result.chosen.get("gpu_memory_utilization") if result else None
    return chosen if isinstance(chosen, float) else situation.scenario.gpu_memory_utilization or 0.9


def lower_utilization(situation: Situation, step: float = 0.03) -> Change:
    """A slightly smaller share of the GPU: more is left beyond the budget."""
    share = round(max(0.05, utilization_of(situation) - step), 2)
    return single("gpu_memory_utilization", share, f"--gpu-memory-utilization {share:g}")


def fewer_sequences(situation: Situation) -> Change:
    """A quarter of the sequences that are scheduled at once."""
    result = situation.result
    chosen = situation.scenario.max_num_seqs
    if chosen is None and result is not None:
        found = result.chosen.get("max_num_seqs")
        chosen = found if isinstance(found, int) else None
    count = max(1, (chosen or 256) // 4)
    return single("max_num_seqs", count, f"--max-num-seqs {count}")


def fewer_tokens(situation: Situation) -> Change:
    """A quarter of the tokens of a step."""
    result = situation.result
    chosen = situation.scenario.max_num_batched_tokens
    if chosen is None and result is not None:
        found = result.chosen.get("max_num_batched_tokens")
        chosen = found if isinstance(found, int) else None
    count = max(256, (chosen or 8192) // 4)
    return single("max_num_batched_tokens", count, f"--max-num-batched-tokens {count}")


def wider(situation: Situation) -> tuple[Change, ...]:
    """Twice the ranks."""
    ranks = situation.scenario.tensor_parallel_size * 2
    return (single("tensor_parallel_size", ranks, f"TP {ranks}"),)
