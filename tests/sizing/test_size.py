"""Figures of an answer that are asked of the model and its ranks alone."""

import json
from typing import Any

import pytest

from pycore.bridge import answer


def sized(**request: Any) -> dict[str, Any]:
    """The result of one request."""
    text = json.dumps({"accelerator": "h200-sxm-141gb"} | request)
    found: dict[str, Any] = json.loads(answer(text))["result"]
    return found


@pytest.mark.parametrize(
    ("model", "ranks", "per_rank", "replicas"),
    [
        ("llama-3.3-70b-instruct", 2, 4, 1),
        ("llama-3.3-70b-instruct", 8, 1, 1),
        ("qwen3-30b-a3b", 8, 1, 2),
        # One latent vector instead of heads, whole on every GPU.
        ("deepseek-v3", 8, None, None),
    ],
)
def test_heads_are_divided_and_beyond_their_number_copied(
    model: str, ranks: int, per_rank: int | None, replicas: int | None
) -> None:
    """Eight KV heads in Llama 3.3 70B, four in Qwen3 30B A3B."""
    result = sized(model=model, tensor_parallel_size=ranks)
    assert (result["num_kv_heads_per_rank"], result["num_kv_head_replicas"]) == (per_rank, replicas)


def test_a_request_of_the_workload_takes_what_its_tokens_take() -> None:
    """With full attention every token takes the same: 8,192 times 160 KiB."""
    workload = {"input_tokens": 4096, "output_tokens": 4096}
    result = sized(model="llama-3.3-70b-instruct", tensor_parallel_size=2, **workload)
    assert result["kv_cache_bytes_for_workload"] == 8192 * 163_840


def test_a_short_request_of_windows_takes_more_than_its_margin() -> None:
    """Gemma 3's windows are full at 8,192 tokens, and longer requests no longer grow them."""
    workload = {"input_tokens": 4096, "output_tokens": 4096}
    result = sized(model="gemma-3-27b-it", **workload)
    margin = result["kv_cache_bytes_per_token_per_rank"]
    assert result["kv_cache_bytes_for_workload"] > 5 * 8192 * margin
