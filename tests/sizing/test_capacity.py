"""What a pool holds, as it grows."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pycore.bridge import answer

R1 = {"model": "llama-3.3-70b-instruct", "accelerator": "a100-pcie-80gb", "tensor_parallel_size": 2}


def sized(**request: Any) -> dict[str, Any]:
    """The result of R1 with some of its fields changed."""
    found: dict[str, Any] = json.loads(answer(json.dumps({**R1, **request})))["result"]
    return found


POOLS = st.integers(min_value=6 * 2**30, max_value=60 * 2**30)
MODELS = st.sampled_from(
    ["llama-3.3-70b-instruct", "gemma-3-27b-it", "deepseek-v3", "nemotron-h-56b-base-8k"]
)
GROWING = (
    "num_gpu_blocks",
    "kv_cache_size_tokens",
    "kv_cache_max_concurrency",
    "longest_request_tokens",
    "estimated_max_model_len",
    "max_concurrency_for_workload",
)


@given(MODELS, POOLS, st.integers(min_value=0, max_value=2**33))
def test_a_larger_pool_holds_no_less(model: str, pool: int, more: int) -> None:
    """Every figure of the pool grows with its bytes, or stays."""
    request = {"model": model, "tensor_parallel_size": 8, "max_model_len": 4096}
    small, large = (
        sized(**request, measured={"available_kv_cache_bytes": size})
        for size in (pool, pool + more)
    )
    if small["starts"]:
        assert large["starts"]
        for name in GROWING:
            assert small[name] <= large[name], name


@given(MODELS, POOLS)
def test_the_longest_request_starts_and_one_token_more_does_not(model: str, pool: int) -> None:
    """``longest_request_tokens`` is where vLLM begins to refuse, within the model's own limit."""
    request = {"model": model, "tensor_parallel_size": 8}
    measured = {"available_kv_cache_bytes": pool}
    longest = sized(**request, max_model_len=64, measured=measured)["longest_request_tokens"]
    there = sized(**request, max_model_len=longest, measured=measured)
    assert there["starts"]
    if longest < there["model_limit_tokens"]:
        beyond = sized(**request, max_model_len=longest + 1, measured=measured)
        assert not beyond["starts"]


@given(MODELS, POOLS)
def test_auto_fits_what_can_be_held(model: str, pool: int) -> None:
    """With ``auto`` the engine starts where a token fits, and allows no more than the model."""
    result = sized(
        model=model,
        tensor_parallel_size=8,
        max_model_len="auto",
        measured={"available_kv_cache_bytes": pool},
    )
    if result["starts"]:
        assert 0 < result["max_model_len"] <= result["model_limit_tokens"]
        assert result["needed_kv_cache_bytes"] <= pool
