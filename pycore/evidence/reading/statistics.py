"""A server's running statistics, one line every ten seconds: only their peaks are kept.

Source: vLLM 0.33.0, v1/metrics/loggers.py; public logs of 0.5 to 0.31 for the older order.
"""

import re
from typing import Final

from pycore.evidence.reading.lines import Line, source_of
from pycore.evidence.reading.readings import Findings, Reading
from pycore.evidence.reading.segments import LONGEST_SNIPPET

STATISTICS: Final = re.compile(
    r"(?:Engine (\d{1,4}): )?Avg prompt.{1,120}?Running: (\d{1,7}) reqs.{1,80}?"
    r"(?:Waiting|Pending): (\d{1,7}) reqs.{1,200}?KV cache usage: (\d{1,3}(?:\.\d{1,3})?)%"
)
PREEMPTIONS: Final = re.compile(r"Preemptions: (\d{1,12})")
FIGURES: Final = ("num_requests_running", "num_requests_waiting", "kv_cache_usage")


def read_statistics(line: Line, findings: Findings) -> bool:
    """Take a line of statistics; whether it was one."""
    read = False
    for match in STATISTICS.finditer(line.text):
        take(line, findings, match)
        read = True
    findings.lines_read += read
    return read


def take(line: Line, findings: Findings, match: re.Match[str]) -> None:
    """Take one message: what rises above its peak."""
    start = findings.start(source_of(line.text))
    start.stage = "serving"
    findings.kinds["statistics"] += 1
    engine = f"engine {int(match[1] or 0)}"
    values = (int(match[2]), int(match[3]), float(match[4]) / 100)
    for figure, value in zip(FIGURES, values, strict=True):
        before = start.readings.get((figure, engine))
        if before is None or value > before.value:
            put(line, findings, match, figure, value)
    preempted = PREEMPTIONS.search(match[0])
    if preempted:
        # Each line counts since the one before.
        earlier = start.readings.get(("num_preemptions_logged", engine))
        total = int(preempted[1]) + (earlier.value if earlier else 0)
        put(line, findings, match, "num_preemptions_logged", total)


def put(line: Line, findings: Findings, match: re.Match[str], figure: str, value: float) -> None:
    """Keep a value in place of the one before it."""
    engine = f"engine {int(match[1] or 0)}"
    findings.start(source_of(line.text)).readings[figure, engine] = Reading(
        figure, value, 0.0, engine, line.number, match[0][:LONGEST_SNIPPET]
    )
