"""A pasted text, read in pieces: each piece costs only its own length.

The page can hand over a large file bit by bit, or only the lines that ``anchors`` tell; either way
what was read comes out the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pycore.evidence.reading import lines
from pycore.evidence.reading.bench import read_bench
from pycore.evidence.reading.counters import read_counters
from pycore.evidence.reading.frames import read_frame, tells_of_start
from pycore.evidence.reading.lines import Line, relevant_lines, segments
from pycore.evidence.reading.logs import read_log, start_mark
from pycore.evidence.reading.metrics import read_metrics
from pycore.evidence.reading.nvidia_smi import read_nvidia_smi
from pycore.evidence.reading.readings import Findings, Start
from pycore.evidence.reading.segments import Segment
from pycore.evidence.reading.sightings import read_errors, tells_of_error
from pycore.evidence.reading.statistics import read_statistics
from pycore.evidence.reading.topology import read_topology
from pycore.evidence.reading.wrapped import open_from

Reader = Callable[[Segment, Findings], bool]
# What is of no interest once a later start has begun.
OF_A_START: Final = lines.LOG | lines.START
MANY_STARTS: Final = 8
READERS: Final[tuple[tuple[int, Reader], ...]] = (
    (lines.LOG, read_log),
    (lines.FRAMES, read_frame),
    (lines.ERRORS, read_errors),
    (lines.METRICS, read_metrics),
    (lines.BENCH, read_bench),
    (lines.ACCELERATORS, read_nvidia_smi),
    (lines.ACCELERATORS, read_topology),
    (lines.COUNTERS, read_counters),
)


@dataclass(slots=True)
class Feed:
    """A text on its way in; a line or sentence that is not yet whole waits for the next piece."""

    findings: Findings = field(default_factory=Findings)
    rest: str = ""
    number: int = 1

    def feed(self, piece: str) -> None:
        """Read the whole lines of a piece."""
        text = self.rest + piece
        end = open_from(text, text.rfind("\n") + 1)
        self.rest = text[end:]
        self.read(text[:end])

    def close(self) -> Findings:
        """Read what is left, and give everything that was found."""
        self.read(self.rest)
        self.rest = ""
        return self.findings

    def read(self, text: str) -> None:
        """Read a text of whole lines."""
        found = list(relevant_lines(text, self.number))
        begins = last_starts(found)
        if begins:
            found = self.skip(found, begins)
        for line in found:
            read_line(line, self.findings)
        self.number += text.count("\n")
        self.findings.num_lines = self.number - (not text or text.endswith("\n"))

    def skip(self, found: list[Line], begins: dict[str, tuple[int, int]]) -> list[Line]:
        """Pass over the starts before each server's last; only their errors are read."""
        later = []
        for line in found:
            if line.number >= begins.get(lines.source_of(line.text), (0, 0))[0]:
                later.append(line)
            elif line.subjects & ~OF_A_START:
                read_line(Line(line.number, line.text, line.subjects & ~OF_A_START), self.findings)
        for source, (_, count) in begins.items():
            # An earlier piece may have begun a start that this piece's first one ends.
            begun = bool(self.findings.start(source).marks)
            self.findings.num_starts += count + begun
            self.findings.starts[source] = Start()
        return later


def last_starts(found: list[Line]) -> dict[str, tuple[int, int]]:
    """Where each server's last start begins, and after how many, if a text holds many."""
    starts = [line for line in found if line.subjects & lines.START]
    if len(starts) < MANY_STARTS:
        return {}
    marks: dict[str, set[str]] = {}
    begins: dict[str, tuple[int, int]] = {}
    for line in starts:
        for segment in segments(line):
            mark = start_mark(segment)
            seen = marks.setdefault(segment.source, set())
            if mark in seen:
                begins[segment.source] = line.number, begins.get(segment.source, (0, 0))[1] + 1
                seen.clear()
            if mark:
                seen.add(mark)
    return begins


def read_line(line: Line, findings: Findings) -> None:
    """Let every reader that a line is about take what it knows of each part of it."""
    subjects = line.subjects
    if subjects & lines.STATISTICS and read_statistics(line, findings):
        # A busy server prints little else, so its statistics go no further.
        return
    if subjects & lines.ERRORS and not tells_of_error(line.text):
        subjects &= ~lines.ERRORS
    if subjects & lines.FRAMES and not tells_of_start(line.text):
        subjects &= ~lines.FRAMES
    readers = [reader for subject, reader in READERS if subjects & subject]
    if not readers:
        return
    for segment in segments(line):
        read = [reader(segment, findings) for reader in readers]
        findings.lines_read += any(read)


def read_text(text: str) -> Findings:
    """Everything that is found in a pasted text."""
    feed = Feed()
    feed.feed(text)
    return feed.close()
