"""How far each estimate may be from a real run, carried to what rests on it."""

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


DEPLOYMENTS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["llama-3.3-70b-instruct", "qwen3-30b-a3b", "gemma-3-27b-it"]),
        "accelerator": st.sampled_from(["a100-sxm-80gb", "h100-sxm-80gb", "b200-sxm"]),
        "tensor_parallel_size": st.sampled_from([2, 4]),
        "max_model_len": st.sampled_from([4096, 16384]),
        "engine_version": st.sampled_from(["0.33.0", "0.25.0", "0.19.0", "0.11.0"]),
    }
)


@given(DEPLOYMENTS)
def test_every_range_holds_its_figure(request: dict[str, Any]) -> None:
    """Low, figure and high stand in order."""
    result = sized(**request)
    for name, (low, high) in result["bounds"].items():
        if result[name] is not None:
            assert low <= result[name] <= high, name


@given(DEPLOYMENTS)
def test_a_given_pool_has_no_range(request: dict[str, Any]) -> None:
    """What follows from a measured figure is arithmetic."""
    pool = {"available_kv_cache_bytes": 30 * 2**30}
    result = sized(**request, measured=pool)
    for name in ("available_kv_cache_bytes", "num_gpu_blocks", "longest_request_tokens"):
        low, high = result["bounds"].get(name, (0, 0))
        assert low == high, name


def width(version: str) -> int:
    """Bytes between the ends of the pool's range on one version."""
    low, high = sized(engine_version=version, max_model_len=8192)["bounds"][
        "available_kv_cache_bytes"
    ]
    return int(high - low)


def test_a_version_whose_code_was_not_read_has_the_wider_range() -> None:
    """Version 0.21 lies between two that were."""
    assert width("0.21.0") > max(width("0.20.0"), width("0.22.0")) > 0
