"""What cures a refusal, and what is said where nothing does."""

from typing import Any, get_args

import pytest

from pycore.engine.refusals.refusal import RefusalKind
from tests.decide.asking import R1, result

REFUSED: dict[str, dict[str, Any]] = {
    "too few GPUs": {"tensor_parallel_size": 1},
    "a longest request that does not fit": {"max_model_len": 131072},
    "heads and widths": {"tensor_parallel_size": 3},
    "a length above the model's": {"max_model_len": 1 << 20},
    "a node": {"tensor_parallel_size": 8, "accelerators_per_node": 4},
    "no windows to share": {"tensor_parallel_size": 8, "decode_context_parallel_size": 3},
    "more stages than layers": {"pipeline_parallel_size": 96},
    "a short step": {"max_num_batched_tokens": 64, "max_num_seqs": 128},
    "another process": {"accelerator_free_bytes": 72 << 30, "max_model_len": 4096},
    "an old GPU": {
        "model": "llama-3.1-8b-instruct",
        "accelerator": "t4",
        "tensor_parallel_size": 4,
        "max_model_len": 4096,
        "dtype": "bfloat16",
    },
    "numbers that grow out of float16": {
        "model": "gemma-3-27b-it",
        "max_model_len": 4096,
        "dtype": "float16",
    },
    "a model for neither half precision": {
        "model": "gemma-3-1b-it",
        "accelerator": "t4",
        "tensor_parallel_size": 1,
        "max_model_len": 4096,
        "dtype": "bfloat16",
    },
    "blocks that no kernel reads": {
        "model": "deepseek-v3",
        "accelerator": "h200-sxm-141gb",
        "tensor_parallel_size": 8,
        "block_size": 1,
    },
    "latent windows kept whole": {
        "model": "deepseek-v4-flash",
        "accelerator": "h200-sxm-141gb",
        "tensor_parallel_size": 8,
        "disable_hybrid_kv_cache_manager": True,
    },
    "a cache of the other half precision": {"kv_cache_dtype": "float16"},
    "a checkpoint that nothing says how to read": {"quantization": "awq"},
    "no experts": {"enable_expert_parallel": True},
    "a form that is not computed in float32": {
        "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128},
        "dtype": "float32",
    },
}


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED)
def test_a_remedy_starts_the_engine_whatever_else_was_refused(change: dict[str, Any]) -> None:
    """Pressing it does what it says; each refusal's kind is one of the contract's."""
    request = R1 | change
    refusals = result(request)["refusals"]
    assert any(refusal["remedies"] for refusal in refusals), [r["message"] for r in refusals]
    for refusal in refusals:
        assert refusal["kind"] in get_args(RefusalKind)
        for remedy in refusal["remedies"]:
            there = result(request | remedy["changes"])
            assert there["starts"]
            for name in ("verdict", "max_model_len", "longest_request_tokens", "num_accelerators"):
                assert remedy[name] == there[name], remedy["label"]


def test_one_change_cures_every_refusal_that_it_does_away_with() -> None:
    """TP 3 breaks several rules, and each names the sizes with which the engine starts."""
    refusals = result(R1 | {"tensor_parallel_size": 3})["refusals"]
    assert len(refusals) > 1
    for refusal in refusals:
        assert refusal["remedies"][0]["changes"]["tensor_parallel_size"] in {2, 4}


def test_refusals_that_no_one_change_cures_have_no_remedy() -> None:
    """Two changes would; none of those that were tried does it alone."""
    request = R1 | {"tensor_parallel_size": 3, "max_num_batched_tokens": 64, "max_num_seqs": 128}
    refusals = result(request)["refusals"]
    assert {"indivisible_heads", "batched_tokens_too_small"} <= {item["kind"] for item in refusals}
    assert all(refusal["remedies"] == [] for refusal in refusals)


def test_a_refusal_of_the_pool_offers_the_length_that_fits() -> None:
    """The first cure of R1 at full length is the longest length that starts."""
    refused = result({**R1, "max_model_len": None})
    remedy = refused["refusals"][0]["remedies"][0]
    assert remedy["changes"] == {"max_model_len": refused["estimated_max_model_len"]}


def test_weights_that_do_not_fit_are_cured_by_fewer_of_them() -> None:
    """No cache or graph matters then, and no share of the GPU is large enough."""
    refused = result({**R1, "tensor_parallel_size": 1})["refusals"][0]
    assert refused["kind"] == "weights_exceed_budget"
    fields = {field for remedy in refused["remedies"] for field in remedy["changes"]}
    assert fields == {"tensor_parallel_size"}


def test_a_checkpoint_that_is_quantised_is_not_quantised_again() -> None:
    """DeepSeek-V3's fp8 takes more than eight H100 have; 16 of them hold it."""
    refused = result(
        {"model": "deepseek-v3", "accelerator": "h100-sxm-80gb", "tensor_parallel_size": 8}
    )["refusals"][0]
    assert [remedy["num_accelerators"] for remedy in refused["remedies"]] == [16]
