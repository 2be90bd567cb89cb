"""Nemotron Super, MiMo-V2, Step 3.5, and the classes whose configs have words of their own.

Source: vLLM 0.33.0, model_executor/models/nemotron_nas.py, mimo_v2.py, step3p5.py, falcon.py,
chatglm.py; transformers 5.24.0.
"""

import json
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.engine.shards import Ranks
from pycore.errors import InvalidRequest, UnsupportedModel
from pycore.model.catalogue import model_from_catalogue
from pycore.model.hf_config import read_model
from pycore.model.layers import DenseMlp, FullAttention, MoeMlp, NoMixer, SlidingWindowAttention
from pycore.model.model import num_parameters
from pycore.sizing.weights import stage_weights

STEP_3_5: dict[str, Any] = {
    "architectures": ["Step3p5ForCausalLM"],
    "model_type": "step3p5",
    "torch_dtype": "bfloat16",
    "hidden_size": 4096,
    "intermediate_size": 11264,
    "num_hidden_layers": 45,
    "vocab_size": 128896,
    "num_attention_heads": 64,
    "num_attention_groups": 8,
    "head_dim": 128,
    "moe_num_experts": 288,
    "moe_top_k": 8,
    "moe_intermediate_size": 1280,
    "share_expert_dim": 1280,
    "attention_other_setting": {"num_attention_heads": 96},
    "sliding_window": 512,
    "use_head_wise_attn_gate": True,
    "use_moe_router_bias": True,
    "need_fp32_gate": True,
    "layer_types": (["full_attention"] + ["sliding_attention"] * 3) * 11 + ["full_attention"],
    "rope_theta": ([5e6] + [1e4] * 3) * 11 + [5e6],
    "partial_rotary_factors": ([0.5] + [1.0] * 3) * 11 + [0.5],
    "max_position_embeddings": 262144,
}
FALCON: dict[str, Any] = {
    "architectures": ["FalconForCausalLM"],
    "model_type": "falcon",
    "torch_dtype": "bfloat16",
    "hidden_size": 4544,
    "num_attention_heads": 71,
    "num_hidden_layers": 32,
    "vocab_size": 65024,
}
STARCODER: dict[str, Any] = {
    "architectures": ["GPTBigCodeForCausalLM"],
    "model_type": "gpt_bigcode",
    "torch_dtype": "bfloat16",
    "n_embd": 6144,
    "n_head": 48,
    "n_layer": 40,
    "n_positions": 8192,
    "vocab_size": 49152,
    "multi_query": True,
}
GLM_4_9B: dict[str, Any] = {
    "architectures": ["ChatGLMModel"],
    "model_type": "chatglm",
    "torch_dtype": "bfloat16",
    "add_qkv_bias": True,
    "ffn_hidden_size": 13696,
    "hidden_size": 4096,
    "kv_channels": 128,
    "multi_query_attention": True,
    "multi_query_group_num": 2,
    "num_attention_heads": 32,
    "num_layers": 40,
    "padded_vocab_size": 151552,
    "seq_length": 8192,
    "tie_word_embeddings": False,
}


def bytes_of(config: dict[str, Any], size: int = 1) -> int:
    """Weights on one of ``size`` ranks, as the engine creates them."""
    ranks = Ranks(size, 1, 1, enable_expert_parallel=False)
    return stage_weights(read_model(config), ranks, "bfloat16", None)[0].num_bytes


def decilm(*blocks: dict[str, Any]) -> dict[str, Any]:
    """A Nemotron of these blocks."""
    return {
        "architectures": ["DeciLMForCausalLM"],
        "model_type": "nemotron-nas",
        "torch_dtype": "bfloat16",
        "hidden_size": 8192,
        "num_attention_heads": 64,
        "num_hidden_layers": len(blocks),
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
        "tie_word_embeddings": False,
        "block_configs": list(blocks),
    }


def test_a_width_that_is_a_multiple_is_rounded_up_to_256() -> None:
    """5.25 of 8,192 is 28,672; 1.3125 gives 7,168; half a one 2,816."""
    attention = {"n_heads_in_group": 8, "no_op": False}
    blocks = [{"attention": attention, "ffn": {"ffn_mult": one}} for one in (5.25, 1.3125, 0.5)]
    widths = [layer.feed_forward for layer in read_model(decilm(*blocks)).layers]
    assert widths == [DenseMlp(28672), DenseMlp(7168), DenseMlp(2816)]


def test_a_layer_without_a_part_has_no_norm_for_it() -> None:
    """Nothing of an attention or a network that the search left out."""
    model = read_model(
        decilm(
            {"attention": {"no_op": True}, "ffn": {"ffn_mult": 1.0}},
            {"attention": {"n_heads_in_group": 8}, "ffn": {"no_op": True}},
        )
    )
    without_attention, without_network = model.layers
    assert isinstance(without_attention.mixer, NoMixer)
    assert len(without_attention.norm_sizes) == 1
    assert without_network.feed_forward is None
    assert isinstance(without_network.mixer, FullAttention)
    assert without_network.mixer.num_key_value_heads == 8


def test_mimo_v2_keeps_values_narrower_than_keys() -> None:
    """And more KV heads, with sinks, in the layers that have a window."""
    model = model_from_catalogue("mimo-v2-flash", "")
    full, windowed = model.layers[0].mixer, model.layers[1].mixer
    assert isinstance(full, FullAttention)
    assert isinstance(windowed, SlidingWindowAttention)
    assert (full.num_key_value_heads, full.head_dim, full.v_head_dim) == (4, 192, 128)
    assert (windowed.attention.num_key_value_heads, windowed.attention.sinks) == (8, True)
    assert isinstance(model.layers[0].feed_forward, DenseMlp)
    assert isinstance(model.layers[1].feed_forward, MoeMlp)


def test_step_3_5_asks_more_heads_of_windows_and_gates_each() -> None:
    """96 query heads against 64, over the same eight KV heads; the engine's bytes to the unit."""
    model = read_model(STEP_3_5)
    full, windowed = model.layers[0].mixer, model.layers[1].mixer
    assert isinstance(full, FullAttention)
    assert isinstance(windowed, SlidingWindowAttention)
    assert (full.num_attention_heads, windowed.attention.num_attention_heads) == (64, 96)
    assert full.num_key_value_heads == windowed.attention.num_key_value_heads == 8
    assert bytes_of(STEP_3_5) == 394_112_039_376


def test_step_3_5_without_corrections_of_its_router_is_refused() -> None:
    """The engine asserts them."""
    with pytest.raises(InvalidRequest) as caught:
        read_model({k: v for k, v in STEP_3_5.items() if k != "use_moe_router_bias"})
    assert caught.value.field == "config.use_moe_router_bias"


@pytest.mark.parametrize(
    ("fields", "num_norms"),
    [
        ({}, 1),
        ({"parallel_attn": False}, 2),
        ({"new_decoder_architecture": True, "num_kv_heads": 71}, 2),
        ({"new_decoder_architecture": True, "num_ln_in_parallel_attn": 1}, 1),
    ],
)
def test_falcons_norms_go_by_its_generation(fields: dict[str, Any], num_norms: int) -> None:
    """One before attention and network together, or one before each."""
    assert len(read_model({**FALCON, **fields}).layers[0].norm_sizes) == num_norms


def test_falcon_7b_is_as_the_engine_creates_it() -> None:
    """One KV head, an MLP four times as wide that no field states."""
    assert bytes_of(FALCON) == 13_843_704_064


def test_gpt_bigcode_keeps_its_network_whole_on_every_rank() -> None:
    """Through transformers' own class, only attention and embedding are divided."""
    assert bytes_of(STARCODER) == 31_102_022_272
    assert bytes_of(STARCODER, 4) == 26_118_820_480


def test_glm_4_9b_reads_the_words_of_chatglm() -> None:
    """padded_vocab_size, ffn_hidden_size, multi_query_group_num, half of each head rotated."""
    model = read_model(GLM_4_9B)
    assert num_parameters(model) == 9_399_951_360
    assert model.rotary_tables[0].width == 64


def test_minicpm_with_experts_is_refused_by_name() -> None:
    """Only the dense ones are known here."""
    config = {"architectures": ["MiniCPMForCausalLM"], "num_experts": 8}
    with pytest.raises(UnsupportedModel) as caught:
        read_model(config)
    assert caught.value.field == "config.num_experts"


def test_the_layer_with_the_oddest_kv_heads_decides_which_ranks_work() -> None:
    """Sixteen KV heads would go into 16 ranks; the layer with five would not."""
    full = {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 1.0}}
    narrow = {"attention": {"n_heads_in_group": 12}, "ffn": {"ffn_mult": 1.0}}
    for blocks, kinds in (((full,), []), ((full, narrow), ["indivisible_kv_heads"])):
        request = {
            "config": decilm(*blocks),
            "accelerator": "h100-sxm-80gb",
            "tensor_parallel_size": 16,
            "max_model_len": 4096,
        }
        result = json.loads(answer(json.dumps(request)))["result"]
        assert [refusal["kind"] for refusal in result["refusals"]] == kinds
