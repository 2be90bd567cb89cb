"""What a change of one knob buys, and which changes cure a refusal."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.bridge import answer

R1 = {
    "model": "llama-3.3-70b-instruct",
    "accelerator": "a100-pcie-80gb",
    "tensor_parallel_size": 2,
    "max_model_len": 32768,
}


def result(request: dict[str, Any]) -> dict[str, Any]:
    """The result of one request."""
    found: dict[str, Any] = json.loads(answer(json.dumps(request)))["result"]
    return found


def test_a_row_is_what_sizing_the_changed_scenario_gives() -> None:
    """Pressing a row shows the figures that the row promised."""
    for row in result({**R1, "ask": "knobs"})["rows"]:
        there = result({**R1, **row["changes"]})
        for figure in ("verdict", "longest_request_tokens", "max_concurrency_for_workload"):
            assert row[figure] == there[figure], row["label"]
        for figure, value in row["moved"].items():
            assert there[figure] == value


def test_half_the_kv_width_doubles_the_longest_request() -> None:
    """R1 with fp8 KV: twice the blocks of the same bytes."""
    rows = {row["field"]: row for row in result({**R1, "ask": "knobs"})["rows"]}
    here = result(R1)
    assert rows["kv_cache_dtype"]["max_concurrency_for_workload"] == pytest.approx(
        2 * here["max_concurrency_for_workload"], rel=0.001
    )


def test_fp8_weights_treble_concurrency_at_least() -> None:
    """R1's write-up: halved weights leave several times the KV pool."""
    rows = {row["field"]: row for row in result({**R1, "ask": "knobs"})["rows"]}
    gained = rows["quantization"]["max_concurrency_for_workload"]
    assert gained >= 3 * result(R1)["max_concurrency_for_workload"]


def test_kv_per_token_follows_the_number_of_kv_heads() -> None:
    """The architecture's own numbers can be pushed: each doubling doubles KV per token."""
    eight = result({**R1, "num_key_value_heads": 8})["kv_cache_bytes_per_token_per_rank"]
    sixteen = result({**R1, "num_key_value_heads": 16})["kv_cache_bytes_per_token_per_rank"]
    assert (eight, sixteen) == (163_840, 327_680)


REFUSED = st.sampled_from(
    [
        {"max_model_len": 131072},
        {"tensor_parallel_size": 3},
        {"tensor_parallel_size": 1},
        {"max_model_len": 200_000},
        {"accelerators_per_node": 1},
        {"accelerator_free_bytes": 70 * 10**9, "max_model_len": 1024},
        {"max_num_batched_tokens": 16, "max_num_seqs": 64},
        {"decode_context_parallel_size": 2},
        {"accelerator": "t4", "dtype": "bfloat16"},
    ]
)


@given(REFUSED)
def test_every_remedy_starts(change: dict[str, Any]) -> None:
    """A remedy is offered only when the changed scenario starts."""
    refused = result({**R1, **change})
    assert not refused["starts"]
    for remedy in refused["refusals"][0]["remedies"]:
        there = result({**R1, **change, **remedy["changes"]})
        assert there["starts"]
        assert there["verdict"] == remedy["verdict"]


def test_a_refusal_of_the_pool_offers_the_length_that_fits() -> None:
    """The first cure of R1 at full length is the longest length that starts."""
    refused = result({**R1, "max_model_len": None})
    remedy = refused["refusals"][0]["remedies"][0]
    assert remedy["changes"] == {"max_model_len": refused["estimated_max_model_len"]}


def test_the_frontier_falls_and_ends_where_the_engine_refuses() -> None:
    """More context, fewer requests; the last point is the longest request."""
    curve = result({**R1, "ask": "frontier"})
    points = curve["points"]
    assert len(points) <= 64
    assert [p["context_tokens"] for p in points] == sorted({p["context_tokens"] for p in points})
    concurrency = [point["concurrency"] for point in points]
    assert concurrency == sorted(concurrency, reverse=True)
    assert points[-1]["context_tokens"] == curve["refused_beyond_tokens"]
    assert points[-1]["concurrency"] >= 1
    assert curve["here"]["concurrency"] == result(R1)["max_concurrency_for_workload"]


def test_where_nothing_fits_there_is_no_frontier() -> None:
    """70B in bf16 on one L4 has no curve to draw."""
    curve = result({"ask": "frontier", "model": R1["model"], "accelerator": "l4"})
    assert curve["points"] == []


@pytest.mark.parametrize(
    "model", ["llama-3.3-70b-instruct", "nvidia-nemotron-3-nano-30b-a3b-nvfp4"]
)
def test_every_row_moves_something(model: str) -> None:
    """The NVFP4 checkpoint says fp8 of its cache already: ``auto`` would change nothing."""
    request = {"model": model, "accelerator": "b200-sxm", "ask": "knobs"}
    rows = result(request)["rows"]
    here = result({**request, "ask": "size"})
    assert rows
    assert all(row["moved"] or row["verdict"] != here["verdict"] for row in rows)
