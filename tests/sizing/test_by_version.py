"""Rules of older vLLM versions that public start-up records hold Napkin to."""

import json
from typing import Any, Final

import pytest

from pycore.bridge import answer
from pycore.engine.pictures import Pictures, profiled_pictures
from pycore.model.catalogue import model_of
from pycore.request import read_scenario

NEXT: Final = {
    "model": "qwen3-next-80b-a3b-instruct",
    "accelerator": "h200-sxm-141gb",
    "tensor_parallel_size": 2,
    "max_model_len": 262_144,
}
LLAMA: Final = {"model": "llama-3.1-8b-instruct", "max_model_len": 8192}


def sized(**request: object) -> dict[str, Any]:
    """The result of a request."""
    result: dict[str, Any] = json.loads(answer(json.dumps(request)))["result"]
    return result


def test_models_with_states_kept_no_prefixes_once() -> None:
    """Two H200 with vLLM 0.11: blocks of 544 tokens, 973,760 of them, 14.77 requests.

    Source: a public start-up log of Qwen3-Next-80B-A3B-Instruct.
    """
    measured = {"available_kv_cache_bytes": 47_878_721_024}
    result = sized(**NEXT, engine_version="0.11.0", measured=measured)
    assert result["block_size"] == 544
    assert result["kv_cache_size_tokens"] == 973_760
    assert round(result["kv_cache_max_concurrency"], 2) == 14.77


@pytest.mark.parametrize(
    ("version", "asked", "kept"),
    [
        ("0.13.0", True, False),
        ("0.22.0", None, False),
        ("0.22.0", True, True),
        ("0.26.0", None, True),
        ("0.26.0", False, False),
    ],
)
def test_prefixes_of_models_with_states_are_kept_as_the_version_does(
    version: str, asked: object, *, kept: bool
) -> None:
    """A request takes one block of states, and a second to copy into where prefixes are kept."""
    given = {**NEXT, "engine_version": version, "enable_prefix_caching": asked}
    plain = sized(**{**given, "enable_prefix_caching": False})
    assert kept == (sized(**given)["needed_kv_cache_bytes"] > plain["needed_kv_cache_bytes"])


def test_attention_alone_keeps_prefixes_in_every_version() -> None:
    """Nothing about its blocks changes with them."""
    for version in ("0.11.0", "0.33.0"):
        asked = {**LLAMA, "accelerator": "h100-sxm-80gb", "engine_version": version}
        plain = sized(**asked, enable_prefix_caching=False)
        assert sized(**asked)["num_gpu_blocks"] == plain["num_gpu_blocks"]


def test_the_first_release_of_0_20_printed_as_before() -> None:
    """Gemma 3's windows make blocks and requests differ."""
    gemma = {"model": "gemma-3-27b-it", "accelerator": "h100-sxm-80gb", "max_model_len": 131_072}
    tokens = {
        version: sized(**gemma, engine_version=version)["kv_cache_size_tokens"]
        for version in ("0.20.0", "0.20.2", "0.21.0")
    }
    assert tokens["0.20.0"] < tokens["0.20.2"]
    assert tokens["0.20.2"] == tokens["0.21.0"]


def test_ranks_over_pcie_take_less_and_no_more_with_each() -> None:
    """Eight L40S took 0.21 GiB outside torch with vLLM 0.10, eight H100 two GiB."""
    qwen = {"model": "qwen3-32b", "engine_version": "0.10.2"}
    taken = {
        (gpu, ranks): sized(**qwen, accelerator=gpu, tensor_parallel_size=ranks)["non_torch_bytes"]
        for gpu in ("l40s", "h100-sxm-80gb")
        for ranks in (4, 8)
    }
    assert taken["l40s", 4] == taken["l40s", 8] < taken["h100-sxm-80gb", 4]
    assert taken["h100-sxm-80gb", 4] < taken["h100-sxm-80gb", 8]


def test_one_gpu_before_hopper_takes_little_outside_torch() -> None:
    """0.02 GiB on GPUs of 24 and 44 GiB with vLLM 0.10, 0.07 on an H100."""
    taken = {
        gpu: sized(**LLAMA, accelerator=gpu, engine_version="0.10.2")["non_torch_bytes"]
        for gpu in ("l4", "l40s", "h100-sxm-80gb")
    }
    assert taken["l4"] == taken["l40s"] < taken["h100-sxm-80gb"]


def test_the_range_of_a_pool_spans_what_hosts_report_of_the_gpu() -> None:
    """An RTX 5090 has 31.35 GiB under Linux and 31.84 under Windows; a stated total has no range."""
    card = {**LLAMA, "engine_version": "0.29.0"}
    named = sized(**card, accelerator="rtx-5090")
    stated = sized(**card, accelerator="rtx-5090", measured={"total_bytes": named["total_bytes"]})
    above = named["bounds"]["available_kv_cache_bytes"][1]
    assert above > stated["bounds"]["available_kv_cache_bytes"][1]
    assert named["available_kv_cache_bytes"] == stated["available_kv_cache_bytes"]


def pictures_of(model: str) -> Pictures:
    """What a batch of 16,384 tokens holds of a catalogue model's pictures."""
    found = profiled_pictures(model_of(read_scenario({"model": model})), 16_384, 1)
    assert found is not None
    return found


def test_a_gate_halves_what_a_tower_activates() -> None:
    """Gemma 4's tower has one, Gemma 3's has not."""
    gated, plain = pictures_of("gemma-4-26b-a4b"), pictures_of("gemma-3-4b-it")
    assert gated.widest_rows == 2 * gated.activated_rows
    assert plain.widest_rows == plain.activated_rows
