"""Errors of the shape: ranks, heads, shards, lengths, element types, backends."""

from collections.abc import Iterator
from typing import Final

from pycore.decide.knobs import Change, single
from pycore.evidence.errors.story import Situation, Story, Teller
from pycore.evidence.reading.numbers import counted

SIZES: Final = (1, 2, 4, 8, 16, 32, 64)


def other_sizes(situation: Situation) -> Iterator[Change]:
    """Other tensor-parallel sizes, the nearest first."""
    here = situation.scenario.tensor_parallel_size
    for size in sorted(SIZES, key=lambda size: (abs(size - here), size)):
        if size != here:
            yield single("tensor_parallel_size", size, f"--tensor-parallel-size {size}")


def ranks_above_gpus(situation: Situation) -> Story:
    """More ranks than the container sees GPUs."""
    ranks, seen = (int(situation.number(i)) for i in range(2))
    fits = max(size for size in SIZES if size <= max(1, seen))
    return Story(
        "The engine wants one GPU for every rank and sees fewer.",
        f"{counted(ranks, 'rank')} {'was' if ranks == 1 else 'were'} asked for; the container sees {seen}. Three numbers must agree: the "
        f"pod's nvidia.com/gpu, --tensor-parallel-size (× --pipeline-parallel-size), and the GPUs "
        "of the node.",
        (single("tensor_parallel_size", fits, f"--tensor-parallel-size {fits}"),),
        (
            f"resources.limits: nvidia.com/gpu: {ranks} (docker: --gpus {ranks})",
            "over several nodes: --distributed-executor-backend ray, or --nnodes",
        ),
    )


def heads(situation: Situation) -> Story:
    """Attention heads that TP does not divide."""
    count, size = (int(situation.number(i)) for i in range(2))
    works = [n for n in range(1, min(count, 64) + 1) if count % n == 0]
    return Story(
        "Each rank takes whole attention heads, the same number on each.",
        f"{counted(count, 'head')} over {counted(size, 'rank')} leave a remainder. Sizes that divide them: "
        f"{', '.join(map(str, works))}.",
        tuple(other_sizes(situation)),
    )


def kv_heads(situation: Situation) -> Story:
    """Key-value heads that can be neither split nor repeated."""
    result = situation.result
    count = result.architecture.get("num_key_value_heads") if result else None
    said = f"The model has {count} of them. " if count else ""
    return Story(
        "Key-value heads must divide the ranks or be divided by them.",
        said + "The assertion is printed without a message.",
        tuple(other_sizes(situation)),
    )


def indivisible(situation: Situation) -> Story:
    """Any other size that TP does not divide."""
    if "number of experts" in situation.error.text:
        return experts(situation)
    numbers = [number for number in situation.error.numbers if number]
    why = (
        f"A dimension of {numbers[0]} is to be split over {numbers[1]} ranks."
        if len(numbers) > 1
        else "Groups of state heads are neither one nor a multiple of the ranks."
    )
    return Story(
        "A part of the model cannot be split evenly over this many ranks.",
        why,
        tuple(other_sizes(situation)),
    )


def shard(situation: Situation) -> Story:
    """A shard of a quantised weight that cuts through a group or a block of scales."""
    numbers = [number for number in situation.error.numbers if number]
    why = (
        f"A rank's part is {numbers[0]} wide, and its scales cover {numbers[1]} at a time."
        if len(numbers) > 1
        else "A rank's part is no whole number of groups of scales."
    )
    return Story(
        "Quantised weights are split only where their scales are: with this many ranks a shard "
        "ends inside a group.",
        why,
        tuple(other_sizes(situation)),
        ("expert parallelism keeps experts whole (--enable-expert-parallel)",),
    )


def experts(situation: Situation) -> Story:
    """More ranks than experts."""
    size, count = (int(situation.number(i)) for i in range(2))
    return Story(
        "This model wants at least one expert for each rank, and there are more ranks than experts.",
        f"TP {size} against {count} experts.",
        tuple(other_sizes(situation)),
    )


def context_parallel(situation: Situation) -> Story:
    """Decode context parallelism that the ranks or the heads do not allow."""
    return Story(
        "Decode context parallelism shares one request's tokens among ranks that would otherwise "
        "hold copies of the same KV heads; there are none here, or too few.",
        f"TP {situation.scenario.tensor_parallel_size}, DCP "
        f"{situation.scenario.decode_context_parallel_size}.",
        (single("decode_context_parallel_size", 1, "--decode-context-parallel-size 1"),),
    )


def pipeline(situation: Situation) -> Story:
    """A model that cannot be cut into stages."""
    ranks = situation.scenario.tensor_parallel_size * situation.scenario.pipeline_parallel_size
    return Story(
        "The engine's code of this model does not say where it can be cut into stages.",
        f"PP {situation.scenario.pipeline_parallel_size}.",
        (
            Change(
                "pipeline_parallel_size",
                1,
                f"TP {ranks}, PP 1",
                {"pipeline_parallel_size": 1, "tensor_parallel_size": ranks},
            ),
        ),
    )


def too_long(situation: Situation) -> Story:
    """A length above what the model was made for."""
    asked, limit = int(situation.number(0)), int(float(situation.number(1) or 0))
    return Story(
        "The model was not made for requests this long; beyond its limit it degrades.",
        f"{asked:,} tokens were asked for, its config says {limit:,}.",
        (single("max_model_len", limit, f"--max-model-len {limit}"),) if limit > 0 else (),
        ("rope scaling, if the model's card names it; VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 only then",),
    )


def batch(situation: Situation) -> Story:
    """A step smaller than what it must hold."""
    tokens, rule, least = (situation.number(i) for i in range(3))
    what = "sequences" if "max_num_seqs" in rule else "tokens of the longest request"
    return Story(
        "One step must hold at least a token of every sequence, and without chunked prefill a "
        "whole prompt.",
        f"{tokens} tokens a step, {least} {what}.",
        (single("max_num_batched_tokens", int(least), f"--max-num-batched-tokens {least}"),),
    )


def quantization(situation: Situation) -> Story:
    """A quantised form that the GPU has no kernel for."""
    method, needed, here = (situation.number(i) for i in range(3))
    return Story(
        "This GPU is too old for the kernels of this quantised form.",
        f"{method} needs compute capability {needed[:-1]}.{needed[-1:]}; this GPU has "
        f"{here[:-1]}.{here[-1:]}.",
        (single("quantization", None, "weights as published"),)
        if situation.scenario.quantization
        else (),
        ("another quantised form of the same model (AWQ or GPTQ)",),
    )


def element_type(situation: Situation) -> Story:
    """bfloat16 on a GPU that does not compute in it."""
    name, capability = situation.number(0), situation.number(1)
    return Story(
        "bfloat16 came with compute capability 8.0 (Ampere).",
        f"{name} has {capability}.",
        (single("dtype", "float16", "--dtype half"),),
    )


def backend(situation: Situation) -> Story:
    """No attention kernel for this model, element type and GPU."""
    cache = situation.scenario.kv_cache_dtype
    changes = (
        () if cache == "auto" else (single("kv_cache_dtype", "auto", "--kv-cache-dtype auto"),)
    )
    return Story(
        "No attention kernel takes this head size and KV element type on this GPU; the line lists "
        "what each lacks. Sparse attention (DeepSeek-V3.2, GLM-5) needs Hopper or Blackwell.",
        f"KV cache in {cache}.",
        changes,
        ("a GPU of a newer generation",),
    )


def architecture(situation: Situation) -> Story:
    """A model that this version of the engine does not know."""
    return Story(
        "This version of the engine has no code for the model's class.",
        f"The config names {situation.number(0)}." if situation.number(0) else "",
        elsewhere=("a newer version of the engine", "a newer transformers, for its own backend"),
    )


TELLERS: Final[dict[str, Teller]] = {
    "too_many_accelerators": ranks_above_gpus,
    "indivisible_heads": heads,
    "indivisible_kv_heads": kv_heads,
    "indivisible_other": indivisible,
    "unaligned_quantised_shard": shard,
    "context_parallel": context_parallel,
    "pipeline_parallel": pipeline,
    "max_model_len_above_model": too_long,
    "batched_tokens_too_small": batch,
    "quantisation_not_on_accelerator": quantization,
    "dtype_not_on_accelerator": element_type,
    "no_attention_backend": backend,
    "unsupported_architecture": architecture,
}
