"""Figures of a load test as people write them down: a metric's name, then what it came to.

Write-ups quote counters in prose ("num_requests_running about 110, peak 116", "TTFT p50 0.82 s,
p95 4.64 s"). Only a name that the metrics themselves have is read, and only a number that stands
in the same clause.
"""

import re
from collections.abc import Iterator
from typing import Final

from pycore.evidence.reading.numbers import parse_number
from pycore.evidence.reading.readings import Findings, Reading
from pycore.evidence.reading.segments import Segment

N: Final = r"(\d[\d,]{0,14}(?:\.\d{1,9})?)(?![\d.]*\d)"
NAME: Final = re.compile(
    r"(?<![A-Za-z])(num_requests_running|num_requests_waiting|num_preemptions(?:_total)?"
    r"|kv_cache_usage(?:_perc)?|TTFT|ITL|TPOT|E2EL|(?:ttft|itl|tpot|e2e)_seconds"
    r"|(?:prefill|decode)(?:_time_seconds_sum|_seconds_sum| time)?)(?:_peak|_max)?(?![A-Za-z0-9_])"
)
SNAKE: Final = re.compile(
    rf"(?<![A-Za-z])(ttft|itl|tpot|e2el?)_(p\d\d|mean|median)(?:_(ms|s|seconds))?\W{{1,8}}{N}"
)
PEAK: Final = re.compile(
    rf"\b(?:peak|peaked at|max|maximum|above|at most|up to|highest)\b[\s:=`*|(\"']{{1,8}}{N}"
)
FIRST: Final = re.compile(N)
SHARE: Final = re.compile(rf"{N} ?(%)?")
SECONDS: Final = re.compile(rf"{N} ?s(?:ec|econds)?\b")
PERCENTILE: Final = re.compile(rf"\b(p\d\d|median|mean)\b[\s:=`*|]{{1,8}}{N} ?(ms|s)\b")
PLAIN_PERCENTILE: Final = re.compile(rf"\b(p\d\d|median|mean)\b[\s:=`*|\"']{{1,8}}{N}")
LONGEST_CLAUSE: Final = 160
LATENCIES: Final = {
    "TTFT": "ttft_seconds",
    "ITL": "itl_seconds",
    "TPOT": "tpot_seconds",
    "E2EL": "e2e_seconds",
}
# Of the load itself, only where the sentence is about one.
LOAD: Final = re.compile(r"\bprompts\b|\bsucceeded\b|\brequests/s\b|\breq/s\b|duration_seconds")
PROMPTS: Final = re.compile(rf"{N} prompts\b")
DURATION: Final = re.compile(rf"(?:\bin |\bduration_seconds\W{{1,6}}){N}(?: ?s\b|(?=\W|$))")
RATE: Final = re.compile(rf"{N} (?:requests|req)/s\b")


def read_counters(segment: Segment, findings: Findings) -> bool:
    """Take the figures that a sentence quotes; whether there were any."""
    if "vllm:" in segment.text or "(ms):" in segment.text or "reqs," in segment.text:
        return False
    start, read = findings.start(segment.source), False
    for figure, value in (*quoted(segment.text), *quoted_load(segment.text)):
        start.add(Reading(figure, value, 0.0, "quoted", segment.number, segment.snippet))
        findings.kinds["quoted"] += 1
        read = True
    return read


def quoted(text: str) -> Iterator[tuple[str, int | float]]:
    """The metrics that a sentence names, each with the number of its clause."""
    names = list(NAME.finditer(text))
    for place, name in enumerate(names):
        end = names[place + 1].start() if place + 1 < len(names) else len(text)
        clause = text[name.end() : min(end, name.end() + LONGEST_CLAUSE)].split(";", maxsplit=1)[0]
        yield from figures_of(name[1], clause)
    for match in SNAKE.finditer(text):
        seconds = parse_number(match[4]) / (1000 if match[3] == "ms" else 1)
        percentile = match[2].replace("median", "p50")
        yield f"{match[1].replace('e2el', 'e2e')}_seconds_{percentile}", seconds


def figures_of(name: str, clause: str) -> Iterator[tuple[str, int | float]]:
    """What a clause says of the metric that it begins with."""
    if name in LATENCIES:
        for match in PERCENTILE.finditer(clause):
            seconds = parse_number(match[2]) / (1000 if match[3] == "ms" else 1)
            yield f"{LATENCIES[name]}_{match[1].replace('median', 'p50')}", seconds
        return
    if name.endswith("_seconds"):
        for match in PLAIN_PERCENTILE.finditer(clause):
            yield f"{name}_{match[1].replace('median', 'p50')}", parse_number(match[2])
        return
    share = SHARE.search(clause)
    summed = (FIRST if name.endswith("_sum") else SECONDS).search(clause)
    if name.startswith(("prefill", "decode")):
        if summed:
            yield f"{name.replace('_', ' ').split()[0]}_seconds_sum", parse_number(summed[1])
    elif name.startswith("kv_cache_usage"):
        if share:
            usage = parse_number(share[1])
            yield "kv_cache_usage", usage / 100 if share[2] or usage > 1 else usage
    elif plain := PEAK.search(clause) or FIRST.search(clause):
        yield name.removesuffix("_total"), parse_number(plain[1])


def quoted_load(text: str) -> Iterator[tuple[str, int | float]]:
    """What a sentence says of the load itself: prompts, duration, rate asked for and reached."""
    if not LOAD.search(text):
        return
    prompts, duration = PROMPTS.search(text), DURATION.search(text)
    if prompts:
        yield "num_requests_succeeded", parse_number(prompts[1])
    if duration:
        yield "duration_seconds", parse_number(duration[1])
    for rate in RATE.finditer(text):
        reached = duration is not None and rate.start() > duration.start()
        yield "request_throughput" if reached else "request_rate", parse_number(rate[1])
