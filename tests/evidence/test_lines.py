"""Cleaning: colours, prefixes, quoting, processes, and lines that say nothing."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.evidence.reading.feed import Feed, read_text
from pycore.evidence.reading.lines import ANCHORS, LOG, Line, relevant_lines, segments

LINE = "Available KV cache memory: 5.63 GiB"


def workers_of(text: str) -> list[tuple[str, str]]:
    """Worker and message of each segment."""
    return [(segment.worker, segment.text) for segment in segments(Line(1, text, LOG))]


@pytest.mark.parametrize(
    ("prefix", "worker"),
    [
        ("INFO 07-01 12:00:00 [gpu_worker.py:298] ", ""),
        ("INFO 07-01 12:00:00 worker.py:267] ", ""),
        ("(EngineCore pid=12) INFO 07-01 12:00:00 [gpu_worker.py:298] ", ""),
        ("(EngineCore_DP0 pid=12) INFO 07-01 12:00:00 [gpu_worker.py:298] ", "DP0"),
        ("(Worker_TP1 pid=2) INFO 07-01 12:00:00 [gpu_worker.py:298] ", "TP1"),
        ("(Worker_DP1_PP0_TP3_EP3 pid=2) INFO 07-01 12:00:00 [gpu_worker.py:2] ", "DP1 PP0 TP3"),
        ("(VllmWorker rank=3 pid=219) INFO 07-01 12:00:00 [gpu_worker.py:298] ", "rank 3"),
        ("(VllmWorker TP2 pid=219) INFO 07-01 12:00:00 [gpu_worker.py:298] ", "TP2"),
        ("(VllmWorkerProcess pid=219) INFO 07-01 12:00:00 worker.py:267] ", "pid 219"),
        ("(RayWorkerWrapper pid=219, ip=10.0.0.7) INFO 07-01 12:00:00 [w.py:1] ", "pid 219"),
        ("(EngineCore_DP0 pid=1) (RayWorkerWrapper pid=9) ", "DP0 pid 9"),
        ("\x1b[0;36m(Worker_TP1 pid=2)\x1b[0;0m \x1b[32mINFO\x1b[0m 07-01 12:00:00 ", "TP1"),
        ("[1;36m(Worker_TP1 pid=2)[0;0m INFO 07-01 12:00:00 [gpu_worker.py:298] ", "TP1"),
        ("[pod/vllm-0/vllm] (Worker_TP1 pid=2) ", "TP1"),
        ("vllm-1  | (Worker_TP1 pid=2) ", "TP1"),
        ("2026-07-01T12:00:00.123456789Z stderr F (Worker_TP1 pid=2) ", "TP1"),
        ("Jul 01 12:00:00 node docker[42]: (Worker_TP1 pid=2) ", "TP1"),
        ("ker_TP1 pid=2) INFO 07-01 12:00:00 [gpu_worker.py:298] ", "TP1"),
        ("[2026-07-01 12:00:00 DP0 TP1 EP1] ", "DP0 TP1 EP1"),
    ],
)
def test_a_prefix_tells_the_worker_and_leaves_the_message(prefix: str, worker: str) -> None:
    """Whatever stands before a message, its words and its rank are read."""
    found = workers_of(prefix + LINE)
    assert found[-1][0] == worker
    assert found[-1][1].endswith(LINE)


def test_two_messages_on_one_line_are_two() -> None:
    """Processes that share a pipe run together."""
    text = f"(Worker_TP0 pid=1) INFO 07-01 12:00:00 [w.py:1] {LINE}(Worker_TP1 pid=2) INFO 07-01 12:00:00 [w.py:1] Available KV cache memory: 5.65 GiB"
    assert workers_of(text) == [("TP0", LINE), ("TP1", "Available KV cache memory: 5.65 GiB")]


def test_a_line_of_json_is_the_lines_that_it_quotes() -> None:
    """Docker's and Loki's files quote newlines and colours."""
    text = (
        '{"log":"\\u001b[36m(Worker_TP0 pid=1)\\u001b[0m INFO 07-01 12:00:00 [w.py:1] '
        f'{LINE}\\n(Worker_TP1 pid=2) {LINE}\\n","stream":"stderr"}}'
    )
    assert [worker for worker, text in workers_of(text) if LINE in text] == ["TP0", "TP1"]


def test_line_numbers_are_those_of_the_text() -> None:
    """A figure points to the line that it stands on."""
    text = "\n".join(["nothing"] * 41 + [LINE] + ["nothing"] * 3)
    assert [line.number for line in relevant_lines(text)] == [42]
    reading = read_text(text).deciding("available_kv_cache_bytes")
    assert reading is not None
    assert reading.line == 42


def test_a_line_without_an_anchor_is_never_read() -> None:
    """Thinning a text out by the anchors changes nothing but its length."""
    text = "\n".join(["Route: /health", LINE, "", "x" * 100, "GPU KV cache size: 36,896 tokens"])
    thinned = "\n".join(
        line if any(anchor in line for anchor in ANCHORS) else "" for line in text.split("\n")
    )
    assert len(thinned) < len(text)
    assert read_text(thinned).starts == read_text(text).starts


@given(st.integers(1, 200), st.data())
def test_pieces_add_up_to_the_whole(size: int, data: st.DataObject) -> None:
    """A text handed over bit by bit reads like one handed over at once."""
    text = "\n".join(
        [
            "INFO 07-01 12:00:00 [api.py:1] vLLM API server version 0.26.0",
            "(Worker_TP0 pid=1) INFO 07-01 12:00:00 [w.py:1] Model loading took 65.74 GiB memory",
            "(Worker_TP1 pid=2) INFO 07-01 12:00:00 [w.py:1] " + LINE,
            "ValueError: max seq len (4096) is larger than the maximum number of tokens that can",
            "be stored in KV cache (3664). Try increasing `gpu_memory_utilization` when initializing",
            "GPU KV cache size: 36,896 tokens, Maximum concurrency for 8,192 tokens per request: 4.50x",
            data.draw(st.text(max_size=80)),
        ]
    )
    feed = Feed()
    for start in range(0, len(text), size):
        feed.feed(text[start : start + size])
    whole = read_text(text)
    assert feed.close() == whole


@pytest.mark.parametrize(
    "text",
    [
        "GiB " + "a" * 500_000,
        "non-default args: {" + "'" * 500_000,
        "args: Namespace(" + "(" * 500_000,
        "GiB " + " pid=" * 100_000,
        "GiB " + "\x1b[" * 250_000,
        "vllm:num_requests_running{" * 20_000,
        "vllm serve " + "--a " * 120_000,
        "aximum concurrency for " * 22_000,
        "GiB " + "1," * 250_000,
        "CUDA out of memory. Tried to allocate 1 MiB " * 11_000,
        "num_requests_running " * 24_000,
        "Available KV cache memory: " * 18_000,
    ],
    ids=lambda text: text[:24].strip(),
)
def test_no_text_is_slow(text: str) -> None:
    """Half a megabyte of the worst takes less than a busy machine's second or two."""
    began = time.process_time()
    read_text(text)
    assert time.process_time() - began < 3


def test_a_busy_servers_log_is_read_in_step_with_its_length() -> None:
    """Access lines and statistics: 8 MB at well over 5 MB a second."""
    access = '(APIServer pid=1) INFO:     10.0.0.1:34567 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    statistics = (
        "(APIServer pid=1) INFO 07-01 12:00:00 [loggers.py:248] Engine 000: Avg prompt throughput: "
        "1204.3 tokens/s, Avg generation throughput: 803.1 tokens/s, Running: 113 reqs, Waiting: 5 "
        "reqs, GPU KV cache usage: 97.3%, Prefix cache hit rate: 12.3%\n"
    )
    text = (access * 6 + statistics) * 10_000
    began = time.process_time()
    findings = read_text(text)
    assert time.process_time() - began < 1.6
    assert findings.value("num_requests_running") == 113
    assert findings.value("kv_cache_usage") == pytest.approx(0.973)
