"""The verdict, and the reason given for it."""

import json
from typing import Any

import pytest

from pycore.bridge import answer

R1 = {"model": "llama-3.3-70b-instruct", "accelerator": "a100-pcie-80gb", "tensor_parallel_size": 2}


def sized(**request: Any) -> dict[str, Any]:
    """The result of R1 with some of its fields changed."""
    found: dict[str, Any] = json.loads(answer(json.dumps({**R1, **request})))["result"]
    return found


@pytest.mark.parametrize(
    ("changes", "verdict", "reason"),
    [
        ({"max_model_len": 8192}, "tight", "pool_small"),
        ({"max_model_len": 8192, "concurrency": 9}, "tight", "concurrency_short"),
        ({"max_model_len": 131_072}, "refused", "kv_cache_too_small"),
        ({"tensor_parallel_size": 3}, "refused", "indivisible_heads"),
        ({"tensor_parallel_size": 1}, "does_not_fit", "weights_exceed_budget"),
        ({"tensor_parallel_size": 4, "concurrency": 4}, "fits", "room_to_spare"),
        # Weights alone fit; what running takes does not.
        ({"gpu_memory_utilization": 0.835}, "does_not_fit", "fixed_terms_exceed_budget"),
    ],
)
def test_each_verdict_has_its_reason(changes: dict[str, Any], verdict: str, reason: str) -> None:
    """R1 and its neighbours, input and output 4,096 tokens each."""
    result = sized(input_tokens=4096, output_tokens=4096, **changes)
    assert (result["verdict"], result["reason"]["kind"]) == (verdict, reason)
    assert result["starts"] == (verdict in {"fits", "tight"})


def test_requests_are_asked_of_each_replica() -> None:
    """Eight at once on two replicas is four on each."""
    whole = sized(max_model_len=8192, concurrency=8, input_tokens=4096, output_tokens=4096)
    halves = sized(
        max_model_len=8192,
        concurrency=8,
        input_tokens=4096,
        output_tokens=4096,
        data_parallel_size=2,
    )
    assert whole["reason"]["kind"] == "concurrency_short"
    assert halves["reason"]["kind"] == "pool_small"
