"""A segment of a log: what one process printed in one go."""

from dataclasses import dataclass
from typing import Final

from pycore.evidence.reading.workers import Process

LONGEST_SNIPPET: Final = 240


@dataclass(frozen=True, slots=True)
class Segment:
    """What one process printed in one go.

    ``source`` is the pod or container that it came from, ``worker`` the rank (empty for the
    engine itself), ``has_header`` whether a logger's header stood before it.
    """

    number: int
    source: str
    process: Process
    text: str
    has_header: bool

    @property
    def worker(self) -> str:
        """The rank that printed it; empty for the engine itself."""
        return self.process.worker

    @property
    def snippet(self) -> str:
        """The message, cut to a length that can be shown beside a figure."""
        return self.text[:LONGEST_SNIPPET]
