"""The pool lines of SGLang and TensorRT-LLM.

SGLang prints "GB" and divides by 2^30, keeps K and V in pools of their own, and a hybrid model has
a pool for each kind of layer; max_total_num_tokens is what it holds in the end.
Source: public logs of SGLang 0.4 to 0.5 and TensorRT-LLM 0.9 to 1.3.
"""

import re
from typing import Final

from pycore.evidence.reading.numbers import NUMBER, parse_bytes, parse_number
from pycore.evidence.reading.readings import Findings, Reading, Setting
from pycore.evidence.reading.segments import Segment

PRINTED: Final = 3
WEIGHTS: Final = re.compile(rf"Load weight end.{{1,240}}?mem usage={NUMBER} ?GB")
ALLOCATED: Final = re.compile(
    rf"KV Cache is allocated\..{{0,80}}?#tokens: {NUMBER}, "
    rf"(?:K size: {NUMBER} ?GB, V size: {NUMBER} ?GB|KV size: {NUMBER} ?GB)"
)
SLIDING: Final = re.compile(
    rf"SWAKVPool mem usage: {NUMBER} ?GB(?:, swa size: {NUMBER}, full size: {NUMBER})?"
)
GRAPHS: Final = re.compile(rf"cuda graph end.{{1,80}}?mem usage={NUMBER} ?GB", re.IGNORECASE)
HELD: Final = re.compile(r"max_total_num_tokens=(\d{1,15})(?=[,\s])")
SERVES: Final = (
    ("max_num_seqs", re.compile(r"max_running_requests=(\d{1,9})(?=[,\s])")),
    ("max_model_len", re.compile(r"context_len=(\d{1,12})(?=[,\s])")),
)
PAGED: Final = re.compile(
    rf"Allocated {NUMBER} GiB for max tokens in paged KV cache \((\d{{1,15}})\)"
)


def read_other_engines(segment: Segment, findings: Findings) -> bool:
    """Take what SGLang or TensorRT-LLM print of their memory; whether there was any."""
    text = segment.text
    if "paged KV cache" in text:
        return read_paged(segment, findings)
    read = False
    for match in WEIGHTS.finditer(text):
        put(segment, findings, "loaded_weights_bytes_per_rank", *parse_bytes(match[1], "gib"))
        read = True
    for match in GRAPHS.finditer(text):
        put(segment, findings, "cuda_graph_bytes", *parse_bytes(match[1], "gib"))
        read = True
    read = read_pools(segment, findings) or read
    if read:
        findings.engine = "sglang"
    return read


def read_pools(segment: Segment, findings: Findings) -> bool:
    """Take SGLang's pools: each allocation adds to the worker's whole."""
    start, read = findings.start(segment.source), False
    for match in ALLOCATED.finditer(segment.text):
        sizes = [parse_bytes(size, "gib") for size in match.groups()[1:] if size]
        before = start.readings.pop(("available_kv_cache_bytes", segment.worker), None)
        if before is not None and not ALLOCATED.search(before.text):
            # Another engine's pool, in a text that compares the two.
            before = None
        total = sum(size for size, _ in sizes) + (int(before.value) if before else 0)
        doubt = sum(rounding for _, rounding in sizes) + (before.rounding if before else 0.0)
        put(segment, findings, "available_kv_cache_bytes", total, doubt)
        if "held" not in start.marks:
            held = start.readings.get(("kv_cache_size_tokens", segment.worker))
            tokens = max(int(parse_number(match[1])), int(held.value) if held else 0)
            replace_tokens(segment, findings, tokens)
        read = True
    for match in SLIDING.finditer(segment.text):
        start.readings.pop(("available_kv_cache_bytes", segment.worker), None)
        put(segment, findings, "available_kv_cache_bytes", *parse_bytes(match[1], "gib"))
        read = True
    for match in HELD.finditer(segment.text):
        start.marks.add("held")
        replace_tokens(segment, findings, int(match[1]))
        for name, pattern in SERVES:
            served = pattern.search(segment.text)
            if served:
                start.settings[name] = Setting(int(served[1]), segment.number, PRINTED)
        read = True
    return read


def replace_tokens(segment: Segment, findings: Findings, tokens: int) -> None:
    """Say anew what the pool holds."""
    start = findings.start(segment.source)
    start.readings.pop(("kv_cache_size_tokens", segment.worker), None)
    put(segment, findings, "kv_cache_size_tokens", tokens, 0.0)


def read_paged(segment: Segment, findings: Findings) -> bool:
    """Take TensorRT-LLM's pool."""
    match = PAGED.search(segment.text)
    if not match:
        return False
    findings.engine = "tensorrt_llm"
    put(segment, findings, "available_kv_cache_bytes", *parse_bytes(match[1], "gib"))
    put(segment, findings, "kv_cache_size_tokens", int(match[2]), 0.0)
    return True


def put(segment: Segment, findings: Findings, figure: str, value: int, rounding: float) -> None:
    """Add one figure."""
    findings.kinds[figure] += 1
    findings.start(segment.source).add(
        Reading(figure, value, rounding, segment.worker, segment.number, segment.snippet)
    )
