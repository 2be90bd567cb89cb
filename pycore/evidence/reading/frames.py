"""How far a start had come when it failed, as the frames of its traceback tell.

A traceback is printed before its error, by the same process, outermost call first: of the frames
that name a part of the start the last one counts.
Source: vLLM 0.5 to 0.33 (worker/worker.py, v1/worker/gpu_worker.py, v1/worker/gpu_model_runner.py,
v1/engine/core.py), as public tracebacks quote them.
"""

from typing import Final

from pycore.evidence.reading.readings import Findings
from pycore.evidence.reading.segments import Segment

BEGINS: Final = "Traceback (most"
FRAMES: Final = (
    ("in load_model", "loading"),
    ("in initialize_model", "loading"),
    ("in load_weights", "loading"),
    ("in process_weights_after", "loading"),
    ("in determine_available_memory", "profiling"),
    ("in determine_num_available", "profiling"),
    ("in profile_", "profiling"),
    ("in initialize_kv_cache", "laying out"),
    ("in initialize_cache", "laying out"),
    ("in _allocate_kv_cache", "laying out"),
    ("in _init_cache_engine", "laying out"),
    ("in capture_", "capturing"),
    ("in _capture_", "capturing"),
    ("in _warm_up_model", "capturing"),
    ("in compile_or_warm_up", "warming up"),
    ("in run_busy_loop", "serving"),
    ("in run_engine_loop", "serving"),
    ("in execute_model", "serving"),
)
# A worker runs the model in the profile and in warm-up too: alone it says that one is served.
WEAK: Final = "in execute_model"
# Every frame has it, and little else does.
ANCHORS: Final = (BEGINS, '", line ')


def tells_of_start(text: str) -> bool:
    """Whether a line begins a traceback, or names a part of the start."""
    return BEGINS in text or any(frame in text for frame, _ in FRAMES)


def read_frame(segment: Segment, findings: Findings) -> bool:
    """Remember the part of the start that a frame names; a frame is no figure of its own."""
    key = (segment.source, segment.process.pid)
    if BEGINS in segment.text:
        findings.traced.pop(key, None)
    for frame, stage in FRAMES:
        if frame in segment.text and (frame != WEAK or key not in findings.traced):
            findings.traced[key] = stage
    return False


def stage_of(segment: Segment, findings: Findings) -> str:
    """The part of the start in which the process of an error was; empty where nothing tells."""
    traced = findings.traced.get((segment.source, segment.process.pid))
    return traced or findings.start(segment.source).stage
