"""Memory that is free when the engine starts: between nothing and all of it."""

import json
from typing import Any

import pytest

from pycore.bridge import answer

TOTAL = 80 << 30


def asked(**request: Any) -> dict[str, Any]:
    """The answer for a small model."""
    decoded: dict[str, Any] = json.loads(answer(json.dumps({"model": "qwen3-0.6b"} | request)))
    return decoded


def test_no_more_is_free_than_there_is() -> None:
    """All of it may be; a byte more is no such GPU's."""
    assert asked(accelerator_total_bytes=TOTAL, accelerator_free_bytes=TOTAL)["ok"]
    failure = asked(accelerator_total_bytes=TOTAL, accelerator_free_bytes=TOTAL + 1)["failure"]
    assert (failure["field"], failure["reason"]) == ("accelerator_free_bytes", "out_of_range")


@pytest.mark.parametrize("num_bytes", [1, 2, 1 << 20])
def test_a_gpu_smaller_than_its_context_has_nothing_free(num_bytes: int) -> None:
    """The refusal quotes no memory below zero."""
    refusals = asked(accelerator_total_bytes=num_bytes)["result"]["refusals"]
    assert any("(0.0/0.0 GiB)" in refusal["message"] for refusal in refusals)


MEASURED = (
    "weights_bytes_per_rank",
    "activation_bytes",
    "cuda_graph_bytes",
    "non_torch_bytes",
    "available_kv_cache_bytes",
    "total_bytes",
)


@pytest.mark.parametrize("name", MEASURED)
@pytest.mark.parametrize("num_bytes", [0, 1])
@pytest.mark.parametrize("ask", ["size", "knobs", "frontier", "watch"])
def test_measured_figures_may_be_next_to_nothing(name: str, num_bytes: int, ask: str) -> None:
    """Every boundary is an answer; no memory at all is no GPU."""
    reply = asked(ask=ask, accelerator="l4", measured={name: num_bytes})
    if (name, num_bytes) == ("total_bytes", 0):
        assert reply["failure"]["field"] == "measured.total_bytes"
    else:
        assert reply["ok"]
