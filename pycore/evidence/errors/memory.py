"""Errors of GPU memory: before loading, while loading, in the profile, in graphs, in warm-up."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pycore.decide.knobs import Change, single
from pycore.decide.remedies import length_changes
from pycore.evidence.errors.out_of_memory import changes_at, out_of_memory
from pycore.evidence.errors.room import (
    fewer_sequences,
    fewer_tokens,
    lower_utilization,
    more_room,
)
from pycore.evidence.errors.story import Situation, Story, Teller
from pycore.evidence.reading.numbers import gib_text, parse_number
from pycore.sizing.size import size
from pycore.units import GIB, KIB


def free_memory(situation: Situation) -> Story:
    """Less is free than the engine is to take."""
    free, total, share, wanted = (float(parse_number(situation.number(i))) for i in range(4))
    fits = max(0, math.floor(free / total * 100) / 100) if total > 0 else 0.0
    lowered = single("gpu_memory_utilization", fits, f"--gpu-memory-utilization {fits:g}")
    weights = weights_at(situation, fits)
    fit = weights is None or weights < fits * total * GIB
    return Story(
        "The engine takes a share of the GPU's whole memory, and that much is not free.",
        f"{share:g} × {total:g} GiB = {wanted:g} GiB are to be used, {free:g} GiB are free: "
        f"{total - free:.2f} GiB are held by the driver, by another process, or by "
        "an engine that has not ended yet. The largest share that fits is "
        f"{fits:g}"
        + ("." if fit else f", and the {gib_text(weights or 0)} of weights do not fit into it."),
        elsewhere=("end what else runs on the GPU (nvidia-smi lists it)",),
        advised=lowered if fits > 0 and fit else None,
    )


def weights_at(situation: Situation, share: float) -> int | None:
    """The weights of a rank, at a share of the GPU that is there."""
    if situation.result is None or share <= 0:
        return None
    there = size(replace(situation.scenario, gpu_memory_utilization=share, figures=False))
    return there.loaded_weights_bytes_per_rank


def no_pool(situation: Situation) -> Story:
    """Nothing is left for the KV cache."""
    terms = situation.terms
    parts = []
    if terms.requested and terms.weights:
        parts.append(
            f"{gib_text(terms.weights.value)} of weights leave "
            f"{gib_text(terms.requested.value - terms.weights.value)} of the budget of "
            f"{gib_text(terms.requested.value)} for activations, CUDA graphs and everything else."
        )
    if terms.available:
        parts.append(f"The pool came out at {gib_text(terms.available.value)}.")
    if not parts:
        parts.append(predicted_budget(situation))
        parts.append(pool_expected(situation))
    # Narrower elements of the cache need less of the pool; they do not make one.
    changes = (change for change in more_room(situation) if change.field != "kv_cache_dtype")
    return Story(
        "Weights and activations take the whole budget: no block of KV cache fits.",
        " ".join(part for part in parts if part),
        (*changes, fewer_sequences(situation), fewer_tokens(situation)),
    )


def pool_expected(situation: Situation) -> str:
    """What Napkin expects where the engine found nothing."""
    result = situation.result
    if result is None or not result.available_kv_cache_bytes:
        return ""
    if result.available_kv_cache_bytes < 0:
        return "Napkin too finds no room for a pool."
    return (
        f"Napkin sizes a pool of {gib_text(result.available_kv_cache_bytes)}, so this run is of "
        "another model, split or utilisation, or another process held memory."
    )


def predicted_budget(situation: Situation) -> str:
    """The budget and the weights, as Napkin expects them."""
    result = situation.result
    if result is None or result.loaded_weights_bytes_per_rank is None:
        return ""
    return (
        f"Each GPU holds {gib_text(result.loaded_weights_bytes_per_rank)} of weights; the engine "
        f"may use {gib_text(result.requested_bytes)} of {gib_text(result.total_bytes)}."
    )


def pool_too_small(situation: Situation) -> Story:
    """One request of max_model_len, or of any length at all, does not fit into the pool."""
    if not situation.error.numbers:
        return auto_fit(situation)
    if len(situation.error.numbers) == 2:
        longest, held = (int(situation.number(i)) for i in range(2))
        why = f"The pool holds {held:,} tokens; one request may have {longest:,}."
        estimate: int | None = held
    else:
        length, needed, available, told = (situation.number(i) for i in range(4))
        estimate = int(told) if told else None
        why = f"One request of {int(length):,} tokens takes {needed} GiB on each GPU; {available} GiB are there."
        if estimate and int(length):
            why += " " + room_for(
                float(parse_number(needed)), float(parse_number(available)), int(length), estimate
            )
    return Story(
        "The engine starts only if one request of the longest allowed length fits into its pool.",
        why,
        tuple(less_need(situation, estimate)),
        advised=single("max_model_len", estimate, f"--max-model-len {estimate}")
        if estimate
        else None,
    )


def less_need(situation: Situation, estimate: int | None) -> Iterator[Change]:
    """Shorter requests where the engine named no length, then more room."""
    if not estimate and situation.result is not None:
        yield from length_changes(situation.result)
    yield from more_room(situation)


def room_for(needed: float, available: float, length: int, estimate: int) -> str:
    """What the pool holds of such a request; sizes in GiB.

    Where layers claim whole blocks whatever the length, a token's share is no measure.
    """
    per_token = needed * GIB / length
    if abs(per_token * estimate - available * GIB) <= 0.05 * available * GIB:
        return f"At {per_token / KIB:,.1f} KiB a token that is room for about {estimate:,}."
    return f"That is room for about {estimate:,}: a part of it is claimed whatever the length."


def auto_fit(situation: Situation) -> Story:
    """Not a single token fits."""
    return Story(
        "Even a request of one token does not fit: hybrid and sliding layers claim whole blocks.",
        predicted_budget(situation),
        tuple(more_room(situation)),
    )


def weights_too_large(situation: Situation) -> Story:
    """The weights do not fit on the GPU."""
    return Story(
        "The GPU ran out of memory while the weights were loaded.",
        predicted_budget(situation),
        tuple(changes_at(situation, "loading")),
    )


def warm_up(situation: Situation) -> Story:
    """The sampler's warm-up, after the pool was laid out."""
    which, count = situation.number(0), int(situation.number(1))
    result = situation.result
    why = f"{count} dummy requests were sampled at once."
    vocabulary = result.architecture.get("vocab_size") if result else None
    if isinstance(vocabulary, int):
        why += (
            f" Their logits in float32 are {count} × {vocabulary:,} × 4 bytes = "
            f"{gib_text(count * vocabulary * 4)}, several times over, in what the budget leaves: "
            f"{gib_text(max(0, result.total_bytes - result.requested_bytes)) if result else ''}."
        )
    return Story(
        f"The {which} is warmed up after the KV cache took the rest of the budget, in the memory "
        "beyond it; that was not enough.",
        why,
        (fewer_sequences(situation), lower_utilization(situation)),
    )


def released(situation: Situation) -> Story:
    """Another process freed memory while this one measured it."""
    before, after = (float(parse_number(situation.number(i))) for i in range(2))
    return Story(
        "The engine measures itself by what vanishes from the GPU; while it did, more became free.",
        f"{before:g} GiB were free at first, {after:g} GiB after loading: another process let go "
        f"of at least {max(0.0, after - before):.2f} GiB meanwhile.",
        elsewhere=("start again once the other process has ended", "one engine to a container"),
    )


def sglang_pool(situation: Situation) -> Story:
    """SGLang's own advice at start."""
    del situation
    return Story(
        "SGLang lays out its pool in mem-fraction-static of the GPU less the weights: here nothing "
        "is left of it. Raise the fraction; lowering it helps only out of memory while serving.",
        elsewhere=("a larger --mem-fraction-static", "more ranks (--tp)"),
    )


def preempted(situation: Situation) -> Story:
    """Not an error: a request was thrown out of a full pool."""
    return Story(
        "The KV cache was full: a request was taken out, and what it had is computed anew.",
        predicted_budget(situation),
        (fewer_sequences(situation), *more_room(situation)),
    )


TELLERS: Final[dict[str, Teller]] = {
    "free_memory_too_small": free_memory,
    "no_memory_for_kv_cache": no_pool,
    "kv_cache_too_small": pool_too_small,
    "weights_exceed_budget": weights_too_large,
    "warm_up_out_of_memory": warm_up,
    "out_of_memory": out_of_memory,
    "memory_released_while_profiling": released,
    "sglang_pool_too_small": sglang_pool,
    "preempted": preempted,
}
