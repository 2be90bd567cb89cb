"""A server's /metrics page: Prometheus text, or series as a query prints them.

A page holds counters since the server started, and gauges of one moment: of several pages pasted
together the last counter counts and the largest gauge.
Source: vLLM 0.33.0, v1/metrics/loggers.py; older names from public pages of 0.6 to 0.19.
"""

import re
from typing import Final

from pycore.evidence.reading.arguments import ASKED, plain_value
from pycore.evidence.reading.readings import Findings, Reading, Setting
from pycore.evidence.reading.segments import Segment

SERIES: Final = re.compile(
    r"(?:(max|min|avg|sum)(?:_over_time)?\()?vllm:([a-z0-9_]{3,80})"
    r"(?:\{([^}]{0,4000})\})?(?:\[\w{1,12}\])?\)?\s{1,12}"
    r"([-+]?\d{1,18}(?:\.\d{1,18})?(?:[eE][-+]?\d{1,3})?)(?![\w.])"
)
LABEL: Final = re.compile(r'(\w{1,60})="([^"]{0,400})"')
GAUGES: Final = {
    "num_requests_running": "num_requests_running",
    "num_requests_waiting": "num_requests_waiting",
    "kv_cache_usage_perc": "kv_cache_usage",
    "gpu_cache_usage_perc": "kv_cache_usage",
}
COUNTERS: Final = {
    "num_preemptions_total": "num_preemptions",
    "num_preemptions": "num_preemptions",
    "prompt_tokens_total": "prompt_tokens",
    "generation_tokens_total": "generation_tokens",
    "request_success_total": "num_requests_finished",
    "request_prefill_time_seconds_sum": "prefill_seconds_sum",
    "request_decode_time_seconds_sum": "decode_seconds_sum",
    "request_queue_time_seconds_sum": "queue_seconds_sum",
    "request_inference_time_seconds_sum": "inference_seconds_sum",
    "e2e_request_latency_seconds_sum": "e2e_seconds_sum",
    "e2e_request_latency_seconds_count": "e2e_count",
    "time_to_first_token_seconds_sum": "ttft_seconds_sum",
    "time_to_first_token_seconds_count": "ttft_count",
    "inter_token_latency_seconds_sum": "itl_seconds_sum",
    "inter_token_latency_seconds_count": "itl_count",
    "time_per_output_token_seconds_sum": "itl_seconds_sum",
    "time_per_output_token_seconds_count": "itl_count",
}
HISTOGRAMS: Final = {
    "time_to_first_token_seconds_bucket": "ttft_seconds",
    "inter_token_latency_seconds_bucket": "itl_seconds",
    "time_per_output_token_seconds_bucket": "itl_seconds",
    "e2e_request_latency_seconds_bucket": "e2e_seconds",
}
# What a server says of its cache as the labels of one series.
CACHE_FIGURES: Final = ("num_gpu_blocks", "block_size", "kv_cache_size_tokens")
CACHE_SETTINGS: Final = {
    "gpu_memory_utilization": "gpu_memory_utilization",
    "cache_dtype": "kv_cache_dtype",
    "enable_prefix_caching": "enable_prefix_caching",
    "kv_cache_memory_bytes": "kv_cache_memory_bytes",
    "mamba_ssm_cache_dtype": "mamba_ssm_cache_dtype",
}


def read_metrics(segment: Segment, findings: Findings) -> bool:
    """Take the series of a line; whether there were any."""
    if "vllm:" not in segment.text:
        return False
    read = False
    for match in SERIES.finditer(segment.text):
        read = take_series(segment, findings, match) or read
    return read


def take_series(segment: Segment, findings: Findings, match: re.Match[str]) -> bool:
    """Take one series; whether it is one of those that say something."""
    name, labels = match[2], match[3] or ""
    if name == "cache_config_info":
        return take_cache(segment, findings, labels)
    figure = GAUGES.get(name) or COUNTERS.get(name)
    if figure is None:
        return take_bucket(findings, name, labels, float(match[4]))
    findings.engine = findings.engine or "vllm"
    findings.kinds["metrics"] += 1
    value = float(match[4])
    whole = value.is_integer() and figure != "kv_cache_usage"
    findings.start(segment.source).add(
        Reading(
            figure,
            int(value) if whole else value,
            0.0,
            labels,
            segment.number,
            segment.snippet,
        )
    )
    model = dict(LABEL.findall(labels)).get("model_name")
    if model:
        findings.start(segment.source).settings.setdefault(
            "model", Setting(model, segment.number, ASKED)
        )
    return True


def take_bucket(findings: Findings, name: str, labels: str, value: float) -> bool:
    """Take one bucket of a histogram; whether it is of one that is known."""
    figure = HISTOGRAMS.get(name)
    bound = dict(LABEL.findall(labels)).get("le")
    if figure is None or bound is None:
        return False
    try:
        edge = float(bound)
    except ValueError:
        return False
    series = re.sub(r'le="[^"]{0,40}",?', "", labels)
    # Of several pages the last counts, series by series.
    findings.buckets.setdefault(figure, {}).setdefault(edge, {})[series] = value
    return True


def take_cache(segment: Segment, findings: Findings, labels: str) -> bool:
    """Take what the labels of ``vllm:cache_config_info`` say; whether they say anything."""
    told = dict(LABEL.findall(labels))
    start, read = findings.start(segment.source), False
    engine = f"engine {told['engine']}" if "engine" in told else segment.worker
    for name in CACHE_FIGURES:
        if told.get(name, "").isdecimal() and len(told[name]) < 16:
            start.add(Reading(name, int(told[name]), 0.0, engine, segment.number, segment.snippet))
            findings.kinds[name] += 1
            read = True
    for name, setting in CACHE_SETTINGS.items():
        value = plain_value(told.get(name, "None"))
        if value not in (None, "auto"):
            start.settings[setting] = Setting(value, segment.number, ASKED)
    return read


def percentile(findings: Findings, figure: str, share: float) -> float | None:
    """A percentile of a histogram, interpolated within its bucket as Prometheus does it."""
    edges = [
        (edge, sum(series.values()))
        for edge, series in sorted(findings.buckets.get(figure, {}).items())
    ]
    if not edges or edges[-1][1] <= 0:
        return None
    wanted, lower, below = share * edges[-1][1], 0.0, 0.0
    for edge, count in edges:
        if count >= wanted:
            if edge == float("inf"):
                return lower
            inside = count - below
            return lower + (edge - lower) * ((wanted - below) / inside if inside else 1.0)
        lower, below = edge, count
    return None
