"""The words in which vLLM prints its memory, from 0.5 to 0.33.

A phrase is as little of a sentence as tells the figure, so that a line that was cut, wrapped or
run into another still yields what it holds. A number counts only with what follows it: one that
was cut short is not taken for a smaller one.

Source: vLLM 0.33.0, v1/worker/gpu_worker.py, v1/worker/gpu_model_runner.py,
v1/core/kv_cache_utils.py, v1/core/kv_cache_planning.py, utils/mem_utils.py; older wordings from
public logs of the versions named beside them.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from pycore.evidence.reading.numbers import NUMBER, parse_bytes, parse_number
from pycore.evidence.reading.readings import Findings, Reading, Setting
from pycore.evidence.reading.segments import Segment

Unit = Literal["gib", "bytes", "count", "share", "setting"]

GIB: Final = rf"{NUMBER} ?GiB"
# vLLM up to 0.6 prints "GB" and divides by 2^30.
GB: Final = rf"{NUMBER} ?GB"


@dataclass(frozen=True, slots=True)
class Phrase:
    """One wording: where it stands, its pattern, and what each group of it is."""

    anchor: str
    pattern: re.Pattern[str]
    groups: tuple[tuple[str, Unit], ...]
    kind: str


def phrase(anchor: str, pattern: str, *groups: tuple[str, Unit], kind: str = "") -> Phrase:
    """A phrase whose kind is its first figure's name unless it has one of its own."""
    return Phrase(anchor, re.compile(pattern), groups, kind or groups[0][0])


WEIGHTS: Final = "loaded_weights_bytes_per_rank"
POOL: Final = "available_kv_cache_bytes"
UTILIZATION: Final = ("gpu_memory_utilization", "setting")

VLLM: Final = (
    # weights: 0.5 to 0.6 · 0.8 on · the V0 engine · debug level · the closing summary
    phrase("weights took", rf"Loading model weights took {GB}\b", (WEIGHTS, "gib")),
    phrase("loading took", rf"Model loading took {GIB}", (WEIGHTS, "gib")),
    phrase("weights take", rf"model weights take {GIB}", (WEIGHTS, "gib")),
    phrase("weights memory", rf"weights memory: {GIB}", (WEIGHTS, "gib")),
    phrase("for weight", rf"{GIB} for weight\b", (WEIGHTS, "gib")),
    # activations: from 0.27 the closing summary's includes the estimate for CUDA graphs
    phrase(
        "activation peak",
        rf"PyTorch activation peak memory takes {GIB}",
        ("activation_bytes", "gib"),
    ),
    phrase(
        "torch peak",
        rf"torch peak memory increase: {GIB}; non-torch",
        ("activation_bytes", "gib"),
    ),
    phrase(
        "torch peak",
        rf"torch peak memory increase: {GIB}; total",
        ("torch_peak_increase_bytes", "gib"),
    ),
    phrase(
        "for peak activation",
        rf"{GIB} for peak activation",
        ("printed_peak_activation_bytes", "gib"),
    ),
    phrase("peak_torch", rf"peak_torch_memory={GIB}", ("peak_torch_bytes", "gib")),
    # outside the tensor library
    phrase("non_torch", rf"non_torch_memory(?: takes |=){GIB}", ("non_torch_bytes", "gib")),
    phrase("non-torch", rf"{GIB} for non-torch memory", ("non_torch_bytes", "gib")),
    phrase(
        "non-torch",
        rf"non-torch forward increase memory: {GIB}",
        ("non_torch_bytes", "gib"),
    ),
    phrase("consumed", rf"{GIB} for consumed memory", ("consumed_bytes", "gib")),
    phrase("consumed", rf"total consumed \(from mem_get_info\): {GIB}", ("consumed_bytes", "gib")),
    phrase(
        "non KV cache", rf"Total non KV cache memory: {GIB}", ("total_non_kv_cache_bytes", "gib")
    ),
    # CUDA graphs: what they took, and what had been set aside
    phrase(
        "capturing finished",
        rf"capturing finished in .{{1,24}}, took {GIB}",
        ("cuda_graph_bytes", "gib"),
    ),
    phrase("CUDAGraph", rf"{GIB} for CUDAGraph memory", ("cuda_graph_bytes", "gib")),
    phrase(
        "(estimated)",
        rf"{GIB} \(actual\), {GIB} \(estimated\)",
        ("cuda_graph_bytes", "gib"),
        ("cuda_graph_estimated_bytes", "gib"),
    ),
    phrase(
        "Estimated",
        rf"Estimated (?:MRV2 )?CUDA graph memory:\s{{1,40}}{GIB}",
        ("cuda_graph_estimated_bytes", "gib"),
    ),
    # the pool: V0 · 0.6 · 0.10 to 0.33 · its exact bytes in 0.10 and 0.11
    phrase("reserved for KV", rf"reserved for KV Cache is {GIB}", (POOL, "gib")),
    phrase("kv_cache_size", rf"kv_cache_size={GIB}", (POOL, "gib")),
    phrase("KV cache memory:", rf"Available KV cache memory: {GIB}", (POOL, "gib")),
    phrase("in use is", rf"kv cache memory in use is {GIB}", (POOL, "gib")),
    phrase("in use is", rf"kv cache memory in use is {NUMBER} bytes", (POOL, "bytes")),
    phrase("reserved ", rf"reserved {GIB} memory for KV Cache as specified", (POOL, "gib")),
    # the accelerator and the budget
    phrase(
        "memory on device",
        rf"Free memory on device(?: \S{{1,20}})? \({NUMBER}/{GIB}\)",
        ("accelerator_free_bytes", "gib"),
        ("total_bytes", "gib"),
    ),
    phrase(
        "memory utilization",
        rf"esired GPU memory utilization(?: is)? \({NUMBER}, {GIB}\)",
        UTILIZATION,
        ("requested_bytes", "gib"),
        kind="requested_bytes",
    ),
    phrase("total_gpu_memory", rf"total_gpu_memory(?: \(|=){GIB}", ("total_bytes", "gib")),
    phrase(
        "gpu_memory_utilization (",
        rf"x gpu_memory_utilization \({NUMBER}\) ?= ?{GIB}",
        UTILIZATION,
        ("requested_bytes", "gib"),
        kind="requested_bytes",
    ),
    phrase("gpu_memory_utilization=", rf"gpu_memory_utilization={NUMBER}(?=\s|$)", UTILIZATION),
    phrase(
        "(util)",
        rf"Requested memory: {NUMBER} \(util\), {GIB}",
        UTILIZATION,
        ("requested_bytes", "gib"),
    ),
    phrase("Initial free", rf"Initial free memory: {GIB}", ("accelerator_free_bytes", "gib")),
    # what the pool holds
    phrase(
        "CPU blocks", rf"# (?:GPU|CUDA|cuda) blocks: {NUMBER}, # CPU", ("num_gpu_blocks", "count")
    ),
    phrase(
        "num_gpu_blocks", rf"num_gpu_blocks(?: is)?[=:] ?{NUMBER}[,\s]", ("num_gpu_blocks", "count")
    ),
    phrase("KV cache size", rf"KV cache size: {NUMBER} tokens", ("kv_cache_size_tokens", "count")),
    phrase(
        "aximum concurrency",
        rf"aximum concurrency for {NUMBER} tokens per request: {NUMBER}x",
        ("max_model_len", "setting"),
        ("kv_cache_max_concurrency", "count"),
        kind="kv_cache_max_concurrency",
    ),
    # what an error or an automatic choice says of the pool
    phrase(
        "KV cache is needed",
        rf"max seq len \({NUMBER}\), \(?{GIB} KV cache is needed, which is larger than the "
        rf"available KV cache memory \({GIB}\)",
        ("max_model_len", "setting"),
        ("needed_kv_cache_bytes", "gib"),
        (POOL, "gib"),
        kind="needed_kv_cache_bytes",
    ),
    phrase(
        "maximum model length",
        rf"estimated maximum model length is {NUMBER}\.",
        ("estimated_max_model_len", "count"),
    ),
    phrase(
        "stored in KV cache",
        rf"max seq len \({NUMBER}\) is larger than the maximum number of tokens that can be "
        rf"stored in KV cache \({NUMBER}\)",
        ("max_model_len", "setting"),
        ("kv_cache_size_tokens", "count"),
        kind="kv_cache_size_tokens",
    ),
    phrase(
        "stored in KV cache",
        rf"can be stored in KV cache \({NUMBER}\)",
        ("estimated_max_model_len", "count"),
    ),
    phrase(
        "Auto-fit",
        rf"reduced from {NUMBER} to {NUMBER} to fit in available KV cache memory \({GIB}",
        ("model_limit_tokens", "count"),
        ("max_model_len", "setting"),
        (POOL, "gib"),
        kind="max_model_len",
    ),
    phrase(
        "max_num_batched_tokens=",
        rf"Chunked prefill is enabled with max_num_batched_tokens={NUMBER}\.",
        ("max_num_batched_tokens", "setting"),
    ),
    # PyTorch's own words for a failed allocation tell the GPU's memory as vLLM reads it
    phrase("total capac", rf"has a total capaci?ty of {GIB} of which", ("total_bytes", "gib")),
    phrase("max model len", rf"Using max model len {NUMBER}(?=\s|$)", ("max_model_len", "setting")),
    phrase(
        "block size",
        rf"Setting (?:kv cache|attention) block size to {NUMBER} (?:for|tokens)",
        ("block_size", "count"),
    ),
    phrase(
        "dcp_world_size",
        rf"the dcp_world_size {NUMBER}\.",
        ("decode_context_parallel_size", "setting"),
    ),
)

BY_ANCHOR: Final = {
    anchor: tuple(item for item in VLLM if item.anchor == anchor)
    for anchor in dict.fromkeys(item.anchor for item in VLLM)
}
# An effective value, printed by the engine itself, is trusted over an argument.
PRINTED: Final = 3


def read_phrases(segment: Segment, findings: Findings) -> bool:
    """Take every figure of vLLM's that a segment holds; whether there was one."""
    text, read = segment.text, False
    for anchor, wordings in BY_ANCHOR.items():
        if anchor in text:
            for wording in wordings:
                for match in wording.pattern.finditer(text):
                    take(segment, findings, wording, match)
                    read = True
    return read


def take(segment: Segment, findings: Findings, wording: Phrase, match: re.Match[str]) -> None:
    """Take the figures of one match."""
    start = findings.start(segment.source)
    findings.kinds[wording.kind] += 1
    for (figure, unit), text in zip(wording.groups, match.groups(), strict=True):
        if unit == "setting":
            value = parse_number(text)
            start.settings[figure] = Setting(value, segment.number, PRINTED)
            continue
        if unit in {"gib", "bytes"}:
            value, rounding = parse_bytes(text, unit)
        else:
            value, rounding = parse_number(text), 0.005 if "." in text else 0.0
        start.add(Reading(figure, value, rounding, segment.worker, segment.number, segment.snippet))
