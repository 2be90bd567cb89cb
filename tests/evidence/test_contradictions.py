"""What cannot all be true, each with its numbers; and what is only worth saying."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.asking import R1, check, kinds
from tests.evidence.test_load import PAGE, REPORT, SMI, TOPOLOGY

WRITE_UP = (
    "500 prompts, 5 requests/s, 256 in, 128 out. All 500 succeeded in 112 s, 4.47 requests/s; "
    "num_requests_running about 110, peak 116; num_requests_waiting never above 6; "
    "kv_cache_usage 99.7 %; num_preemptions_total 136; TTFT p50 0.82 s, p90 3.96 s, p95 4.64 s; "
    "ITL p50 98 ms, p99 637 ms; prefill time summed 557 s, decode 20,602 s."
)
LOG = """\
(APIServer pid=1) INFO 07-01 12:00:00 [api.py:1] vLLM API server version 0.19.0
(Worker_TP0 pid=2) INFO 07-01 12:00:00 [r.py:1] Model loading took {weights} GiB memory and 3 seconds
(Worker_TP0 pid=2) INFO 07-01 12:00:00 [w.py:1] Available KV cache memory: {pool} GiB
(EngineCore pid=9) INFO 07-01 12:00:00 [k.py:1] GPU KV cache size: {tokens:,} tokens
(Worker_TP0 pid=2) INFO 07-01 12:00:00 [w.py:1] Free memory on device (78.8/79.25 GiB) on startup. \
Desired GPU memory utilization is (0.92, 72.91 GiB). Actual usage is {weights} GiB for weight, 1.0 \
GiB for peak activation, 0.54 GiB for non-torch memory, and 1.25 GiB for CUDAGraph memory.
"""


def found(text: str, kind: str, **request: Any) -> dict[str, Any]:
    """The contradiction or finding of one kind."""
    result = check(text, **{**R1, **request})
    return next(
        item for item in [*result["contradictions"], *result["findings"]] if item["kind"] == kind
    )


def test_summed_times_rule_out_the_peak() -> None:
    """R1: 21,159 s within 112 s are 189 in flight, with a peak of 116; halved, all agrees."""
    item = found(WRITE_UP, "in_flight_above_peak")
    assert "189 requests" in item["message"]
    assert "116" in item["message"]
    assert "twice" in item["message"]
    assert item["numbers"]["mean_in_flight"] == pytest.approx(188.9, abs=0.1)


def test_a_long_wait_rules_out_a_short_queue() -> None:
    """R1: TTFT p95 of 4.64 s at 5 requests/s, with at most 6 waiting: about 20 would."""
    item = found(WRITE_UP, "waiting_below_littles_law")
    assert "4.64 s" in item["message"]
    assert "6 waiting" in item["message"]
    assert item["numbers"]["waiting_by_littles_law"] == pytest.approx(19.1, abs=0.1)


def test_r1s_page_and_report_say_the_same_as_its_prose() -> None:
    """Whatever form the counters come in; the page has seen the requests twice, and shows it."""
    result = check(PAGE + REPORT, **R1)
    assert {
        "in_flight_above_peak",
        "waiting_below_littles_law",
        "counters_of_other_requests",
    } <= kinds(result["contradictions"])
    assert kinds(result["findings"]) == {"pool_is_the_limit"}


def test_counters_of_one_run_contradict_nothing() -> None:
    """Halved, as one run would have counted, with the queue that Little's law wants."""
    text = (
        WRITE_UP.replace("557 s", "278 s")
        .replace("20,602 s", "10,301 s")
        .replace("above 6", "above 20")
    )
    assert check(text, **R1)["contradictions"] == []


@given(
    st.floats(0.5, 50),
    st.floats(1, 1000),
    st.floats(1.0, 60.0),
    st.floats(0.1, 0.99),
)
def test_littles_law_itself_is_no_contradiction(
    rate: float, duration: float, seconds: float, share: float
) -> None:
    """Time in flight that a peak allows is never called impossible."""
    mean = rate * seconds
    text = (
        f"{rate * duration:.0f} prompts in {duration:.1f} s, at {rate:.2f} requests/s; "
        f"num_requests_running peak {mean / share + 1:.0f}; decode {mean * duration:.0f} s."
    )
    assert "in_flight_above_peak" not in kinds(check(text, **R1)["contradictions"])


def test_a_budget_that_closes_is_left_alone() -> None:
    """72.91 less 65.74, 1.00 and 0.54 is 5.63."""
    text = LOG.format(weights=65.74, pool=5.63, tokens=36_896)
    assert check(text, **R1)["contradictions"] == []


def test_a_budget_that_does_not_close_is_said() -> None:
    """A pool that is 2 GiB larger than the terms leave."""
    item = found(LOG.format(weights=65.74, pool=7.63, tokens=50_000), "budget_does_not_close")
    assert "5.63 GiB" in item["message"]
    assert "7.63 GiB" in item["message"]


def test_weights_and_pool_beyond_the_utilisation_are_said() -> None:
    """R1 closes at 0.92 and cannot at 0.9."""
    text = (
        "vLLM API server version 0.19.0\nModel loading took 65.74 GiB memory and 3 seconds\n"
        "Available KV cache memory: 5.63 GiB\n"
    )
    item = found(text, "more_than_the_budget", gpu_memory_utilization=0.9)
    assert "71.33 GiB" in item["message"]
    assert "more than 0.90" in item["message"]
    newer = check(text, **R1, gpu_memory_utilization=0.92)
    assert "more_than_the_budget" not in kinds(newer["contradictions"])


def test_tokens_that_the_pool_cannot_hold_are_said() -> None:
    """8.69 GiB read off one rank, 81,536 tokens decided by another."""
    text = LOG.format(weights=65.74, pool=5.63, tokens=30_000)
    item = found(text, "tokens_not_of_this_pool")
    assert item["numbers"]["holds_tokens"] == pytest.approx(36_896, abs=16)
    assert "another rank had less" in item["message"]


def test_tokens_that_are_no_multiple_of_blocks_are_said() -> None:
    """2,306 blocks of 16 are 36,896 tokens."""
    labels = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="2306"} 1.0\n'
    good = check(labels + "GPU KV cache size: 36,896 tokens\n", **R1)
    assert "tokens_do_not_follow_from_blocks" not in kinds(good["contradictions"])
    item = found(labels + "GPU KV cache size: 147,584 tokens\n", "tokens_do_not_follow_from_blocks")
    assert "64.00 a block" in item["message"]


def test_ranks_that_the_settings_do_not_know_are_said() -> None:
    """Four ranks speak in a log of TP 2."""
    text = (
        "non-default args: {'tensor_parallel_size': 2, 'model': 'x'}\n"
        "(Worker_TP3 pid=9) INFO 07-01 12:00:00 [w.py:1] Available KV cache memory: 5.63 GiB\n"
    )
    assert found(text, "ranks_above_tensor_parallel_size")["numbers"]["ranks"] == 4


def test_more_running_than_may_is_said() -> None:
    """max_num_seqs is 64, 116 ran."""
    item = found(WRITE_UP, "more_running_than_max_num_seqs", max_num_seqs=64)
    assert item["numbers"] == {"num_requests_running_peak": 116, "max_num_seqs": 64}


def test_a_gpu_that_idles_betrays_a_split_that_failed() -> None:
    """TP 2, but only one of the two GPUs holds memory or works."""
    assert found(SMI, "fewer_accelerators_in_use")["numbers"] == {"ranks": 2, "in_use": 1}
    text = SMI.replace("       3MiB", "   74001MiB")
    item = found(text, "uneven_utilization")
    assert item["numbers"] == {"highest": 98, "lowest": 0}
    even = check(text.replace("      0% ", "     97% "), **R1)
    assert not kinds(even["contradictions"])


def test_a_pair_without_nvlink_is_a_finding() -> None:
    """Not impossible, only slow."""
    assert check(TOPOLOGY, **R1)["findings"] == []
    item = found(TOPOLOGY.replace("NV12", "SYS"), "ranks_without_nvlink")
    assert "SYS" in item["message"]


def test_preemptions_need_a_full_pool() -> None:
    """Half full, and still something was thrown out: one of the two is of another time."""
    text = PAGE.replace("0.997", "0.41")
    assert found(text, "preempted_with_room")["numbers"]["num_preemptions"] == 136


def test_requests_over_duration_are_the_throughput() -> None:
    """500 in 111.85 s are 4.47 a second, not 9."""
    assert "throughput_does_not_follow" not in kinds(check(REPORT, **R1)["contradictions"])
    text = REPORT.replace("4.47", "9.00")
    assert found(text, "throughput_does_not_follow")["numbers"]["follows"] == 4.47


def test_memory_that_the_named_gpu_does_not_have_is_said() -> None:
    """An A40 by name that shows half of its memory: a slice."""
    text = "GPU 0: NVIDIA A40 (UUID: GPU-1)\nFree memory on device (21.9/22.1 GiB) on startup.\n"
    assert found(text, "memory_of_another_accelerator")["numbers"]["accelerator"] == "a40"


def test_an_empty_text_contradicts_nothing() -> None:
    """Nothing was said."""
    result = check("", **R1)
    assert (result["contradictions"], result["findings"], result["errors"]) == ([], [], [])
