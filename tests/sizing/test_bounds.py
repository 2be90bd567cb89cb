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


def basis(result: dict[str, Any], figure: str) -> str:
    """How far one figure is to be trusted."""
    return next(str(one["basis"]) for one in result["figures"] if one["name"] == figure)


def test_an_assumed_total_lends_its_range_and_basis_to_what_follows() -> None:
    """Of the MI350X no log prints the memory: the budget is as far off as it is."""
    asked = {"accelerator": "mi350x", "figures": True, "gpu_memory_utilization": 0.5}
    result = sized(**asked)
    low, high = result["bounds"]["total_bytes"]
    assert low < result["total_bytes"] < high
    assert result["bounds"]["requested_bytes"] == [low / 2, high // 2 + high % 2]
    for figure in ("requested_bytes", "available_kv_cache_bytes", "kv_cache_max_concurrency"):
        assert basis(result, figure) == "assumed", figure


def test_a_total_that_varies_from_host_to_host_is_fitted() -> None:
    """An A100 80GB reports a little more or less."""
    result = sized(accelerator="a100-sxm-80gb", figures=True)
    assert basis(result, "requested_bytes") == "fitted"
    assert basis(result, "available_kv_cache_bytes") == "fitted"
    assert "total_bytes" in result["bounds"]


def test_a_total_that_was_measured_has_no_range() -> None:
    """Nor one that was stated."""
    total = {"total_bytes": 300 * 2**30}
    measured = sized(accelerator="mi350x", measured=total, figures=True)
    stated = sized(accelerator=None, accelerator_total_bytes=total["total_bytes"], figures=True)
    for result in (measured, stated):
        assert not {"total_bytes", "requested_bytes"} & result["bounds"].keys()
        assert basis(result, "requested_bytes") == "exact"


def test_a_refusal_still_says_how_far_the_budget_is_known() -> None:
    """Before a byte is loaded, the budget is all there is."""
    result = sized(accelerator="mi350x", tensor_parallel_size=3)
    assert result["verdict"] == "refused"
    assert set(result["bounds"]) == {"total_bytes", "requested_bytes"}
