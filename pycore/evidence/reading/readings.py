"""What was read: figures and settings of a run, each with the line that it came from.

A figure may be printed by several ranks, and more than once by one of them. Which of them counts
is the figure's own rule: the pool is as large as the poorest rank's, weights are those of the
fullest one. A log that holds several starts yields the last.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from pycore.engine.refusals.refusal import RefusalKind

Rule = Literal["largest", "smallest", "last"]
OtherErrorKind = Literal[
    "warm_up_out_of_memory",
    "out_of_memory",
    "memory_released_while_profiling",
    "sglang_pool_too_small",
    "preempted",
    "shared_memory",
    "disk_full",
    "out_of_host_memory",
    "accelerators_not_allocatable",
    "no_accelerator",
    "probe_failed",
    "gated_model",
    "collectives_failed",
    "driver_too_old",
    "no_kernel_for_accelerator",
    "kernel_too_large",
    "illegal_memory_access",
    "engine_died",
]
ErrorKind = RefusalKind | OtherErrorKind

# How the figures of several ranks, or several lines of one, become one.
RULES: Final[dict[str, Rule]] = {
    "loaded_weights_bytes_per_rank": "largest",
    "activation_bytes": "largest",
    "printed_peak_activation_bytes": "largest",
    "peak_torch_bytes": "largest",
    "torch_peak_increase_bytes": "largest",
    "non_torch_bytes": "largest",
    "consumed_bytes": "largest",
    "total_non_kv_cache_bytes": "largest",
    "cuda_graph_bytes": "largest",
    "cuda_graph_estimated_bytes": "largest",
    "cuda_graph_estimated_share": "largest",
    "available_kv_cache_bytes": "smallest",
    "total_bytes": "smallest",
    "accelerator_free_bytes": "smallest",
    "requested_bytes": "smallest",
    "num_gpu_blocks": "smallest",
    "kv_cache_size_tokens": "smallest",
    "kv_cache_max_concurrency": "smallest",
    "num_requests_running": "largest",
    "num_requests_waiting": "largest",
    "kv_cache_usage": "largest",
    "peak_concurrent_requests": "largest",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """One figure on one line.

    ``rounding`` is half of the last digit that was printed: the true value lies that close.
    """

    figure: str
    value: int | float
    rounding: float
    worker: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of the engine, as printed."""

    value: object
    line: int
    rank: int
    """How far to trust it over the same setting elsewhere: the higher wins."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """An error's line."""

    kind: ErrorKind
    line: int
    text: str
    numbers: tuple[str, ...]
    words: str
    """All that follows on its line."""
    stage: str
    """How far the start had come; empty where nothing tells."""
    start: int
    """In which start of the engine, counted from 1."""


@dataclass(slots=True)
class Start:
    """What one start of one server printed."""

    readings: dict[tuple[str, str], Reading] = field(default_factory=dict)
    settings: dict[str, Setting] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)
    """The lines with which an engine begins that were seen."""
    places: set[str] = field(default_factory=set)
    """Every rank that printed something, or was assigned a place."""
    stage: str = ""
    """How far it has come; empty as long as nothing has told."""

    def add(self, reading: Reading) -> None:
        """Keep a reading, or what follows from it and an earlier one of the same rank."""
        key = (reading.figure, reading.worker)
        before = self.readings.get(key)
        self.readings[key] = reading if before is None else merged(before, reading)


def merged(before: Reading, after: Reading) -> Reading:
    """One reading out of two of the same figure by the same rank."""
    if abs(before.value - after.value) <= before.rounding + after.rounding:
        return before if before.rounding <= after.rounding else after
    match RULES.get(after.figure, "last"):
        case "largest":
            return max(before, after, key=lambda reading: reading.value)
        case "smallest":
            return min(before, after, key=lambda reading: reading.value)
        case _:
            return after


@dataclass(slots=True)
class Accelerators:
    """What nvidia-smi said of one GPU."""

    name: str = ""
    used_mib: int | None = None
    total_mib: int | None = None
    utilization: int | None = None


@dataclass(slots=True)
class Findings:
    """Everything that was read so far; a pasted text fills it line by line."""

    engine: str = ""
    num_lines: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    lines_read: int = 0
    errors: list[Sighting] = field(default_factory=list)
    starts: dict[str, Start] = field(default_factory=dict)
    num_starts: int = 0
    """Starts that were read of, over all servers."""
    accelerator_names: dict[str, int] = field(default_factory=dict)
    accelerators: dict[int, Accelerators] = field(default_factory=dict)
    current_accelerator: int = -1
    links: dict[tuple[int, int], str] = field(default_factory=dict)
    traced: dict[tuple[str, str], str] = field(default_factory=dict)
    """Of each process the part of a start that its latest traceback names."""
    buckets: dict[str, dict[float, dict[str, float]]] = field(default_factory=dict)
    """Of each histogram: edge → series → count."""

    def start(self, source: str = "") -> Start:
        """The latest start of the server that ``source`` names."""
        if not self.starts:
            self.num_starts = 1
        return self.starts.setdefault(source, Start())

    def begin(self, source: str, mark: str) -> None:
        """Note a line with which an engine begins; seen twice, it begins a new start."""
        start = self.start(source)
        if mark in start.marks:
            self.num_starts += 1
            self.starts[source] = start = Start()
        start.marks.add(mark)
        start.stage = start.stage or "starting"

    def readings(self, figure: str) -> list[Reading]:
        """Every rank's reading of a figure, servers told apart where there are several."""
        several = len(self.starts) > 1
        found = []
        for source, start in self.starts.items():
            for (name, worker), reading in start.readings.items():
                if name == figure:
                    label = f"{source} {worker}".strip() if several else worker
                    found.append(reading if label == worker else relabelled(reading, label))
        return found

    def figures(self) -> list[str]:
        """The figures that were read, in the order of their first line."""
        first: dict[str, int] = {}
        for start in self.starts.values():
            for (figure, _), reading in start.readings.items():
                first[figure] = min(first.get(figure, reading.line), reading.line)
        return sorted(first, key=lambda figure: first[figure])

    def deciding(self, figure: str) -> Reading | None:
        """The reading that decides, by the figure's rule."""
        found = self.readings(figure)
        if not found:
            return None
        match RULES.get(figure, "last"):
            case "largest":
                return max(found, key=lambda reading: reading.value)
            case "smallest":
                return min(found, key=lambda reading: reading.value)
            case _:
                return max(found, key=lambda reading: reading.line)

    def value(self, figure: str) -> int | float | None:
        """The value that decides; None where the figure was not printed."""
        reading = self.deciding(figure)
        return None if reading is None else reading.value

    def setting(self, name: str) -> object:
        """A setting as printed; None where it was not."""
        found = [start.settings[name] for start in self.starts.values() if name in start.settings]
        return max(found, key=lambda setting: setting.rank).value if found else None

    def settings(self) -> Iterator[str]:
        """The names of the settings that were read."""
        yield from dict.fromkeys(name for start in self.starts.values() for name in start.settings)


def relabelled(reading: Reading, worker: str) -> Reading:
    """The same reading under another rank's name."""
    return Reading(
        reading.figure, reading.value, reading.rounding, worker, reading.line, reading.text
    )
