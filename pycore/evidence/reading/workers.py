"""Who printed a line: the process names that engines put before their messages.

Source: vLLM 0.33.0, v1/executor/multiproc_executor.py (setup_proc_title_and_log_prefix), and
public logs of vLLM 0.6 to 0.31 for the older names.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

NAME: Final = re.compile(r"([A-Za-z_]\w{0,60})((?: (?:rank=|[A-Z]{2,4})\d{1,5}){0,4})$")
PID: Final = re.compile(r" pid=(\d{1,10})(?:, ip=([\d.]{1,40}))?\)?")
COORDINATE: Final = re.compile(r"(DP|PP|PCP|TP)(\d{1,5})")
RANK: Final = re.compile(r"rank=(\d{1,5})")
LONGEST_NAME: Final = 90
# Processes that hold no GPU, or the engine's only one.
ENGINES: Final = (
    "Engine",
    "APIServer",
    "ApiServer",
    "MainProcess",
    "DPSupervisor",
    "DPCoordinator",
)


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the engine; ``worker`` names its rank, empty for the engine itself."""

    name: str = ""
    pid: str = ""
    worker: str = ""

    def inside(self, outer: "Process") -> "Process":
        """This process, with its engine's data-parallel rank where only that one says it."""
        if not outer.worker.startswith("DP") or self.worker.startswith("DP") or not self.worker:
            return self
        return Process(self.name, self.pid, f"{outer.worker} {self.worker}")


def processes(text: str) -> Iterator[tuple[Process, int, int]]:
    """Every process prefix of a line, with where it starts and ends."""
    at = text.find(" pid=")
    while at >= 0:
        name = NAME.search(text, max(0, at - LONGEST_NAME), at)
        pid = PID.match(text, at)
        if name and pid:
            process = Process(name[1], pid[1], worker_of(name[1], name[2], pid[1]))
            start = name.start() - text.startswith("(", name.start() - 1)
            yield process, start, pid.end()
        at = text.find(" pid=", at + 1)


def worker_of(name: str, ranks: str, pid: str) -> str:
    """The rank that a process name tells: "PP0 TP1", "rank 3", a pid, or none at all."""
    places = COORDINATE.findall(name + ranks)
    if places:
        return " ".join(kind + place for kind, place in places)
    rank = RANK.search(ranks)
    if rank:
        return f"rank {rank[1]}"
    return "" if name.startswith(ENGINES) else f"pid {pid}"
