"""``watch``: what a server's series should settle at for this scenario, and alerts that say so.

Stock dashboards plot usage and queue; none plots preemptions, which is where a pool that is too
small shows first, and none compares the GPUs of one tensor-parallel group, which is where a split
that failed silently shows.
Source: vLLM 0.33.0, v1/metrics/loggers.py; NVIDIA's DCGM exporter for the GPUs' own.
"""

from dataclasses import dataclass, replace

from pycore.evidence.reading.numbers import gib_text
from pycore.evidence.watching.alerts import UNEVEN_PERCENT, difference, each_alert
from pycore.evidence.watching.rules_text import Alert, rules_text
from pycore.evidence.watching.steady import Steady, steady_state, tenths
from pycore.scenario import Scenario
from pycore.sizing.result import SizeResult
from pycore.sizing.size import size


@dataclass(frozen=True, slots=True)
class Series:
    """One series, and where it should settle."""

    name: str
    """What it is, in words."""
    expr: str
    """PromQL that plots it."""
    settles_at: float | None
    """Where it settles under the scenario's workload; null where nothing is known."""
    high: float | None
    """The most that it should reach."""
    unit: str
    """share, requests, per_second, percent or bytes."""
    because: str
    """Why that value."""


@dataclass(frozen=True, slots=True)
class Watch:
    """The answer to ``watch``."""

    starts: bool
    """Whether the engine starts at all; nothing settles where it does not."""
    series: tuple[Series, ...]
    """What to plot, and where it should settle."""
    alerts: tuple[Alert, ...]
    """What to be woken by."""
    rules: str
    """The alerts as a Prometheus rule file."""


def watch(scenario: Scenario) -> Watch:
    """The answer to ``watch``."""
    quiet = replace(scenario, figures=False)
    result = size(quiet)
    steady = steady_state(quiet, result)
    if steady is None:
        return Watch(result.starts, (), (), "")
    alerts = tuple(each_alert(quiet, result, steady))
    series = (*requests(steady), *accelerators(quiet, result))
    return Watch(result.starts, series, alerts, rules_text(alerts))


def requests(steady: Steady) -> tuple[Series, ...]:
    """The engine's own series, per replica."""
    held, running = tenths(steady.held), tenths(steady.running)
    waits = max(0.0, steady.asked - running)
    short = max(waits, steady.asked - held) if steady.preempts else waits
    return (
        Series(
            "KV cache usage",
            "max(vllm:kv_cache_usage_perc)",
            round(steady.usage, 3),
            round(steady.usage_at_full_length, 3),
            "share",
            f"{running:.1f} requests, each with half of its answer in the cache on average.",
        ),
        Series(
            "Running",
            "max(vllm:num_requests_running)",
            running,
            float(steady.asked),
            "requests",
            f"{steady.asked} at once on each replica; {held:.1f} fit at full length.",
        ),
        Series(
            "Waiting",
            "max(vllm:num_requests_waiting)",
            round(waits, 1),
            round(short, 1),
            "requests",
            "More was asked for than fits." if steady.preempts else "Everything asked for fits.",
        ),
        preemptions(steady),
    )


def preemptions(steady: Steady) -> Series:
    """How often requests are thrown out of a full pool: never, where all fit."""
    because = "All requests fit at their full length, so none is thrown out."
    if steady.preempts:
        because = (
            "Requests are admitted by what they have so far: those that grow past the pool throw "
            "others out."
        )
    level = None if steady.preempts else 0.0
    expr = "sum(rate(vllm:num_preemptions_total[5m]))"
    return Series("Preemptions", expr, level, level, "per_second", because)


def accelerators(scenario: Scenario, result: SizeResult) -> tuple[Series, ...]:
    """The GPUs' own series."""
    budget = result.requested_bytes
    graphs = result.cuda_graph_bytes or 0
    found = [
        Series(
            "GPU memory in use",
            "DCGM_FI_DEV_FB_USED * 1048576",
            float(budget),
            float(budget + graphs),
            "bytes",
            f"The engine takes its whole budget of {gib_text(budget)} at once and keeps it, "
            "whatever the load.",
        )
    ]
    if scenario.tensor_parallel_size > 1:
        found.append(
            Series(
                "GPU utilisation, fullest less idlest",
                difference("DCGM_FI_DEV_GPU_UTIL"),
                0.0,
                float(UNEVEN_PERCENT),
                "percent",
                f"{scenario.tensor_parallel_size} ranks work in step: one that idles is not in the "
                "group.",
            )
        )
    return tuple(found)
