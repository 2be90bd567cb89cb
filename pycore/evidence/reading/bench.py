"""The report of ``vllm bench serve``, line by line.

Source: vLLM 0.33.0, benchmarks/serve.py; SGLang's bench_serving prints the same labels.
"""

import re
from typing import Final

from pycore.evidence.reading.readings import Findings, Reading
from pycore.evidence.reading.segments import Segment

LINE: Final = re.compile(
    r"([A-Za-z][\w ()/.%-]{3,60}?): {1,60}(\d{1,15}(?:\.\d{1,12})?|inf)\s{0,40}$"
)
LABELS: Final = {
    "Successful requests": "num_requests_succeeded",
    "Failed requests": "num_requests_failed",
    "Maximum request concurrency": "max_concurrency_asked",
    "Request rate configured (RPS)": "request_rate",
    "Traffic request rate": "request_rate",
    "Benchmark duration (s)": "duration_seconds",
    "Total input tokens": "bench_input_tokens",
    "Total generated tokens": "bench_output_tokens",
    "Request throughput (req/s)": "request_throughput",
    "Output token throughput (tok/s)": "output_token_throughput",
    "Total Token throughput (tok/s)": "total_token_throughput",
    "Total token throughput (tok/s)": "total_token_throughput",
    "Peak concurrent requests": "peak_concurrent_requests",
    "Concurrency": "mean_concurrency",
}
LATENCY: Final = re.compile(
    r"(Mean|Median|P(\d{1,2}(?:\.\d{1,2})?)) (TTFT|TPOT|ITL|E2EL|E2E Latency) \(ms\)$"
)
LATENCIES: Final = {
    "TTFT": "ttft_seconds",
    "TPOT": "tpot_seconds",
    "ITL": "itl_seconds",
    "E2EL": "e2e_seconds",
    "E2E Latency": "e2e_seconds",
}


def read_bench(segment: Segment, findings: Findings) -> bool:
    """Take one line of a load generator's report; whether it was one."""
    match = LINE.search(segment.text)
    if not match or match[2] == "inf":
        return False
    label, value = match[1].strip(), float(match[2])
    figure = LABELS.get(label)
    if figure is None:
        figure, value = latency(label, value)
    if figure is None:
        return False
    findings.kinds["bench"] += 1
    findings.start(segment.source).add(
        Reading(
            figure,
            int(value) if value.is_integer() and "seconds" not in figure else value,
            0.0,
            "",
            segment.number,
            segment.snippet,
        )
    )
    return True


def latency(label: str, milliseconds: float) -> tuple[str | None, float]:
    """The figure that a latency's label names, and its value in seconds."""
    match = LATENCY.search(label)
    if not match:
        return None, 0.0
    kind = {"Mean": "mean", "Median": "p50"}.get(match[1], f"p{match[2]}")
    return f"{LATENCIES[match[3]]}_{kind}", milliseconds / 1000
