"""Jamba, Mamba, Falcon-H1, Granite 4, LFM2, OLMo Hybrid, MiniMax-M1 and Zamba 2."""

import json
from dataclasses import replace
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.engine.shards import Ranks
from pycore.errors import InvalidRequest
from pycore.model.catalogue import model_from_catalogue, model_from_text
from pycore.model.hf_config import read_model
from pycore.model.layers import DenseMlp, FullAttention, MoeMlp, ParallelMixers
from pycore.model.model import Model, num_parameters
from pycore.model.recurrent import LinearAttention, Mamba1, Mamba2, ShortConvolution
from pycore.sizing.weights import stage_weights

ONE = Ranks(1, 1, 1, enable_expert_parallel=False)

MAMBA2: dict[str, Any] = {
    "architectures": ["Mamba2ForCausalLM"],
    "model_type": "mamba2",
    "torch_dtype": "bfloat16",
    "hidden_size": 2560,
    "num_hidden_layers": 64,
    "vocab_size": 50288,
    "state_size": 128,
    "num_heads": 80,
    "head_dim": 64,
    "n_groups": 1,
    "tie_word_embeddings": True,
}
LFM2: dict[str, Any] = {
    "architectures": ["Lfm2ForCausalLM"],
    "model_type": "lfm2",
    "torch_dtype": "bfloat16",
    "hidden_size": 2048,
    "block_ff_dim": 12288,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 65536,
    "full_attn_idxs": [2, 5, 8, 10, 12, 14],
}
LFM2_MOE: dict[str, Any] = {
    "architectures": ["Lfm2MoeForCausalLM"],
    "model_type": "lfm2_moe",
    "dtype": "bfloat16",
    "num_hidden_layers": 24,
    "layer_types": [
        "full_attention" if index in (2, 6, 10, 14, 18, 21) else "conv" for index in range(24)
    ],
}
FALCON_MAMBA: dict[str, Any] = {
    "architectures": ["FalconMambaForCausalLM"],
    "model_type": "falcon_mamba",
    "dtype": "bfloat16",
    "hidden_size": 4096,
    "num_hidden_layers": 64,
    "vocab_size": 65024,
    "tie_word_embeddings": False,
}
HYBRID_LAYERS = (6, 11, 17, 23, 29, 35, 41, 47, 53, 59, 65, 71, 77)
ZAMBA2: dict[str, Any] = {
    "architectures": ["Zamba2ForCausalLM"],
    "model_type": "zamba2",
    "dtype": "bfloat16",
    "hidden_size": 3584,
    "num_hidden_layers": 81,
    "num_mem_blocks": 2,
    "n_mamba_heads": 112,
    "mamba_ngroups": 2,
    "use_mem_rope": True,
    "layers_block_type": ["hybrid" if index in HYBRID_LAYERS else "mamba" for index in range(81)],
}
OLMO_HYBRID: dict[str, Any] = {
    "architectures": ["OlmoHybridForCausalLM"],
    "model_type": "olmo_hybrid",
    "dtype": "bfloat16",
}


def asked(config: object, **request: object) -> dict[str, Any]:
    """The result for ``config`` on one H100."""
    text = json.dumps({"config": config, "accelerator": "h100-sxm-80gb", **request})
    result: dict[str, Any] = json.loads(answer(text))["result"]
    return result


def rank_bytes(model: Model, ranks: Ranks, component: str) -> int:
    """Bytes of one component on a rank of the only stage."""
    (stage,) = stage_weights(model, ranks, model.dtype, model.quantization)
    return stage.bytes_by_component[component]


@pytest.mark.parametrize(
    ("config", "total"),
    [
        (MAMBA2, 2_702_599_680),
        (LFM2, 1_170_340_608),
        (LFM2_MOE, 8_339_929_856),
        (FALCON_MAMBA, 7_272_665_088),
        (ZAMBA2, 7_356_749_648),
    ],
    ids=["mamba2-2.7b", "lfm2-1.2b", "lfm2-8b-a1b", "falcon-mamba-7b", "zamba2-7b"],
)
def test_parameters_are_the_model_cards(config: dict[str, Any], total: int) -> None:
    """Source: the totals of the published checkpoints."""
    assert total == num_parameters(read_model(config))


def test_a_config_of_two_fields_is_completed_as_transformers_would() -> None:
    """Jamba-v0.1's file says little more than its model type; the class says the rest.

    Source: 51,570,323,328 parameters published; transformers 5.24.0, configuration_jamba.py.
    """
    model = read_model({"architectures": ["JambaForCausalLM"], "model_type": "jamba"})

    assert num_parameters(model) == 51_570_323_328
    assert model.defaulted["hidden_size"] == 4096
    assert model.defaulted["mamba_dt_rank"] == 256


def test_jamba_has_attention_in_one_layer_of_eight_and_experts_in_every_other() -> None:
    """Source: transformers 5.24.0, configuration_jamba.py (offsets 4 and 1)."""
    layers = model_from_catalogue("jamba-v0.1", "").layers

    assert [i for i, layer in enumerate(layers) if isinstance(layer.mixer, FullAttention)] == [
        4,
        12,
        20,
        28,
    ]
    assert all(
        isinstance(layer.feed_forward, MoeMlp if index % 2 else DenseMlp)
        for index, layer in enumerate(layers)
    )
    assert isinstance(layers[0].mixer, Mamba1)


def test_the_decay_stays_in_float32() -> None:
    """A is float32 in a bfloat16 model: one element a head of Mamba 2 takes four bytes, not two.

    Source: vLLM 0.33.0, layers/mamba/mamba_mixer2.py.
    """
    model = read_model(MAMBA2)
    elements = sum(64 * count for count in (2560 * 10576, 5376 * 5, 3 * 80, 5120, 5120 * 2560))

    assert rank_bytes(model, ONE, "recurrent") == 2 * elements + 64 * 80 * 2


def test_a_lone_group_is_on_every_rank() -> None:
    """Mamba 2's maps of one group are copied, as a lone key-value head is.

    Source: vLLM 0.33.0, mamba_mixer2.py; 749,955,072 bytes on each of 8 ranks of mamba2-2.7b.
    """
    model = read_model(MAMBA2)
    (stage,) = stage_weights(model, replace(ONE, tensor_parallel_size=8), "bfloat16", None)

    assert stage.num_bytes == 749_955_072


def test_falcon_h1_keeps_a_factor_for_each_row_of_its_input_projection() -> None:
    """One rank of the 34B keeps 71,390,848 bytes of buffers.

    Source: vLLM 0.33.0, model_executor/models/falcon_h1.py (mup_vector).
    """
    model = model_from_catalogue("falcon-h1-34b-instruct", "")
    stages = stage_weights(model, ONE, "bfloat16", None)

    assert stages[0].bytes_by_component["buffers"] == 71_390_848
    assert isinstance(model.layers[0].mixer, ParallelMixers)


def test_granite_rotates_only_where_it_says_so() -> None:
    """Granite 4's hybrids have no positions at all; its micro model rotates.

    Source: vLLM 0.33.0, model_executor/models/granitemoehybrid.py.
    """
    assert model_from_catalogue("granite-4.0-h-small", "").rotary_tables == ()
    (table,) = model_from_catalogue("granite-4.0-micro", "").rotary_tables
    assert (table.positions, table.width) == (131072, 64)


def test_lfm2s_width_is_two_thirds_rounded_up() -> None:
    """12,288 becomes 8,192, unless the config says that it has been adjusted already.

    Source: vLLM 0.33.0, model_executor/models/lfm2.py, Lfm2MLP.
    """
    assert read_model(LFM2).layers[0].feed_forward == DenseMlp(8192)
    kept = read_model(LFM2 | {"block_auto_adjust_ff_dim": False})
    assert kept.layers[0].feed_forward == DenseMlp(12288)
    assert isinstance(kept.layers[0].mixer, ShortConvolution)


def test_an_unused_embedding_is_on_every_stage_all_the_same() -> None:
    """Jamba's class makes embedding, head and norm on each stage, whether it uses them or not.

    Source: vLLM 0.33.0, model_executor/models/jamba.py.
    """
    model = model_from_catalogue("jamba-v0.1", "")
    stages = stage_weights(model, replace(ONE, pipeline_parallel_size=4), "bfloat16", None)

    assert {stage.bytes_by_component["lm_head"] for stage in stages} == {65536 * 4096 * 2}
    assert {stage.bytes_by_component["embedding"] for stage in stages} == {65536 * 4096 * 2}


def test_zamba2s_shared_blocks_are_held_once() -> None:
    """Thirteen layers call two blocks: their attention is not counted thirteen times.

    Source: vLLM 0.33.0, model_executor/models/zamba2.py.
    """
    model = read_model(ZAMBA2)
    once = read_model(ZAMBA2 | {"num_mem_blocks": 1})
    width, wide = 3584, 4 * 3584
    block = 3 * (2 * width) ** 2 + 2 * width * width + 3 * wide * width + 3 * width

    assert num_parameters(model) - num_parameters(once) == block


def test_a_model_of_states_alone_needs_no_more_for_longer_requests() -> None:
    """Mamba 2: one block lasts a request, and no config field limits its length.

    Source: vLLM 0.33.0: 85,950,464 bytes for a request of any length.
    """
    short, long = asked(MAMBA2), asked(MAMBA2, max_model_len=131072)

    assert short["max_model_len"] == 2048
    assert short["needed_kv_cache_bytes"] == long["needed_kv_cache_bytes"] == 85_950_464
    assert long["starts"]
    assert short["kv_cache_bytes_per_token_per_rank"] == 0


def test_minimax_m1_is_read_whole_and_refused_by_versions_that_dropped_it() -> None:
    """Source: 456,089,655,296 parameters published; vLLM 0.33.0, models/registry.py."""
    request = {"model": "minimax-m1-80k", "accelerator": "h200-sxm-141gb"}
    refused = json.loads(answer(json.dumps(request)))["result"]
    sized = json.loads(
        answer(json.dumps({**request, "tensor_parallel_size": 8, "engine_version": "0.22.0"}))
    )["result"]
    layers = model_from_catalogue("minimax-m1-80k", "").layers

    assert refused["num_parameters"] == 456_089_655_296
    assert [refusal["kind"] for refusal in refused["refusals"]] == ["unsupported_architecture"]
    assert sized["refusals"][0]["kind"] != "unsupported_architecture"
    assert sum(isinstance(layer.mixer, LinearAttention) for layer in layers) == 70


def test_bamba_is_refused_by_name() -> None:
    """Source: vLLM 0.33.0 dropped the class, and cannot run transformers' own."""
    with pytest.raises(InvalidRequest) as refused:
        read_model({"architectures": ["BambaForCausalLM"], "model_type": "bamba"})

    assert refused.value.reason == "unsupported_architecture"
    assert "BambaForCausalLM" in refused.value.message


def test_olmo_hybrid_rotates_only_with_a_base() -> None:
    """Source: vLLM 0.33.0, model_executor/models/olmo_hybrid.py, OlmoHybridAttention."""
    assert read_model(OLMO_HYBRID).rotary_tables == ()
    assert len(read_model(OLMO_HYBRID | {"rope_theta": 500000}).rotary_tables) == 1


def test_a_states_type_that_is_none_is_refused() -> None:
    """The field that names it is named in the failure."""
    config = json.dumps(
        {
            "architectures": ["NemotronHForCausalLM"],
            "model_type": "nemotron_h",
            "hybrid_override_pattern": "M-*",
            "mamba_ssm_cache_dtype": "float7",
        }
    )
    with pytest.raises(InvalidRequest) as refused:
        model_from_text(config, "")

    assert refused.value.field == "config.mamba_ssm_cache_dtype"


def test_mamba2_layers_are_one_object() -> None:
    """Alike layers are shared, so that sizing looks at each kind once."""
    layers = read_model(MAMBA2).layers

    assert len({id(layer) for layer in layers}) == 1
    assert isinstance(layers[0].mixer, Mamba2)
