"""An allocation that failed: when that was, as far as the text tells, and what gives room then.

No part of the start is claimed without a traceback, a line above, or an amount that tells it.
"""

from collections.abc import Iterator
from typing import Final

from pycore.decide.knobs import Change, single
from pycore.decide.remedies import gpu_changes
from pycore.evidence.errors.allocation import Allocation, allocation_of
from pycore.evidence.errors.room import fewer_sequences, fewer_tokens, lower_utilization
from pycore.evidence.errors.story import Situation, Story
from pycore.evidence.reading.numbers import gib_text
from pycore.units import GIB, KIB, MIB

WHEN: Final = {
    "": "at a time that the text does not tell",
    "starting": "before the model was loaded",
    "loading": "while the weights were loaded",
    "loaded": "after the weights were loaded",
    "profiling": "in the profiling run, before the KV cache was laid out",
    "laying out": "while the KV cache was laid out",
    "captured": "once CUDA graphs were being captured, or later",
    "capturing": "while CUDA graphs were captured, after the KV cache was laid out",
    "warming up": "in the warm-up that follows the KV cache",
    "serving": "while serving",
}
# Before the weights are all there, as Napkin sizes them, this share of them tells nothing.
NEARLY: Final = 0.98
# A context and the libraries' own memory are no other tenant's.
OWN_MEMORY: Final = GIB


def out_of_memory(situation: Situation) -> Story:
    """An allocation that failed; when it did tells what to lower."""
    seen = allocation_of(situation.error.words)
    stage = stage_of(situation, seen)
    if seen.exceeds_gpu:
        return Story(
            "One buffer was to be larger than the whole GPU: no room would do for it.",
            f"{size(seen.wanted or 0)} were asked for {WHEN[stage]}, of {size(seen.total or 0)}: a "
            "step's tokens, or the pictures of a request, are too many.",
            (fewer_tokens(situation), fewer_sequences(situation)),
            ("fewer or smaller pictures: --limit-mm-per-prompt, --mm-processor-kwargs",),
        )
    return Story(
        "The GPU has no room for one more allocation of this size.",
        " ".join(reasons(situation, seen, stage)),
        tuple(changes_at(situation, stage)),
        tuple(elsewhere(seen, stage)),
    )


def stage_of(situation: Situation, seen: Allocation) -> str:
    """The part of the start: as the text tells it, else as the amount that was held tells it."""
    told = situation.error.stage
    if seen.exceeds_gpu:
        return told
    if told in {"", "starting"} and seen.pools:
        return "captured"
    weights, held = weights_of(situation), held_by(seen)
    if told in {"", "starting"} and weights is not None and held is not None:
        return "loading" if held < NEARLY * weights else "loaded"
    return told


def weights_of(situation: Situation) -> int | None:
    """The weights of a rank: as the run printed them, else as Napkin sizes them."""
    if situation.terms.weights:
        return situation.terms.weights.value
    result = situation.result
    return None if result is None else result.loaded_weights_bytes_per_rank


def held_by(seen: Allocation) -> int | None:
    """What the process held: its tensors, else all of it."""
    return seen.in_use if seen.allocated is None else seen.allocated


def reasons(situation: Situation, seen: Allocation, stage: str) -> Iterator[str]:
    """When it was, with the numbers that tell."""
    asked = "An allocation failed" if seen.wanted is None else f"{size(seen.wanted)} were asked for"
    first = f"{asked} {WHEN[stage]}"
    if seen.free is not None and seen.total is not None:
        first += f"; {size(seen.free)} of {size(seen.total)} were free"
    yield f"{first}."
    if seen.pools:
        yield f"CUDA graphs held {size(seen.pools)}."
    weights, held = weights_of(situation), held_by(seen)
    if held is not None and weights is not None:
        yield against_weights(situation, held, weights, stage)
    elsewhere_held = held_elsewhere(seen)
    if elsewhere_held > OWN_MEMORY:
        yield f"{size(elsewhere_held)} were held by other processes."
    if seen.unused is not None and seen.wanted is not None and seen.unused > seen.wanted:
        yield f"PyTorch held {size(seen.unused)} in pieces that are each too small for it."


def against_weights(situation: Situation, held: int, weights: int, stage: str) -> str:
    """What the process held beside its weights, and what that leaves open."""
    whose = "" if situation.terms.weights else " that Napkin sizes"
    compared = f"The process held {size(held)}; the weights{whose} are {size(weights)}"
    if stage == "loading" and not situation.error.stage and not names_model(situation):
        return f"{compared}: they were still being loaded, if this is the scenario's model."
    if stage != "loaded":
        return f"{compared}."
    return (
        f"{compared}, so they were there: it was profiling, capturing CUDA graphs, warming up or "
        "serving, and the lines around the error would say which."
    )


def names_model(situation: Situation) -> bool:
    """Whether the text says which model ran, or how large its weights are."""
    return situation.findings.setting("model") is not None or situation.terms.weights is not None


def held_elsewhere(seen: Allocation) -> int:
    """What other processes held, listed or not."""
    if seen.total is None or seen.free is None or seen.in_use is None:
        return seen.others
    return max(seen.others, seen.total - seen.free - seen.in_use)


def size(num_bytes: int) -> str:
    """A size in the unit that PyTorch prints it in."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if num_bytes >= unit:
            return gib_text(num_bytes) if unit == GIB else f"{num_bytes / unit:.2f} {name}"
    return f"{num_bytes} bytes"


def changes_at(situation: Situation, stage: str) -> Iterator[Change]:
    """What gives room at each part of a start, cheapest first.

    The utilisation bounds only what is laid out after the profile: lowering it helps from there
    on, and raising it never does.
    """
    result = situation.result
    if stage in {"starting", "loading"}:
        if situation.scenario.quantization is None:
            yield single("quantization", "fp8", "fp8 weights")
    elif stage == "profiling":
        yield fewer_tokens(situation)
        yield fewer_sequences(situation)
    else:
        yield lower_utilization(situation)
        yield fewer_sequences(situation)
        yield fewer_tokens(situation)
    if stage == "capturing" and not situation.scenario.enforce_eager:
        yield single("enforce_eager", value=True, label="--enforce-eager")
    if result is not None:
        yield from gpu_changes(situation.scenario, result)
    else:
        ranks = situation.scenario.tensor_parallel_size * 2
        yield single("tensor_parallel_size", ranks, f"TP {ranks}")


def elsewhere(seen: Allocation, stage: str) -> Iterator[str]:
    """What to do outside the scenario."""
    if held_elsewhere(seen) > OWN_MEMORY or stage == "starting":
        yield "end what else runs on the GPU (nvidia-smi lists it)"
    if seen.unused is not None and seen.wanted is not None and seen.unused > seen.wanted:
        yield "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
    if stage == "":
        yield "paste the lines above the error: its traceback tells when it happened"
