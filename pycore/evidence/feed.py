"""A pasted text, read in pieces: each piece costs only its own length.

The page can hand over a large file bit by bit, or only the lines that ``anchors`` tell; either way
what was read comes out the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pycore.evidence.bench import read_bench
from pycore.evidence.counters import read_counters
from pycore.evidence.lines import relevant_lines, segments
from pycore.evidence.logs import read_log
from pycore.evidence.metrics import read_metrics
from pycore.evidence.nvidia_smi import read_nvidia_smi
from pycore.evidence.readings import Findings
from pycore.evidence.segments import Segment
from pycore.evidence.sightings import read_errors
from pycore.evidence.topology import read_topology

Reader = Callable[[Segment, Findings], bool]
READERS: Final[tuple[Reader, ...]] = (
    read_log,
    read_errors,
    read_metrics,
    read_bench,
    read_nvidia_smi,
    read_topology,
    read_counters,
)


@dataclass(slots=True)
class Feed:
    """A text on its way in; the line that is not yet whole waits for the next piece."""

    findings: Findings = field(default_factory=Findings)
    rest: str = ""
    number: int = 1
    wrapped: Segment | None = None

    def feed(self, piece: str) -> None:
        """Read the whole lines of a piece."""
        text = self.rest + piece
        end = text.rfind("\n") + 1
        self.rest = text[end:]
        self.read(text[:end])

    def close(self) -> Findings:
        """Read what is left, and give everything that was found."""
        self.read(self.rest)
        self.rest = ""
        return self.findings

    def read(self, text: str) -> None:
        """Read a text of whole lines."""
        for line in relevant_lines(text, self.number):
            for segment in segments(line):
                read_segment(segment, self.findings)
        self.number += text.count("\n")
        self.findings.num_lines = self.number - (not text or text.endswith("\n"))


def read_segment(segment: Segment, findings: Findings) -> None:
    """Let every reader take what it knows of a segment."""
    read = False
    for reader in READERS:
        if reader(segment, findings):
            read = True
    findings.lines_read += read


def read_text(text: str) -> Findings:
    """Everything that is found in a pasted text."""
    feed = Feed()
    feed.feed(text)
    return feed.close()
