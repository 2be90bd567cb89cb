"""When a quantisation starts at all: GPUs, dtypes, versions, and what --quantization may say."""

import json
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.request import QUANTIZATIONS

ONE = {"accelerator": "h100-sxm-80gb", "max_model_len": 4096}


def refusals(**request: object) -> list[dict[str, Any]]:
    """What stands in the way."""
    reply = json.loads(answer(json.dumps({**ONE, **request})))
    assert reply["ok"], reply
    found: list[dict[str, Any]] = reply["result"]["refusals"]
    return found


def test_a_flag_that_contradicts_the_checkpoint_is_refused() -> None:
    """Source: vLLM 0.33.0, config/model.py, _verify_quantization."""
    first = refusals(model="qwen3-8b-fp8", quantization="fp8_per_tensor")[0]
    assert first["kind"] == "unsupported_quantisation"
    assert first["message"] == (
        "Quantization method specified in the model config (fp8) does not match the quantization "
        "method specified in the `quantization` argument (fp8_per_tensor)."
    )
    assert {"quantization": None} in [remedy["changes"] for remedy in first["remedies"]]
    assert refusals(model="qwen3-8b-fp8", quantization="fp8") == []


def test_gpt_oss_takes_its_own_form_whatever_is_asked() -> None:
    """Some methods override the flag."""
    assert refusals(model="gpt-oss-20b", quantization="fp8") == []


def test_a_method_that_needs_a_file_finds_none() -> None:
    """AWQ of a checkpoint that is not quantised."""
    first = refusals(model="qwen3-8b", quantization="awq")[0]
    assert first["message"] == "Cannot find the config file for awq"


def test_what_a_version_has_given_up_it_refuses() -> None:
    """Meta's fbgemm_fp8 is deprecated in 0.33 and asks for a flag; older versions took it."""
    request = {"model": "llama-3.1-405b-instruct-fp8", "tensor_parallel_size": 8}
    first = refusals(**request)[0]
    assert first["kind"] == "unsupported_quantisation"
    assert "--allow-deprecated-quantization" in first["message"]
    assert not any(
        item["kind"] == "unsupported_quantisation"
        for item in refusals(**request, engine_version="0.19.0")
    )


def test_bitsandbytes_is_sized_for_older_versions() -> None:
    """0.33 does not know it any more."""
    request = {"model": "llama-3.1-8b-instruct", "quantization": "bitsandbytes"}
    assert refusals(**request)[0]["message"].startswith("Unknown quantization method: bitsandbytes")
    assert refusals(**request, engine_version="0.19.0") == []


def test_gptq_in_the_order_of_activations_is_given_up() -> None:
    """A group size of -1 makes the order meaningless, and is taken."""
    config = {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "hidden_size": 4096,
        "num_hidden_layers": 4,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "intermediate_size": 16384,
        "vocab_size": 151936,
        "max_position_embeddings": 32768,
        "torch_dtype": "float16",
    }
    gptq = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": True, "sym": True}
    first = refusals(config={**config, "quantization_config": gptq})[0]
    assert first["message"].startswith("GPTQ group activation ordering (desc_act=True)")
    whole = {**gptq, "group_size": -1}
    assert refusals(config={**config, "quantization_config": whole}) == []


@pytest.mark.parametrize(
    ("model", "accelerator", "lowest"),
    [("gpt-oss-20b", "t4", 80), ("llama-3.1-70b-instruct-fp8", "t4", 80)],
)
def test_old_gpus_lack_kernels(model: str, accelerator: str, lowest: int) -> None:
    """Source: vLLM 0.33.0, get_min_capability of each method."""
    shown = refusals(model=model, accelerator=accelerator, dtype="float16")
    messages = [item["message"] for item in shown]
    assert any(f"Minimum capability: {lowest}. Current capability: 75." in m for m in messages)


def test_per_token_fp8_needs_a_gpu_that_multiplies_it() -> None:
    """Ampere would fall back to weights only, and says so."""
    request = {"model": "llama-3.1-8b-instruct", "quantization": "fp8_per_channel"}
    assert refusals(**request) == []
    first = refusals(**request, accelerator="a100-sxm-80gb")[0]
    assert first["message"].startswith("FP8 PTPC online quant requires a kernel")


def test_gpt_oss_computes_in_bfloat16_only() -> None:
    """Source: vLLM 0.33.0, quantization/mxfp4.py, get_supported_act_dtypes."""
    first = refusals(model="gpt-oss-20b", dtype="float16")[0]
    assert first["message"] == (
        "torch.float16 is not supported for quantization method gpt_oss_mxfp4. Supported dtypes: "
        "[torch.bfloat16]"
    )


def test_a_cache_of_five_exponent_bits_does_not_go_with_fp8_weights() -> None:
    """Such checkpoints may carry scales for the other fp8."""
    first = refusals(model="qwen3-8b-fp8", kv_cache_dtype="fp8_e5m2")[0]
    assert first["message"] == "fp8_e5m2 kv-cache is not supported with fp8 checkpoints."


@pytest.mark.parametrize("quantization", QUANTIZATIONS)
def test_every_value_of_the_flag_has_an_answer(quantization: str) -> None:
    """A size or a refusal, on a model without and with experts."""
    for model in ("llama-3.1-8b-instruct", "qwen3-30b-a3b"):
        reply = json.loads(
            answer(json.dumps({**ONE, "model": model, "quantization": quantization}))
        )
        assert reply["ok"]
        assert reply["result"]["refusals"] or reply["result"]["weights_bytes_per_rank"]


def test_quantizing_at_load_narrows_what_it_names() -> None:
    """fp8 nearly halves all linears; the experts-only kinds leave a dense model alone."""

    def weights(model: str, quantization: str | None) -> int:
        request = {**ONE, "model": model, "quantization": quantization, "accelerator": "b200-sxm"}
        return int(json.loads(answer(json.dumps(request)))["result"]["weights_bytes_per_rank"])

    dense, sparse = "llama-3.1-8b-instruct", "qwen3-30b-a3b"
    embeddings = 2 * 128_256 * 4096 * 2
    linears = weights(dense, None) - embeddings
    assert weights(dense, "fp8") - embeddings == pytest.approx(linears / 2, rel=0.003)
    assert weights(dense, "nvfp4_per_token") == weights(dense, None)
    assert weights(sparse, "nvfp4_per_token") < weights(sparse, "fp8") < weights(sparse, None)
