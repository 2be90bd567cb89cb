"""Weights once they are loaded, against what real servers printed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.bridge import answer
from pycore.data import rows
from pycore.sizing.allocator import allocated_bytes
from pycore.units import GIB, MIB

AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}


def sized(**request: object) -> dict[str, Any]:
    """The result on one H100 unless said otherwise."""
    asked = {"accelerator": "h100-sxm-80gb", "max_model_len": 4096, **request}
    reply = json.loads(answer(json.dumps(asked)))
    assert reply["ok"], reply
    found: dict[str, Any] = reply["result"]
    return found


def gib(result: dict[str, Any], figure: str) -> float:
    """A figure in GiB."""
    return int(result[figure]) / GIB


def config_of(model_id: str, quantization: object) -> dict[str, object]:
    """A model of the catalogue as if it were quantised so."""
    row = next(row for row in rows("models") if row["id"] == model_id)
    assert isinstance(row["config"], dict)
    return {**row["config"], "quantization_config": quantization}


@given(st.integers(1, 1 << 34))
def test_the_allocator_gives_a_little_more(num_bytes: int) -> None:
    """Never less than was asked for, never 1 MiB and a rounding more."""
    block = allocated_bytes(num_bytes=num_bytes)
    assert num_bytes <= block <= num_bytes + MIB + 512
    assert allocated_bytes(num_bytes=block) == block


def test_a_tensor_that_ends_in_the_middle_of_two_mib_keeps_the_rest() -> None:
    """87.5 units of 2 MiB become 88; 31.25 give three quarters of a unit back."""
    assert allocated_bytes(num_bytes=175 * MIB) == 176 * MIB
    assert allocated_bytes(num_bytes=62 * MIB + MIB // 2) == 62 * MIB + MIB // 2


@pytest.mark.parametrize(
    ("model", "size", "printed"),
    [
        ("llama-3.1-8b-instruct", 1, 14.99),
        ("llama-3.1-8b-instruct", 2, 7.51),
        ("qwen2.5-7b-instruct", 1, 14.25),
        ("qwen2.5-7b-instruct", 2, 7.12),
        ("qwen2.5-72b-instruct", 2, 67.8),
        ("phi-4", 1, 27.39),
        ("qwen3-32b", 1, 61.03),
        ("qwen3-32b", 2, 30.59),
        ("qwen3-32b", 8, 7.69),
        ("qwen3-8b", 1, 15.27),
    ],
)
def test_loaded_weights_are_what_servers_print(model: str, size: int, printed: float) -> None:
    """``Model loading took # GiB``: created bytes explain some, the allocator the others.

    Source: public start-up records of vLLM 0.10 to 0.19 on H100.
    """
    result = sized(model=model, tensor_parallel_size=size)
    assert gib(result, "loaded_weights_bytes_per_rank") == pytest.approx(printed, abs=0.008)


def test_gpt_oss_120b_is_larger_loaded_than_created() -> None:
    """60.80 GiB created; vLLM 0.11 printed 64.38 on one H100.

    Triton's kernels were given a copy of the scales in tiles of their own, and the first copy
    stayed; biases are in float32. By 0.33 the first copy is freed.
    """
    older = sized(model="gpt-oss-120b", engine_version="0.11.0")
    assert gib(older, "weights_bytes_per_rank") == pytest.approx(60.80, abs=0.005)
    assert gib(older, "loaded_weights_bytes_per_rank") == pytest.approx(64.38, abs=0.01)
    newer = sized(model="gpt-oss-120b")
    assert newer["weights_bytes_per_rank"] == older["weights_bytes_per_rank"]
    assert gib(newer, "loaded_weights_bytes_per_rank") < 61.2


@pytest.mark.parametrize(
    ("accelerator", "created", "loaded"),
    [("h100-sxm-80gb", 12.85, 13.47), ("a100-sxm-80gb", 13.70, 13.72)],
)
def test_gpt_oss_20b_on_two_kinds_of_gpu(accelerator: str, created: float, loaded: float) -> None:
    """Marlin fills experts up before they are created, Triton's scales after.

    Source: start-up records of vLLM 0.11 (H100) and 0.19 (A100).
    """
    result = sized(model="gpt-oss-20b", accelerator=accelerator, engine_version="0.11.0")
    assert gib(result, "weights_bytes_per_rank") == pytest.approx(created, abs=0.006)
    assert gib(result, "loaded_weights_bytes_per_rank") == pytest.approx(loaded, abs=0.012)


def test_awq_on_ampere_is_what_a_server_printed() -> None:
    """Qwen2.5-Coder-32B-Instruct-AWQ took 18.1425 GiB on an A100 with vLLM 0.13."""
    result = sized(
        config=config_of("qwen2.5-32b-instruct", AWQ),
        accelerator="a100-sxm-80gb",
        dtype="float16",
    )
    assert gib(result, "loaded_weights_bytes_per_rank") == pytest.approx(18.14, abs=0.01)


def test_quantizing_at_load_is_what_a_server_printed() -> None:
    """Llama 3.1 8B with --quantization fp8 took 8.49 GiB on vLLM 0.19."""
    result = sized(model="llama-3.1-8b-instruct", quantization="fp8", engine_version="0.19.0")
    assert gib(result, "loaded_weights_bytes_per_rank") == pytest.approx(8.49, abs=0.006)


def test_fp8_without_kernels_spreads_its_scales() -> None:
    """Marlin wants a bfloat16 scale for each row and group: 1.6 % more on an A100."""
    hopper = sized(model="qwen3-32b-fp8")
    ampere = sized(model="qwen3-32b-fp8", accelerator="a100-sxm-80gb")
    assert ampere["weights_bytes_per_rank"] == hopper["weights_bytes_per_rank"]
    ratio = ampere["loaded_weights_bytes_per_rank"] / hopper["loaded_weights_bytes_per_rank"]
    assert 1.012 < ratio < 1.017


def test_latent_attention_keeps_copies_of_a_quantized_projection() -> None:
    """DeepSeek-V3 on 8 ranks: 16 heads, (128 + 128) x 512 in bfloat16, 61 layers: 0.24 GiB."""
    result = sized(model="deepseek-v3", accelerator="h200-sxm-141gb", tensor_parallel_size=8)
    copies = 61 * 16 * (128 + 128) * 512 * 2
    difference = result["loaded_weights_bytes_per_rank"] - result["weights_bytes_per_rank"]
    assert copies <= difference < copies * 1.6


def test_an_unquantized_projection_is_only_looked_at_differently() -> None:
    """No copies for DeepSeek-V2-Lite in bfloat16."""
    result = sized(model="deepseek-v2-lite")
    difference = result["loaded_weights_bytes_per_rank"] - result["weights_bytes_per_rank"]
    assert difference < 0.005 * result["weights_bytes_per_rank"]


def test_the_budget_feels_the_loaded_weights() -> None:
    """What is left for the KV cache is after loading."""
    older, newer = (
        sized(
            model="gpt-oss-120b",
            engine_version="0.11.0",
            measured={"activation_bytes": 0, "cuda_graph_bytes": 0, "non_torch_bytes": 0, **more},
        )
        for more in ({}, {"weights_bytes_per_rank": 60 * GIB})
    )
    gained = newer["available_kv_cache_bytes"] - older["available_kv_cache_bytes"]
    assert gained == older["loaded_weights_bytes_per_rank"] - 60 * GIB


def test_the_attention_of_metas_405b_keeps_its_width() -> None:
    """Eight H100 of July 2024 printed 57.7520, when the checkpoint had 16 KV heads.

    Source: github.com/vllm-project/vllm issue 6746.
    """
    row = next(row for row in rows("models") if row["id"] == "llama-3.1-405b-instruct-fp8")
    config = row["config"]
    assert isinstance(config, dict)
    run: dict[str, object] = {"tensor_parallel_size": 8, "engine_version": "0.10.0"}
    first = sized(config={**config, "num_key_value_heads": 16}, **run)
    assert gib(first, "loaded_weights_bytes_per_rank") == pytest.approx(57.752, abs=0.001)


def test_metas_405b_holds_as_many_scales_as_its_checkpoint_counts_more() -> None:
    """The published total counts the scales: one for each output of 124 layers' mlp."""
    row = next(row for row in rows("models") if row["id"] == "llama-3.1-405b-instruct-fp8")
    counted = sized(model=row["id"])["num_parameters"]
    assert row["num_parameters"] == counted + 124 * (2 * 53248 + 16384)
