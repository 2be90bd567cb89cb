"""Errors as they are printed: which one a line is, and the numbers that it holds.

Source: vLLM 0.33.0 (v1/worker/utils.py, v1/core/kv_cache_planning.py, v1/worker/gpu_model_runner.py,
config/*.py, distributed/utils.py, model_executor/layers/quantization); PyTorch, NCCL, Kubernetes
and huggingface_hub as public threads quote them.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from pycore.evidence.reading.frames import stage_of
from pycore.evidence.reading.numbers import NUMBER as N
from pycore.evidence.reading.readings import ErrorKind, Findings, Sighting
from pycore.evidence.reading.segments import Segment

W: Final = r"(\d{1,9})"
LONGEST_WORDS: Final = 1500
MOST_OF_A_KIND: Final = 100


@dataclass(frozen=True, slots=True)
class Wording:
    """One error's words; ``is_consequence`` where the cause stands elsewhere in the log."""

    kind: ErrorKind
    anchor: str
    pattern: re.Pattern[str]
    is_consequence: bool = False


def wording(
    kind: ErrorKind, anchor: str, pattern: str = "", *, is_consequence: bool = False
) -> Wording:
    """An error's words; the anchor alone where it holds no numbers."""
    return Wording(kind, anchor, re.compile(pattern or re.escape(anchor)), is_consequence)


MEMORY: Final = (
    wording(
        "free_memory_too_small",
        "is less than desired GPU",
        rf"\({N}/{N} ?GiB\) on startup is less than desired GPU memory utilization \({N}, {N} ?GiB",
    ),
    wording("no_memory_for_kv_cache", "No available memory for the cache blocks"),
    wording(
        "kv_cache_too_small",
        "KV cache is needed",
        rf"max seq len \({W}\), \(?{N} GiB KV cache is needed, which is larger than the available "
        rf"KV cache memory \({N} GiB\)(?:.{{0,60}}estimated maximum model length is {W})?",
    ),
    wording(
        "kv_cache_too_small",
        "can be stored in KV cache",
        rf"max seq len \({W}\) is larger than the maximum number of tokens that can be stored in "
        rf"KV cache \({W}\)",
    ),
    wording("kv_cache_too_small", "Cannot auto-fit max_model_len"),
    wording("weights_exceed_budget", "Failed to load model - not enough GPU memory"),
    wording(
        "warm_up_out_of_memory",
        "when warming up",
        rf"out of memory occurred when warming up (sampler|pooler) with {W} dummy requests",
    ),
    wording(
        "out_of_memory",
        "out of memory. Tried",
        rf"(?:CUDA|HIP|XPU) out of memory\. Tried to allocate {N} (bytes|KiB|MiB|GiB)",
    ),
    wording("out_of_memory", "CUDA error: out of memory"),
    wording(
        "memory_released_while_profiling",
        "Error in memory profiling",
        rf"Initial free memory {N} GiB, current free memory {N} GiB",
    ),
    wording("sglang_pool_too_small", "try to increase --mem-fraction-static"),
    wording("preempted", "preempted by PreemptionMode"),
)

SHAPE: Final = (
    wording(
        "too_many_accelerators",
        "larger than the number of available GPUs",
        rf"orld size \({W}\) is larger than the number of available GPUs \({W}\)",
    ),
    wording(
        "indivisible_heads",
        "attention heads",
        rf"attention heads \({W}\) must be divisible by tensor parallel size \({W}\)",
    ),
    wording("indivisible_kv_heads", "total_num_kv_heads % tp_size"),
    wording(
        "context_parallel", "must be divisible by dcp_size", rf"tp_size={W}.{{1,30}}dcp_size={W}"
    ),
    wording("context_parallel", "Decode context parallelism for GQA/MQA requires"),
    wording("context_parallel", "query heads per KV head"),
    wording("context_parallel", "`--decode-context-parallel-size` (", rf"size` \({W}\) exceeds"),
    wording("pipeline_parallel", "Pipeline parallelism is not supported for this model"),
    wording("unaligned_quantised_shard", "not aligned with the quantized weight shape"),
    wording("unaligned_quantised_shard", "divisible by group_size"),
    wording(
        "unaligned_quantised_shard",
        "is not divisible by",
        rf"(?:partition|size|weight) ?= ?{W} is not divisible by {{1,4}}(?:min_thread_[nk]|weight "
        rf"quantization block_[nk]) ?= ?{W}",
    ),
    wording("indivisible_other", "not divide num_groups"),
    wording(
        "indivisible_other", "must be divisible by ep_size", rf"experts={W} must be.{{1,30}}={W}"
    ),
    wording(
        "indivisible_other", "is not divisible by", rf"(?<![=\d] )\b{W} is not divisible by {W}"
    ),
    wording(
        "indivisible_other",
        "number of experts",
        rf"ensor parallel size {W} is greater than the number of experts {W}",
    ),
    wording(
        "max_model_len_above_model",
        "than the derived max_model_len",
        rf"max_model_len \({W}\) is greater than the derived max_model_len \(\w{{1,40}}={N}",
    ),
    wording(
        "batched_tokens_too_small",
        "max_num_batched_tokens (",
        rf"max_num_batched_tokens \({W}\) (is smaller than max_model_len|must be greater than or "
        rf"equal to max_num_seqs) \({W}\)",
    ),
    wording(
        "quantisation_not_on_accelerator",
        "quantization method",
        rf"method (\S{{1,40}}) is not supported for the current GPU\. Minimum capability: {W}\. "
        rf"Current capability: {W}",
    ),
    wording(
        "dtype_not_on_accelerator",
        "loat16 is only supported",
        rf"Your (.{{1,60}}?) GPU has compute capability {N}",
    ),
    wording("no_attention_backend", "No valid attention backend found"),
    wording(
        "unsupported_architecture",
        "Model architectures",
        r"architectures (\[.{1,120}?\]) (?:are not supported|failed)",
    ),
)

CONTAINER: Final = (
    wording("shared_memory", "shared memory segment", rf"segment /dev/shm\S{{0,80}} \(size {W}\)"),
    wording("shared_memory", "shared memory object", r"unable to open shared memory object"),
    wording(
        "shared_memory",
        "dev/shm",
        r"No space left on device.{0,80}/dev/shm|/dev/shm.{0,160}No space left",
    ),
    wording("shared_memory", "Bus error"),
    wording("shared_memory", "insufficient shared memory"),
    wording("disk_full", "Background writer channel closed"),
    wording("disk_full", "No space left on device"),
    wording("disk_full", "Not enough free disk space"),
    wording(
        "disk_full",
        "ephemeral-storage",
        r"(?:low on resource|exceeds?|usage).{0,80}ephemeral-storage|ephemeral-storage.{0,80}exceed",
    ),
    wording("out_of_host_memory", "OOMKilled"),
    wording(
        "out_of_host_memory", "137", r"(?i:exit(?:ed with)?(?: code)?:? {1,12}(?:code )?137\b)"
    ),
    wording("out_of_host_memory", "SIGKILL"),
    wording(
        "accelerators_not_allocatable",
        "nsufficient ",
        rf"{W} Insufficient (?:nvidia\.com/gpu|amd\.com/gpu)",
    ),
    wording("no_accelerator", "No CUDA GPUs are available"),
    wording("no_accelerator", "Failed to infer device type"),
    wording("no_accelerator", "no NVIDIA driver on your system"),
    wording("probe_failed", "probe failed", r"(Startup|Liveness) probe failed"),
    wording("gated_model", "gated repo"),
    wording("gated_model", "is restricted", r"Access to model \S{1,120} is restricted"),
    wording("collectives_failed", "NCCL error", r"NCCL error.{0,120}"),
    wording(
        "collectives_failed", "NCCL WARN Call to", r"NCCL WARN Call to \w{1,20}(?: .{0,80})? failed"
    ),
    wording(
        "driver_too_old", "driver on your system is too old", rf"too old \(found version {W}\)"
    ),
    wording("no_kernel_for_accelerator", "no kernel image is available"),
    wording(
        "kernel_too_large",
        "out of resource: shared memory",
        rf"shared memory, Required: {W}, Hardware limit: {W}",
    ),
    wording("illegal_memory_access", "illegal memory access was encountered"),
    wording("engine_died", "Engine core initialization failed", is_consequence=True),
    wording("engine_died", "EngineDeadError", is_consequence=True),
    wording("engine_died", "EngineCore failed to start", is_consequence=True),
    wording("engine_died", "Engine process failed to start", is_consequence=True),
    wording("engine_died", "WorkerProc initialization failed", is_consequence=True),
    wording("engine_died", "CrashLoopBackOff", is_consequence=True),
)
WORDINGS: Final = (*MEMORY, *SHAPE, *CONTAINER)
INSIDE: Final = tuple(dict.fromkeys(item.anchor for item in WORDINGS))
CONSEQUENCES: Final = frozenset(item.kind for item in WORDINGS if item.is_consequence)


def tells_of_error(text: str) -> bool:
    """Whether a line may hold one of the errors at all."""
    return any(anchor in text for anchor in INSIDE)


def read_errors(segment: Segment, findings: Findings) -> bool:
    """Take the first error that a segment holds; whether it held one."""
    text = segment.text
    for item in WORDINGS:
        if item.anchor not in text:
            continue
        match = item.pattern.search(text)
        if match:
            note(segment, findings, item.kind, match)
            return True
    return False


def note(segment: Segment, findings: Findings, kind: ErrorKind, match: re.Match[str]) -> None:
    """Note an error once, however many ranks and tracebacks repeat it."""
    findings.kinds[kind] += 1
    stage = stage_of(segment, findings)
    sighting = Sighting(
        kind,
        segment.number,
        segment.text[max(0, match.start() - 80) : match.end() + 160],
        tuple(group or "" for group in match.groups()),
        segment.text[match.start() : match.start() + LONGEST_WORDS],
        stage,
        findings.num_starts,
    )
    for index, before in enumerate(findings.errors):
        if is_same(before, sighting):
            # A headline may stand above the traceback that tells where it happened.
            if stage and not before.stage:
                findings.errors[index] = replace(before, stage=stage)
            return
    # A kind that repeats with ever other numbers says nothing new.
    if findings.kinds[kind] <= MOST_OF_A_KIND:
        findings.errors.append(sighting)


def is_same(before: Sighting, after: Sighting) -> bool:
    """Whether two lines tell of one error: ranks that ran out together differ in what was free."""
    if (before.kind, before.start) != (after.kind, after.start):
        return False
    if before.numbers == after.numbers:
        return True
    return before.kind == "out_of_memory" and before.stage == after.stage
