"""An engine's log, line by line: who it is, how far its start came, what it has printed.

Every reader looks at a segment and takes what it knows; what none knows is left alone.
"""

import re
from typing import Final

from pycore.evidence.arguments import read_arguments, read_command
from pycore.evidence.other_engines import read_other_engines
from pycore.evidence.phrases import VLLM, read_phrases
from pycore.evidence.readings import Findings, Reading, Setting
from pycore.evidence.segments import Segment

VERSION: Final = re.compile(
    r"(?:API server|server|batch processing API|[█▀▄] {1,6})\s?version (\d[\w.+-]{1,60})"
)
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
STATISTICS: Final = re.compile(
    r"(?:Engine (\d{1,4}):.{0,120}?)?Running: (\d{1,7}) reqs,(?: Swapped: \d{1,7} reqs,)? "
    r"(?:Waiting|Pending): (\d{1,7}) reqs.{0,300}?KV cache usage: (\d{1,3}(?:\.\d{1,3})?)%"
)
PREEMPTIONS: Final = re.compile(r"Preemptions: (\d{1,12})")
# How far a start has come, by the line that ends each part of it.
STAGES: Final = (
    ("Starting to load model", "loading"),
    ("Loading safetensors", "loading"),
    ("loading took", "profiling"),
    ("weights took", "profiling"),
    ("KV cache memory:", "capturing"),
    ("KV cache size:", "capturing"),
    ("U blocks:", "capturing"),
    ("capturing finished", "warming up"),
    ("startup complete", "serving"),
    ("KV cache usage:", "serving"),
)


def read_log(segment: Segment, findings: Findings) -> bool:
    """Take what one segment of an engine's log says; whether it said anything."""
    text = segment.text
    if "KV cache usage:" in text:
        return read_statistics(segment, findings)
    note_stage(segment, findings)
    read = read_identity(segment, findings)
    if "args" in text or "with config:" in text:
        read = read_arguments(segment, findings) or read
    if "vllm serve" in text or "api_server" in text:
        read = read_command(segment, findings) or read
    read = read_phrases(segment, findings, VLLM) or read
    if "#tokens:" in text or "mem usage" in text or "num_tokens=" in text or "paged KV" in text:
        read = read_other_engines(segment, findings) or read
    if "is equivalent to" in text or ESTIMATES_OFF in text:
        read = read_estimate(segment, findings) or read
    if read and segment.worker:
        findings.start(segment.source).places.add(segment.worker)
    return read


def note_stage(segment: Segment, findings: Findings) -> None:
    """Remember how far the start has come, by what ends each part of it."""
    for mark, stage in STAGES:
        if mark in segment.text:
            findings.start(segment.source).stage = stage


def read_identity(segment: Segment, findings: Findings) -> bool:
    """Take the version, the model's name, the GPU's and the ranks' places."""
    text, read = segment.text, False
    match = VERSION.search(text) if "version " in text else None
    if match:
        findings.begin(segment.source, f"version {segment.process.name}")
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


def read_statistics(segment: Segment, findings: Findings) -> bool:
    """Take a server's running statistics: only their peaks are kept."""
    match = STATISTICS.search(segment.text)
    if not match:
        return False
    start = findings.start(segment.source)
    start.stage = "serving"
    findings.kinds["statistics"] += 1
    engine = f"engine {int(match[1])}" if match[1] else segment.worker
    for figure, value in (
        ("num_requests_running", int(match[2])),
        ("num_requests_waiting", int(match[3])),
        ("kv_cache_usage", float(match[4]) / 100),
    ):
        key = (figure, engine)
        before = start.readings.get(key)
        if before is None or value > before.value:
            start.readings[key] = Reading(
                figure,
                value,
                0.0005 if isinstance(value, float) else 0.0,
                engine,
                segment.number,
                segment.snippet,
            )
    preempted = PREEMPTIONS.search(segment.text)
    if preempted:
        # Each line counts since the one before.
        key = ("num_preemptions_logged", engine)
        before = start.readings.get(key)
        total = int(preempted[1]) + (before.value if before else 0)
        start.readings[key] = Reading(*key[:1], total, 0.0, engine, segment.number, segment.snippet)
    return True
