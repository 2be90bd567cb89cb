"""An engine's log, line by line: who it is, how far its start came, what it has printed.

Every reader looks at a segment and takes what it knows; what none knows is left alone.
"""

import re
from typing import Final

from pycore.evidence.reading.arguments import read_arguments, read_command, read_manifest
from pycore.evidence.reading.other_engines import read_other_engines
from pycore.evidence.reading.phrases import read_phrases
from pycore.evidence.reading.readings import Findings, Reading, Setting
from pycore.evidence.reading.segments import Segment

VERSION: Final = re.compile(
    r"(?:API server|server|batch processing API|[█▀▄] {1,6})\s?version (\d[\w.+-]{1,60})"
)
CONFIG: Final = re.compile(r"LLM engine \(v[\w.+-]{1,60}\) with config: ")
SERVING: Final = re.compile(r"(?:[█▀▄] {1,6}model {1,6}|serving model )(\S{1,200})")
DEVICE: Final = re.compile(r"device_name=([\w-]{3,80}?)(?:,|\.json|$)")
NAMED_DEVICE: Final = re.compile(r"Your (\S[\w ()-]{1,60}?) GPU has compute capability")
PLACE: Final = re.compile(
    r"rank \d{1,5} in world size (\d{1,5}) is assigned as "
    r"DP rank (\d{1,5}), PP rank (\d{1,5}),(?: PCP rank \d{1,5},)? TP rank (\d{1,5})"
)
EQUIVALENT: Final = re.compile(
    r"gpu-memory-utilization=(0?\.\d{1,6}|1\.0{1,6}) is equivalent to "
    r"--gpu-memory-utilization=(0?\.\d{1,6})"
)
ESTIMATES_OFF: Final = "CUDA graph memory profiling is disabled"
# How far a start has come, by the line that ends each part of it.
STAGES: Final = (
    ("Starting to load model", "loading"),
    ("loading took", "profiling"),
    ("weights took", "profiling"),
    ("KV cache memory:", "capturing"),
    ("KV cache size:", "capturing"),
    ("U blocks:", "capturing"),
    ("capturing finished", "warming up"),
    ("startup complete", "serving"),
)


def read_log(segment: Segment, findings: Findings) -> bool:
    """Take what one segment of an engine's log says; whether it said anything."""
    text = segment.text
    note_stage(segment, findings)
    read = read_identity(segment, findings)
    if "args" in text or "with config:" in text:
        read = read_arguments(segment, findings) or read
    if "vllm serve" in text or "api_server" in text or "launch_server" in text:
        read = read_command(segment, findings) or read
    elif "--" in text:
        read = read_manifest(segment, findings) or read
    read = read_phrases(segment, findings) or read
    if "#tokens:" in text or "mem usage" in text or "num_tokens=" in text or "paged KV" in text:
        read = read_other_engines(segment, findings) or read
    if "is equivalent to" in text or ESTIMATES_OFF in text:
        read = read_estimate(segment, findings) or read
    if read and segment.worker:
        findings.start(segment.source).places.add(segment.worker)
    return read


def start_mark(segment: Segment) -> str | None:
    """What marks a line with which an engine begins; None for any other line."""
    if "version " in segment.text and VERSION.search(segment.text):
        return f"version {segment.process.name}"
    if "with config:" in segment.text and CONFIG.search(segment.text):
        return f"config {segment.process.name}"
    return None


def note_stage(segment: Segment, findings: Findings) -> None:
    """Remember how far the start has come, by what ends each part of it."""
    for mark, stage in STAGES:
        if mark in segment.text:
            findings.start(segment.source).stage = stage


def read_identity(segment: Segment, findings: Findings) -> bool:
    """Take the version, the model's name, the GPU's and the ranks' places."""
    text, read = segment.text, False
    mark = start_mark(segment)
    if mark:
        findings.begin(segment.source, mark)
    match = VERSION.search(text) if "version " in text else None
    if match:
        findings.engine = findings.engine or "vllm"
        keep(segment, findings, "engine_version", match[1])
        read = True
    match = SERVING.search(text) if "model" in text else None
    if match:
        keep(segment, findings, "model", match[1])
        read = True
    for pattern in (DEVICE, NAMED_DEVICE):
        match = pattern.search(text)
        if match:
            findings.accelerator_names.setdefault(match[1].replace("_", " "), segment.number)
            findings.kinds["accelerator"] += 1
            read = True
    match = PLACE.search(text) if "is assigned as" in text else None
    if match:
        keep(segment, findings, "world_size", int(match[1]))
        findings.start(segment.source).places.add(f"DP{match[2]} PP{match[3]} TP{match[4]}")
        read = True
    return read


def keep(segment: Segment, findings: Findings, name: str, value: object) -> None:
    """Keep what the engine says of itself."""
    findings.kinds[name] += 1
    settings = findings.start(segment.source).settings
    before = settings.get(name)
    if before is None or before.rank <= 1:
        settings[name] = Setting(value, segment.number, 1)


def read_estimate(segment: Segment, findings: Findings) -> bool:
    """Take the estimate for CUDA graphs that two utilisations tell, as a share of the GPU."""
    if ESTIMATES_OFF in segment.text:
        keep(segment, findings, "cuda_graphs_in_budget", value=False)
    match = EQUIVALENT.search(segment.text)
    if not match:
        return ESTIMATES_OFF in segment.text
    utilization, equivalent = float(match[1]), float(match[2])
    keep(segment, findings, "gpu_memory_utilization", utilization)
    findings.start(segment.source).add(
        Reading(
            "cuda_graph_estimated_share",
            round(utilization - equivalent, 6),
            0.00005,
            segment.worker,
            segment.number,
            segment.snippet,
        )
    )
    return True
