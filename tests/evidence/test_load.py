"""Metrics pages, load reports, write-ups, nvidia-smi and its topology."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.evidence.reading.feed import read_text
from pycore.evidence.reading.metrics import percentile
from pycore.evidence.reading.readings import Findings

PAGE = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="meta-llama/Llama-3.3-70B-Instruct"} 116.0
vllm:num_requests_waiting{engine="0",model_name="meta-llama/Llama-3.3-70B-Instruct"} 6.0
# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage.
vllm:kv_cache_usage_perc{engine="0",model_name="meta-llama/Llama-3.3-70B-Instruct"} 0.997
vllm:num_preemptions_total{engine="0",model_name="meta-llama/Llama-3.3-70B-Instruct"} 136.0
vllm:num_preemptions_created{engine="0"} 1.7515e+09
vllm:prompt_tokens_total{engine="0"} 256000.0
vllm:generation_tokens_total{engine="0"} 1.28e+05
vllm:request_success_total{engine="0",finished_reason="stop"} 10.0
vllm:request_success_total{engine="0",finished_reason="length"} 990.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.5"} 100.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="1.0"} 600.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="5.0"} 1000.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf"} 1000.0
vllm:request_prefill_time_seconds_sum{engine="0"} 557.0
vllm:request_decode_time_seconds_sum{engine="0"} 20602.0
vllm:cache_config_info{block_size="16",cache_dtype="auto",engine="0",gpu_memory_utilization="0.92",num_gpu_blocks="2306"} 1.0
"""

REPORT = """\
============ Serving Benchmark Result ============
Successful requests:                     500
Failed requests:                         0
Maximum request concurrency:             128
Request rate configured (RPS):           5.00
Benchmark duration (s):                  111.85
Total input tokens:                      128000
Total generated tokens:                  64000
Request throughput (req/s):              4.47
Output token throughput (tok/s):         572.19
Peak output token throughput (tok/s):    1001.00
Peak concurrent requests:                122.00
Total token throughput (tok/s):          1716.58
---------------Time to First Token----------------
Mean TTFT (ms):                          1402.31
Median TTFT (ms):                        820.00
P95 TTFT (ms):                           4640.00
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          160.10
---------------Inter-token Latency----------------
Median ITL (ms):                         98.00
P99 ITL (ms):                            637.00
==================================================
"""

SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 565.57.01              Driver Version: 565.57.01      CUDA Version: 12.7     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|=========================================+========================+======================|
|   0  NVIDIA A100 80GB PCIe          On  |   00000001:00:00.0 Off |                    0 |
| N/A   42C    P0            289W /  300W |   75123MiB /  81920MiB |     98%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA A100 80GB PCIe          On  |   00000002:00:00.0 Off |                    0 |
| N/A   35C    P0             62W /  300W |       3MiB /  81920MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""

TOPOLOGY = (
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
    "GPU0\t X \tNV12\tSYS\t0-23\t0\n"
    "GPU1\tNV12\t X \tSYS\t24-47\t1\n"
    "NIC0\tSYS\tSYS\t X \n"
)


def total(findings: Findings, figure: str) -> float:
    """A counter over all its series."""
    return sum(reading.value for reading in findings.readings(figure))


def test_a_metrics_page_is_read() -> None:
    """Gauges, counters over all their series, and what the cache's labels say."""
    findings = read_text(PAGE)
    assert findings.value("num_requests_running") == 116
    assert findings.value("num_requests_waiting") == 6
    assert findings.value("kv_cache_usage") == 0.997
    assert total(findings, "num_preemptions") == 136
    assert total(findings, "num_requests_finished") == 1000
    assert total(findings, "generation_tokens") == 128_000
    assert total(findings, "decode_seconds_sum") == 20_602
    assert findings.value("num_gpu_blocks") == 2306
    assert findings.value("block_size") == 16
    assert findings.setting("gpu_memory_utilization") == 0.92
    assert findings.setting("model") == "meta-llama/Llama-3.3-70B-Instruct"


def test_percentiles_are_interpolated_within_their_bucket() -> None:
    """As Prometheus' own histogram_quantile."""
    findings = read_text(PAGE)
    assert percentile(findings, "ttft_seconds", 0.5) == pytest.approx(0.9)
    assert percentile(findings, "ttft_seconds", 0.95) == pytest.approx(4.5)
    assert percentile(findings, "itl_seconds", 0.5) is None


def test_of_two_pages_the_last_counter_and_the_largest_gauge_count() -> None:
    """Scrapes pasted one after another."""
    later = PAGE.replace(" 116.0", " 40.0").replace(" 136.0", " 200.0")
    findings = read_text(PAGE + later)
    assert findings.value("num_requests_running") == 116
    assert total(findings, "num_preemptions") == 200


def test_older_names_mean_the_same() -> None:
    """Until 0.10 usage was the GPU cache's; a query's result has no labels."""
    text = (
        'vllm:gpu_cache_usage_perc{model_name="m"} 0.42\n'
        "max_over_time(vllm:num_requests_running[5m]) 17\n"
        'vllm:time_per_output_token_seconds_sum{model_name="m"} 12.5\n'
    )
    findings = read_text(text)
    assert findings.value("kv_cache_usage") == 0.42
    assert findings.value("num_requests_running") == 17
    assert total(findings, "itl_seconds_sum") == 12.5


def test_a_load_report_is_read() -> None:
    """Every line of it that Napkin has a use for; milliseconds become seconds."""
    findings = read_text(REPORT)
    expected = {
        "num_requests_succeeded": 500,
        "num_requests_failed": 0,
        "request_rate": 5,
        "duration_seconds": 111.85,
        "request_throughput": 4.47,
        "output_token_throughput": 572.19,
        "peak_concurrent_requests": 122,
        "ttft_seconds_mean": 1.40231,
        "ttft_seconds_p50": 0.82,
        "ttft_seconds_p95": 4.64,
        "itl_seconds_p50": 0.098,
        "itl_seconds_p99": 0.637,
    }
    for figure, value in expected.items():
        assert findings.value(figure) == pytest.approx(value), figure


def test_a_write_ups_counters_are_read() -> None:
    """As prose quotes them: the peak where one is named."""
    text = (
        "500 prompts, 5 requests/s, 256 in, 128 out. All 500 succeeded in 112 s, 4.47 requests/s; "
        "num_requests_running about 110, peak 116; num_requests_waiting never above 6; "
        "kv_cache_usage 99.7 %; num_preemptions_total 136; TTFT p50 0.82 s, p90 3.96 s, p95 4.64 s; "
        "ITL p50 98 ms, p99 637 ms; prefill time summed 557 s, decode 20,602 s."
    )
    findings = read_text(text)
    expected = {
        "num_requests_succeeded": 500,
        "request_rate": 5,
        "duration_seconds": 112,
        "request_throughput": 4.47,
        "num_requests_running": 116,
        "num_requests_waiting": 6,
        "kv_cache_usage": 0.997,
        "num_preemptions": 136,
        "ttft_seconds_p95": 4.64,
        "itl_seconds_p99": 0.637,
        "prefill_seconds_sum": 557,
        "decode_seconds_sum": 20_602,
    }
    for figure, value in expected.items():
        assert findings.value(figure) == pytest.approx(value), figure


@pytest.mark.parametrize(
    "text",
    [
        (
            '{"num_requests_running_peak": 116, "num_requests_waiting_max": 6, "duration_seconds": '
            '112, "ttft_p95_s": 4.64, "itl_p99_ms": 637, "request_prefill_time_seconds_sum": 557, '
            '"request_decode_time_seconds_sum": 20602}'
        ),
        (
            '{"num_requests_running": {"mean": 110, "peak": 116},\n "num_requests_waiting": {"max": '
            '6},\n "ttft_seconds": {"p50": 0.82, "p95": 4.64}, "itl_seconds": {"p99": 0.637},\n '
            '"prefill_seconds_sum": 557, "decode_seconds_sum": 20602, "duration_seconds": 112}'
        ),
        (
            "| num_requests_running | about 110, peak 116 |\n| num_requests_waiting | at most 6 |\n"
            "| TTFT | p50 0.82 s, p95 4.64 s |\n| ITL | p50 98 ms, p99 637 ms |\n"
            "| prefill time | 557 s |\n| decode time | 20,602 s |\n| all 500 succeeded in 112 s |"
        ),
    ],
    ids=["snake", "nested", "table"],
)
def test_counters_are_read_in_any_common_form(text: str) -> None:
    """JSON of either kind, and a table."""
    findings = read_text(text.replace("mean", "average"))
    expected = {
        "num_requests_running": 116,
        "num_requests_waiting": 6,
        "duration_seconds": 112,
        "ttft_seconds_p95": 4.64,
        "itl_seconds_p99": 0.637,
        "prefill_seconds_sum": 557,
        "decode_seconds_sum": 20_602,
    }
    for figure, value in expected.items():
        assert findings.value(figure) == pytest.approx(value), figure


def test_nvidia_smi_tells_names_memory_and_load() -> None:
    """Its table; what it calls total is the board's, and is not taken for CUDA's."""
    findings = read_text(SMI)
    assert list(findings.accelerator_names) == ["NVIDIA A100 80GB PCIe"]
    first, second = findings.accelerators[0], findings.accelerators[1]
    assert (first.used_mib, first.total_mib, first.utilization) == (75_123, 81_920, 98)
    assert (second.used_mib, second.total_mib, second.utilization) == (3, 81_920, 0)
    assert findings.value("total_bytes") is None


def test_nvidia_smi_is_read_in_its_other_forms() -> None:
    """-L, -q and a CSV query."""
    listed = "GPU 0: Tesla T4 (UUID: GPU-1)\nGPU 1: Tesla T4 (UUID: GPU-2)\n"
    assert [gpu.name for gpu in read_text(listed).accelerators.values()] == ["Tesla T4", "Tesla T4"]
    query = (
        "    Product Name                          : NVIDIA L4\n"
        "    FB Memory Usage\n"
        "        Total                             : 23034 MiB\n"
        "        Used                              : 21000 MiB\n"
        "    BAR1 Memory Usage\n"
        "        Total                             : 32768 MiB\n"
        "        Used                              : 1 MiB\n"
        "        Gpu                               : 77 %\n"
    )
    gpu = read_text(query).accelerators[0]
    assert (gpu.name, gpu.used_mib, gpu.total_mib, gpu.utilization) == (
        "NVIDIA L4",
        21_000,
        23_034,
        77,
    )
    rows = "NVIDIA H200, 143771 MiB, 130000 MiB, 99 %\nNVIDIA H200, 143771 MiB, 1 MiB, 0 %\n"
    used = [gpu.used_mib for gpu in read_text(rows).accelerators.values()]
    assert used == [130_000, 1]


def test_the_topology_says_how_each_pair_is_joined() -> None:
    """Columns of network cards and of affinities are not GPUs."""
    assert read_text(TOPOLOGY).links[0, 1] == "NV12"


@given(st.integers(2, 8), st.sampled_from(["NV4", "NV18", "PIX", "PXB", "PHB", "NODE", "SYS"]))
def test_a_topology_of_any_size_is_read(count: int, link: str) -> None:
    """Every pair once."""
    rows = [
        f"GPU{row}\t" + "\t".join(" X " if row == column else link for column in range(count))
        for row in range(count)
    ]
    links = read_text("\n".join(rows)).links
    assert len(links) == count * (count - 1) // 2
    assert set(links.values()) == {link}


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 1000).map(lambda tenths: tenths / 10),
)
def test_statistics_keep_their_peaks(running: int, waiting: int, usage: float) -> None:
    """One line every ten seconds: the largest of each counts."""
    line = (
        "INFO 07-01 12:00:00 [loggers.py:248] Engine 000: Avg prompt throughput: 12.3 tokens/s, Avg "
        "generation throughput: 8.1 tokens/s, Running: {} reqs, Waiting: {} reqs, GPU KV cache "
        "usage: {}%, Prefix cache hit rate: 0.0%\n"
    )
    text = line.format(1, 0, 0.1) + line.format(running, waiting, usage) + line.format(0, 1, 0.0)
    findings = read_text(text)
    assert findings.value("num_requests_running") == max(1, running)
    assert findings.value("num_requests_waiting") == max(1, waiting)
    assert findings.value("kv_cache_usage") == pytest.approx(max(0.001, usage / 100))


def test_v0s_statistics_are_read_too() -> None:
    """Swapped and pending in place of waiting."""
    line = (
        "INFO 01-01 12:00:00 metrics.py:449] Avg prompt throughput: 1.0 tokens/s, Avg generation "
        "throughput: 20.5 tokens/s, Running: 12 reqs, Swapped: 1 reqs, Pending: 3 reqs, GPU KV "
        "cache usage: 55.0%, CPU KV cache usage: 0.0%."
    )
    findings = read_text(line)
    assert findings.value("num_requests_running") == 12
    assert findings.value("num_requests_waiting") == 3
    assert findings.value("kv_cache_usage") == pytest.approx(0.55)
