"""Which lines of a pasted text are worth reading, and what stands on them once cleaned.

A log of a busy server is all but entirely lines that say nothing about memory, so lines are found
by plain substrings before any pattern is tried: 20 MB take well under a second, whatever the
lines look like. A line holds one or more segments: what one process printed in one go, without
colours, timestamps and the names of pods and containers.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pycore.evidence.reading.frames import ANCHORS as FRAME_ANCHORS
from pycore.evidence.reading.segments import Segment
from pycore.evidence.reading.workers import Process, processes
from pycore.evidence.reading.wrapped import ANCHORS as BROKEN_ANCHORS
from pycore.evidence.reading.wrapped import end_of_sentence, rejoined

# What a line is about, by the anchors that it holds; a reader looks only at lines about its own.
LOG: Final = 1
STATISTICS: Final = 2
ERRORS: Final = 4
METRICS: Final = 8
BENCH: Final = 16
ACCELERATORS: Final = 32
COUNTERS: Final = 64
START: Final = 128
FRAMES: Final = 256

# Every line that any reader wants has one of these in it. Longer ones are found faster, so they
# are as long as every wording allows.
ANCHORS_BY_SUBJECT: Final = (
    ("GiB", LOG),
    ("KV cache usage:", STATISTICS),
    ("KV cache", LOG | ERRORS),
    ("kv cache memory", LOG),
    *((anchor, LOG) for anchor in ("weights took", "aximum concurrency", "U blocks")),
    *((anchor, LOG) for anchor in ("num_gpu_blocks", "mem usage=", "#tokens:", "block size")),
    *((anchor, LOG) for anchor in ("max_total_num_tokens", "max model len", "is assigned as")),
    *((anchor, LOG | START) for anchor in ("version ", "with config:")),
    *((anchor, LOG) for anchor in ("  model   ", "default args", "Namespace(", "server_args")),
    *((anchor, LOG) for anchor in ("vllm serve", "api_server", "device_name=")),
    *((anchor, LOG) for anchor in ("- --", "--model")),
    *((anchor, LOG) for anchor in ("equivalent to", "Starting to load")),
    *((anchor, LOG) for anchor in ("startup complete", "max_num_batched_tokens=")),
    *((anchor, ACCELERATORS) for anchor in ("NVIDIA", "GeForce", "Tesla ", "Product Name")),
    *((anchor, ACCELERATORS) for anchor in ("Instinct", "Gpu  ", "MiB")),
    ("GPU", ACCELERATORS | ERRORS),
    ("vllm:", METRICS),
    *((anchor, BENCH) for anchor in ("requests: ", "duration (s)", "hroughput (", " tokens: ")),
    *((anchor, BENCH) for anchor in ("(ms): ", "(RPS): ", "oncurrency:")),
    *((anchor, COUNTERS) for anchor in ("num_requests_", "num_preemptions", "kv_cache_usage")),
    *(
        (anchor, COUNTERS)
        for anchor in (
            "TTFT",
            "ITL ",
            "ttft_",
            "prefill",
            "decode_",
            "decode time",
            " prompts",
            " succeeded",
        )
    ),
    # Most errors come with the word; the others are quoted without it, or have none.
    *((anchor, ERRORS) for anchor in ("rror", "divisible", "er than the ", "cache blocks")),
    *((anchor, ERRORS) for anchor in ("out of memory", "OOMKilled", "xit code", "xit Code")),
    *((anchor, ERRORS) for anchor in ("xited with", "No space left", "shared memory segment")),
    *((anchor, ERRORS) for anchor in ("channel closed", "ephemeral-storage", "SIGKILL")),
    *((anchor, ERRORS) for anchor in ("probe failed", "CrashLoopBackOff", "preempted by")),
    *((anchor, ERRORS) for anchor in ("Insufficient ", "total_num_kv_heads")),
    *((anchor, ERRORS) for anchor in ("NCCL WARN", "failed to start", "ion failed due")),
    *((anchor, ERRORS) for anchor in BROKEN_ANCHORS),
    *((anchor, FRAMES) for anchor in FRAME_ANCHORS),
)
ANCHORS: Final = tuple(anchor for anchor, _ in ANCHORS_BY_SUBJECT)

COLOURS: Final = re.compile(r"(?:\x1b|\^\[|\\x1b|\\033)?\[[0-9;?]{0,16}[mKJH]|\x1b[()][AB0]")
CONTINUED: Final = re.compile(r"\\[ \t\r]{0,200}\n")
ESCAPES: Final = (
    ("\\u001b", "\x1b"),
    ("\\u003c", "<"),
    ("\\u003e", ">"),
    ("\\r", "\n"),
    ("\\n", "\n"),
    ("\\t", " "),
    ('\\"', '"'),
)
POD: Final = re.compile(r"\s{0,8}(?:\[pod/([^\]/]{1,120})/|([\w.-]{1,80}) {1,40}\| )")
SGLANG_RANK: Final = re.compile(
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d((?: (?:DP|PP|TP|EP)\d{1,4}){1,4})\]"
)
HEADER: Final = re.compile(
    r"\b(DEBUG|INFO|WARNING|ERROR|CRITICAL):? {1,4}\d\d-\d\d \d\d:\d\d:\d\d "
    r"{1,4}(?:\[?[\w./]{1,120}:\d{1,6}\] ?)?"
)
LONGEST_COMMAND: Final = 80
# Spaces behind a command's backslash: terminals and web pages pad lines.
WIDEST_MARGIN: Final = 200


@dataclass(frozen=True, slots=True)
class Line:
    """A line worth reading, as it stands; numbers start at 1."""

    number: int
    text: str
    subjects: int
    """What its anchors say that it is about."""


def relevant_lines(text: str, first_number: int = 1) -> Iterator[Line]:
    """The lines of ``text`` that hold an anchor, in order."""
    ends: dict[int, int] = {}
    subjects: dict[int, int] = {}
    for anchor, subject in ANCHORS_BY_SUBJECT:
        at = text.find(anchor)
        while at >= 0:
            start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            ends[start] = end = len(text) if end < 0 else end
            subjects[start] = subjects.get(start, 0) | subject
            at = text.find(anchor, end)
    number, counted, done = first_number, 0, -1
    for start in sorted(ends):
        if start <= done:
            continue
        number += text.count("\n", counted, start)
        counted = start
        done = end_of_command(text, start, ends[start])
        if subjects[start] & (ERRORS | STATISTICS) == ERRORS:
            end = end_of_sentence(text, start, done)
            if end > done:
                done = end
                yield Line(number, rejoined(text[start:done]), subjects[start] | LOG)
                continue
        yield Line(number, text[start:done], subjects[start])


def end_of_command(text: str, start: int, end: int) -> int:
    """Where a shell command ends that goes on behind a backslash at the line's end."""
    for _ in range(LONGEST_COMMAND):
        if end >= len(text) or not goes_on(text, start, end):
            break
        next_end = text.find("\n", end + 1)
        start, end = end + 1, len(text) if next_end < 0 else next_end
    return end


def goes_on(text: str, start: int, end: int) -> bool:
    """Whether a backslash stands at a line's end, whatever space was put behind it."""
    if text[end - 1] not in "\\ \t\r":
        return False
    return text[max(start, end - WIDEST_MARGIN) : end].rstrip().endswith("\\")


def segments(line: Line) -> Iterator[Segment]:
    """The segments of a line: cleaned, and cut where another process or message begins."""
    for text in plain_texts(line.text):
        source = source_of(text)
        for process, part in by_process(text):
            yield from by_header(line.number, source, process, part)


def plain_texts(text: str) -> list[str]:
    """A line without colours; a line of JSON becomes the lines that it quotes."""
    if "\\" in text:
        text = CONTINUED.sub(" ", text)
        for escape, plain in ESCAPES:
            text = text.replace(escape, plain)
    if "\x1b" in text or "[0" in text or "^[" in text or "[m" in text:
        text = COLOURS.sub("", text)
    if "\r" in text:
        text = text.replace("\r", "\n")
    return [part for part in text.split("\n") if part]


def source_of(text: str) -> str:
    """The pod or container that a line came from, where its prefix says so."""
    match = POD.match(text)
    return (match[1] or match[2] or "") if match else ""


def by_process(text: str) -> Iterator[tuple[Process, str]]:
    """A line cut at every process prefix."""
    here, at = Process(), 0
    for process, start, end in processes(text):
        if text[at:start].strip(" ("):
            yield here, text[at:start]
            here = Process()
        # A worker's prefix may stand inside its engine's.
        here, at = process.inside(here), end
    if text[at:].strip():
        yield here, text[at:]


def by_header(number: int, source: str, process: Process, text: str) -> Iterator[Segment]:
    """A process's part of a line, cut at every logger header."""
    match = SGLANG_RANK.search(text) if not process.name and "P" in text[:40] else None
    if match:
        process = Process(worker=match[1].strip())
    at, has_header = 0, False
    for header in HEADER.finditer(text):
        if text[at : header.start()].strip():
            yield Segment(number, source, process, text[at : header.start()].strip(), has_header)
        at, has_header = header.end(), True
    if text[at:].strip():
        yield Segment(number, source, process, text[at:].strip(), has_header)
