"""Which cuts through quantised matrices start and which do not, in the engine's words."""

import json
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.data import rows

AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}
BLOCKS = {
    "quant_method": "fp8",
    "activation_scheme": "dynamic",
    "weight_block_size": [128, 128],
}


def packed(group_size: int) -> dict[str, Any]:
    """compressed-tensors' packed four-bit integers."""
    weights = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": group_size}
    group = {"targets": ["Linear"], "weights": {**weights, "symmetric": True}}
    return {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "ignore": ["lm_head"],
        "config_groups": {"group_0": group},
    }


def quantized(model_id: str, quantization: object, **request: object) -> dict[str, Any]:
    """The result for a model of the catalogue as if it were quantised so."""
    row = next(row for row in rows("models") if row["id"] == model_id)
    assert isinstance(row["config"], dict)
    config = {**row["config"], "quantization_config": quantization}
    asked = {"accelerator": "h100-sxm-80gb", "max_model_len": 4096, **request, "config": config}
    reply = json.loads(answer(json.dumps(asked)))
    assert reply["ok"], reply
    found: dict[str, Any] = reply["result"]
    return found


def refused(model_id: str, quantization: object, **request: object) -> str:
    """The engine's words for a cut that it refuses."""
    refusal = quantized(model_id, quantization, **request)["refusals"][0]
    assert refusal["kind"] == "unaligned_quantised_shard"
    message: str = refusal["message"]
    return message


def test_qwen25_72b_awq_starts_on_one_rank_and_on_no_more() -> None:
    """29,568 columns are 231 groups of 128: TP 2 would cut one.

    Source: vLLM 0.33.0, quantization/auto_awq.py; Qwen's own checkpoint was refused until padded.
    """
    model = "qwen2.5-72b-instruct"
    assert refused(model, AWQ, tensor_parallel_size=2) == (
        "The input size is not aligned with the quantized weight shape. This can be caused by too "
        "large tensor parallel size."
    )
    two = quantized(model, AWQ, tensor_parallel_size=2)
    assert two["refusals"][0]["choices"] == [1]
    assert quantized(model, AWQ)["starts"]


def test_the_padded_checkpoint_starts_on_eight() -> None:
    """29,696 columns are 232 groups, eight times 29."""
    padded = quantized("qwen2.5-72b-instruct", AWQ, intermediate_size=29696, tensor_parallel_size=8)
    assert padded["starts"]


def test_phi_4_refuses_four_ranks_quantized_or_not() -> None:
    """Ten key-value heads are neither split nor repeated by four."""
    for quantization in (None, AWQ):
        four = quantized("phi-4", quantization, tensor_parallel_size=4)
        assert four["refusals"][0]["message"] == "AssertionError: 10 is not divisible by 4"
        assert 4 not in four["refusals"][0]["choices"]


def test_gptq_is_cut_through_groups_only_where_a_kernel_takes_it() -> None:
    """Hopper's Machete does not ask, Exllama does not in float16; in bfloat16 Ampere's refuse."""
    model = "qwen2.5-72b-instruct"
    two = {"tensor_parallel_size": 2, "dtype": "bfloat16"}
    assert quantized(model, GPTQ, **two)["starts"]
    ampere = {**two, "accelerator": "a100-sxm-80gb"}
    assert "in_features per partition 14784 is not divisible by group_size = 128" in refused(
        model, GPTQ, **ampere
    )
    assert quantized(model, GPTQ, **{**ampere, "dtype": "float16"})["starts"]


def test_compressed_tensors_want_whole_groups_in_any_case() -> None:
    """Even where a kernel would take the share; the message names the layer."""
    message = refused("qwen2.5-72b-instruct", packed(128), tensor_parallel_size=2)
    assert message.startswith(
        "Weight input_size_per_partition=14784 for layer 'model.layers.0.mlp.down_proj' is not "
        "divisible by group_size=128."
    )


def test_fp8_blocks_are_not_cut_along_the_columns() -> None:
    """A row-parallel projection must hold whole blocks; fused columns are let off."""
    assert refused("qwen2.5-72b-instruct", BLOCKS, tensor_parallel_size=2) == (
        "Weight input_size_per_partition = 14784 is not divisible by weight quantization "
        "block_k = 128."
    )
    fused = {"intermediate_size": 29696, "tensor_parallel_size": 8}
    assert quantized("qwen2.5-72b-instruct", BLOCKS, **fused)["starts"]


def test_a_finer_grid_needs_a_gpu_with_fp8() -> None:
    """Marlin's kernels, the only ones of A100, read blocks of 128 alone.

    Source: vLLM 0.33.0, fused_moe/oracle/fp8.py, select_fp8_moe_backend.
    """
    cut = {"tensor_parallel_size": 4, "accelerator": "a100-sxm-80gb"}
    message = "No FP8 MoE backend supports the deployment configuration."
    assert refused("qwen3-30b-a3b", BLOCKS, **cut) == message
    assert quantized("qwen3-30b-a3b", BLOCKS, **cut | {"tensor_parallel_size": 2})["starts"]
    assert quantized("qwen3-30b-a3b", BLOCKS, **cut | {"accelerator": "l4"})["starts"]


def test_fp8_experts_are_cut_where_a_finer_grid_fits() -> None:
    """Qwen3-30B-A3B's experts are 768 wide: 192 and 96 on four and eight ranks, in blocks of 32.

    Source: vLLM 0.33.0, fused_moe/oracle/fp8.py; compressed-tensors' own method refuses.
    """
    model = "qwen3-30b-a3b"
    for size in (4, 8):
        assert quantized(model, BLOCKS, tensor_parallel_size=size)["starts"]
        assert "weight quantization block_n = 128" in refused(
            model, BLOCKS, tensor_parallel_size=size, engine_version="0.26.0"
        )
    weights = {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]}
    inputs = {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True}
    group = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    strict = {
        "quant_method": "compressed-tensors",
        "format": "float-quantized",
        "ignore": ["lm_head"],
        "config_groups": {"group_0": group},
    }
    assert refused(model, strict, tensor_parallel_size=4) == (
        "The output_size of gate's and up's weight = 192 is not divisible by weight quantization "
        "block_n = 128."
    )
    whole = {"tensor_parallel_size": 4, "enable_expert_parallel": True}
    assert quantized(model, strict, **whole)["starts"]


def test_packed_experts_want_whole_groups_or_whole_experts() -> None:
    """192 columns are one and a half groups of 128, six of 32."""
    message = refused("qwen3-30b-a3b", packed(128), tensor_parallel_size=4)
    assert "(192) to be divisible by group_size (128)" in message
    assert quantized("qwen3-30b-a3b", packed(32), tensor_parallel_size=4)["starts"]


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_what_is_offered_instead_is_cut_evenly(size: int) -> None:
    """The choices of a refusal are not refused themselves."""
    for quantization in (AWQ, packed(128)):
        shown = quantized("qwen2.5-72b-instruct", quantization, tensor_parallel_size=size)
        kinds = [refusal["kind"] for refusal in shown["refusals"]]
        if "unaligned_quantised_shard" not in kinds:
            continue
        for choice in shown["refusals"][0]["choices"]:
            again = quantized("qwen2.5-72b-instruct", quantization, tensor_parallel_size=choice)
            assert "unaligned_quantised_shard" not in [item["kind"] for item in again["refusals"]]
