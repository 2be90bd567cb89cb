"""What a change of one knob buys."""

import pytest

from tests.decide.asking import R1, result


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
