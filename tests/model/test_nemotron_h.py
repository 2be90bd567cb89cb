"""Nemotron-H and Nemotron 3: layers by pattern, experts in a width of their own, float32 states."""

import json
from dataclasses import replace
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.engine.shards import Ranks
from pycore.errors import InvalidRequest
from pycore.model.catalogue import model_from_catalogue
from pycore.model.hf_config import read_model
from pycore.model.layers import DenseMlp, FullAttention, MoeMlp, NoMixer
from pycore.model.model import num_active_parameters, num_parameters
from pycore.model.recurrent import Mamba2
from pycore.sizing.weights import stage_weights

ONE = Ranks(1, 1, 1, enable_expert_parallel=False)
NANO = "nvidia-nemotron-3-nano-30b-a3b-bf16"
SMALL: dict[str, Any] = {
    "architectures": ["NemotronHForCausalLM"],
    "model_type": "nemotron_h",
    "torch_dtype": "bfloat16",
    "hidden_size": 1024,
    "hybrid_override_pattern": "M-*E",
    "n_routed_experts": 4,
    "moe_intermediate_size": 512,
    "moe_shared_expert_intermediate_size": 256,
}


@pytest.mark.parametrize(
    ("model_id", "total"),
    [
        (NANO, 31_577_937_344),
        ("nvidia-nemotron-nano-9b-v2", 8_888_227_328),
        ("nvidia-nemotron-3-ultra-550b-a55b-bf16", 549_308_968_960),
    ],
)
def test_parameters_are_the_models_without_its_draft_layers(model_id: str, total: int) -> None:
    """MTP layers are in the checkpoint, and neither transformers nor the engine makes them.

    Source: the same classes of transformers 5.24.0 on the meta device.
    """
    assert total == num_parameters(model_from_catalogue(model_id, ""))


def test_each_letter_of_the_pattern_is_a_layer() -> None:
    """M keeps a state, - and E keep nothing, * keeps keys and values."""
    layers = read_model(SMALL).layers

    assert [type(layer.mixer) for layer in layers] == [Mamba2, NoMixer, FullAttention, NoMixer]
    assert isinstance(layers[1].feed_forward, DenseMlp)
    assert isinstance(layers[3].feed_forward, MoeMlp)
    assert layers[0].feed_forward is layers[2].feed_forward is None


def test_a_list_of_names_says_the_same_as_a_pattern() -> None:
    """Older and newer configs: hybrid_override_pattern and layers_block_type."""
    kinds = ["mamba", "mlp", "attention", "moe"]
    listed = {name: SMALL[name] for name in SMALL if name != "hybrid_override_pattern"}

    by_pattern, by_list = read_model(SMALL), read_model(listed | {"layers_block_type": kinds})
    assert by_pattern.layers == by_list.layers


def test_without_a_pattern_there_is_no_guess() -> None:
    """Four layers are what transformers would make of it; no published model is meant so."""
    config = {name: SMALL[name] for name in SMALL if name != "hybrid_override_pattern"}
    with pytest.raises(InvalidRequest) as missing:
        read_model(config)

    assert missing.value.field == "config.hybrid_override_pattern"


def test_states_are_float32_unless_the_config_says_otherwise() -> None:
    """Source: vLLM 0.33.0, model_executor/models/config.py, NemotronHForCausalLMConfig."""

    def dtype(**fields: str) -> str | None:
        mixer = read_model(SMALL | fields).layers[0].mixer
        assert isinstance(mixer, Mamba2)
        return mixer.ssm_dtype

    assert dtype() == "float32"
    assert dtype(mamba_ssm_cache_dtype="bfloat16") == "bfloat16"
    assert dtype(mamba_ssm_cache_dtype="auto") is None


def test_one_short_request_of_the_56b_takes_three_gib() -> None:
    """Three blocks of 4,128 tokens in every group, for any request up to 4,128 tokens.

    Source: vLLM 0.33.0, Nemotron-H-56B on one H100: 2.99 GiB.
    """
    request = {
        "model": "nemotron-h-56b-base-8k",
        "accelerator": "b200-sxm",
        "max_model_len": 4096,
    }
    result = json.loads(answer(json.dumps(request)))["result"]

    assert result["block_size"] == 4128
    assert round(result["needed_kv_cache_bytes"] / 2**30, 2) == 2.99


def test_experts_have_no_gate_and_work_in_a_narrower_width() -> None:
    """Nemotron 3 Ultra: up and down only, 2,048 of 8,192 wide, between two whole projections.

    Source: vLLM 0.33.0, model_executor/models/nemotron_h.py, NemotronHMoE.
    """
    model = model_from_catalogue("nvidia-nemotron-3-ultra-550b-a55b-bf16", "")
    experts = 48 * 512 * 2 * 5120 * 2048

    (stage,) = stage_weights(model, replace(ONE, tensor_parallel_size=8), "bfloat16", None)
    assert stage.bytes_by_component["experts"] == experts * 2 // 8
    assert num_parameters(model) - num_active_parameters(model) == experts // 512 * (512 - 22)


@pytest.mark.parametrize(
    ("capability", "width"), [((9, 0), 2), ((10, 0), 2), ((8, 9), 4), ((12, 0), 4)]
)
def test_the_router_is_float32_where_no_kernel_computes_it_so(
    capability: tuple[int, int], width: int
) -> None:
    """Hopper and B200 multiply in float32 from bfloat16 weights; other GPUs keep them in float32.

    Source: vLLM 0.33.0, fused_moe/router/gate_linear.py.
    """
    model = model_from_catalogue(NANO, "")
    ranks = replace(ONE, compute_capability=capability)
    (stage,) = stage_weights(model, ranks, "bfloat16", None)

    assert stage.bytes_by_component["router"] == 23 * (128 * 2688 * width + 128 * 4)


def test_on_b200_experts_are_filled_up_even_on_one_rank() -> None:
    """1,856 becomes 1,920: the TensorRT-LLM kernels want whole 128s.

    Source: vLLM 0.33.0, fused_moe/oracle/unquantized.py.
    """
    model = model_from_catalogue(NANO, "")

    def experts(capability: tuple[int, int]) -> int:
        ranks = replace(ONE, compute_capability=capability)
        (stage,) = stage_weights(model, ranks, "bfloat16", None)
        return stage.bytes_by_component["experts"]

    assert experts((10, 0)) * 1856 == experts((9, 0)) * 1920


def test_dense_widths_may_differ_by_layer() -> None:
    """A list holds one width for each dense layer, in their order."""
    config = SMALL | {"hybrid_override_pattern": "-M-", "intermediate_size": [2048, 4096]}
    layers = read_model(config).layers

    assert [layer.feed_forward for layer in layers] == [
        DenseMlp(2048, gated=False),
        None,
        DenseMlp(4096, gated=False),
    ]
