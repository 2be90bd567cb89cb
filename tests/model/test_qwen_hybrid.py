"""Qwen3-Next and Qwen3.5: gated delta nets, gated attention, shared experts, a vision tower."""

import json
from dataclasses import replace
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.data import rows
from pycore.engine.shards import Ranks, shard_of
from pycore.model.catalogue import model_from_catalogue
from pycore.model.hf_config import read_model
from pycore.model.layers import FullAttention
from pycore.model.model import num_parameters, without_towers
from pycore.model.parameters import layer_tensors
from pycore.model.recurrent import GatedDeltaNet
from pycore.model.tensors import Linear, Place
from pycore.sizing.weights import stage_weights

ONE = Ranks(1, 1, 1, enable_expert_parallel=False)
MOE = "qwen3.5-35b-a3b"


def config_of(model_id: str) -> dict[str, Any]:
    """The published config of a model of the catalogue."""
    config = next(row["config"] for row in rows("models") if row["id"] == model_id)
    assert isinstance(config, dict)
    return config


@pytest.mark.parametrize(
    ("model_id", "total"),
    [
        ("qwen3-next-80b-a3b-instruct", 79_674_391_296),
        ("qwen3.5-0.8b", 852_985_920),
        ("qwen3.5-27b", 27_356_728_560),
        (MOE, 35_107_181_936),
        ("qwen3.5-122b-a10b", 122_562_817_776),
    ],
)
def test_parameters_count_the_tower_and_not_the_draft_layer(model_id: str, total: int) -> None:
    """Source: the same classes of transformers 5.24.0 on the meta device."""
    assert total == num_parameters(model_from_catalogue(model_id, ""))


def test_every_fourth_layer_has_attention_with_a_gate() -> None:
    """Queries carry a gate of the same width; all other layers keep a state of fixed size.

    Source: vLLM 0.33.0, model_executor/models/qwen3_next.py, Qwen3NextAttention.
    """
    layers = model_from_catalogue(MOE, "").layers

    for index, layer in enumerate(layers):
        assert isinstance(layer.mixer, GatedDeltaNet if (index + 1) % 4 else FullAttention)
    assert isinstance(layers[3].mixer, FullAttention)
    assert layers[3].mixer.output_gate
    assert layers[3].mixer.head_dim == 256


def test_the_state_is_of_the_type_that_the_config_names() -> None:
    """Qwen3.5 says float32; Qwen3-Next says nothing, and its states are of the model's type.

    Source: vLLM 0.33.0, model_executor/models/config.py, Qwen3_5ForConditionalGenerationConfig.
    """

    def dtype(model_id: str) -> str | None:
        mixer = model_from_catalogue(model_id, "").layers[0].mixer
        assert isinstance(mixer, GatedDeltaNet)
        return mixer.ssm_dtype

    assert dtype(MOE) == "float32"
    assert dtype("qwen3-next-80b-a3b-instruct") is None


def test_text_alone_leaves_out_the_tower_and_its_table() -> None:
    """446,571,248 parameters and a table of 8,192 positions, 36 wide.

    Source: vLLM 0.33.0 with --language-model-only: 69,354,777,888 bytes instead of
    70,248,510,208.
    """
    model = model_from_catalogue(MOE, "")
    (whole,) = stage_weights(model, ONE, "bfloat16", None)
    (text,) = stage_weights(without_towers(model), ONE, "bfloat16", None)

    assert whole.num_bytes - text.num_bytes == 2 * (446_571_248 + 8192 * 36) == 893_732_320


def test_a_request_for_text_alone_weighs_less() -> None:
    """The request's own key does it."""
    request = {"model": MOE, "accelerator": "h200-sxm-141gb"}
    whole, text = (
        json.loads(answer(json.dumps(request | {"language_model_only": only})))["result"]
        for only in (False, True)
    )

    assert whole["weights_bytes_per_rank"] - text["weights_bytes_per_rank"] == 893_732_320


def test_the_tower_is_on_the_first_stage_and_the_embedding_on_all() -> None:
    """Source: vLLM 0.33.0, TP 2 and PP 2: 17,826,249,312 and 17,883,035,888 bytes."""
    model = model_from_catalogue(MOE, "")
    ranks = replace(ONE, tensor_parallel_size=2, pipeline_parallel_size=2)
    stages = stage_weights(model, ranks, "bfloat16", None)

    assert [stage.num_bytes for stage in stages] == [17_826_249_312, 17_883_035_888]
    assert {outer.place for outer in model.outer_tensors} == {Place.FIRST}


def test_on_b200_narrow_experts_are_filled_up() -> None:
    """64 of 512 on each of eight ranks become 128: the experts take twice their share.

    Source: vLLM 0.33.0 on B200: 16,924,959,628 bytes a rank instead of 8,871,895,948.
    """
    model = model_from_catalogue(MOE, "")
    eight = replace(ONE, tensor_parallel_size=8)
    (hopper,) = stage_weights(model, eight, "bfloat16", None)
    (blackwell,) = stage_weights(
        model, replace(eight, compute_capability=(10, 0)), "bfloat16", None
    )

    assert (hopper.num_bytes, blackwell.num_bytes) == (8_871_895_948, 16_924_959_628)


def test_a_quarter_of_each_head_is_rotated() -> None:
    """Stated in rope_parameters, beside them, or not at all: the class says a quarter."""
    config = config_of("qwen3-next-80b-a3b-instruct")
    bare = {name: config[name] for name in config if name != "partial_rotary_factor"}

    for fields in (config, bare):
        (table,) = read_model(fields).rotary_tables
        assert (table.positions, table.width) == (262144, 64)
    assert read_model(bare).defaulted["partial_rotary_factor"] == 0.25


def test_a_number_of_the_text_is_changed_where_the_config_keeps_it() -> None:
    """num_key_value_heads stands in text_config: twice as many, twice the KV of a long request."""
    two = json.loads(answer(json.dumps({"ask": "model", "model": MOE})))["result"]
    four = json.loads(answer(json.dumps({"ask": "model", "model": MOE, "num_key_value_heads": 4})))[
        "result"
    ]

    assert two["architecture"]["num_key_value_heads"] == 2
    assert four["architecture"]["num_key_value_heads"] == 4
    assert four["num_parameters"] - two["num_parameters"] == 10 * 2 * 2 * 256 * 2048


def test_without_a_vision_config_the_tower_is_transformers_own() -> None:
    """A config without vision_config still has a tower: the class's default one."""
    config = config_of("qwen3.5-27b")
    bare = {name: config[name] for name in config if name != "vision_config"}
    model = read_model(bare)

    tower = sum(
        outer.repeats * outer.tensor.num_elements
        for outer in model.outer_tensors
        if outer.in_checkpoint
    )
    wide = 4 * 1152
    assert tower == 460_730_096 - (5120 - 3584) * (wide + 1)
    assert model.defaulted["vision_config.depth"] == 27


@pytest.mark.parametrize(("method", "ranks_holding_all"), [("gptq", 8), ("fp8", 1)])
def test_gates_of_packed_checkpoints_are_on_every_rank(method: str, ranks_holding_all: int) -> None:
    """Marlin takes no matrix narrower than 64 rows, so the gates' projections are not divided.

    Source: vLLM 0.33.0, qwen_gdn_linear_attn.py, maybe_disable_tp.
    """
    quantization = {"quant_method": method, "bits": 4, "group_size": 128, "desc_act": False}
    model = read_model(config_of("qwen3.5-27b") | {"quantization_config": quantization})
    gates = next(
        tensor
        for tensor in layer_tensors(model.layers[0], model.hidden_size)
        if tensor.name == "linear_attn.in_proj_ba"
    )

    assert isinstance(gates, Linear)
    shard = shard_of(gates, replace(ONE, tensor_parallel_size=8))
    assert shard.num_rows * 8 == gates.num_rows * ranks_holding_all


def test_the_shared_expert_is_whole_where_ranks_divide_tokens() -> None:
    """With expert parallelism over replicas, TP divides tokens around the experts, not weights.

    Source: vLLM 0.33.0, qwen3_next.py (Qwen3NextSparseMoeBlock), config/parallel.py
    (use_sequence_parallel_moe).
    """
    model = model_from_catalogue(MOE, "")
    two = replace(ONE, tensor_parallel_size=2)
    apart = replace(two, data_parallel_size=2, enable_expert_parallel=True)

    def shared(ranks: Ranks) -> int:
        (stage,) = stage_weights(model, ranks, "bfloat16", None)
        return stage.bytes_by_component["shared_expert"]

    gates = 40 * 2048 * 2
    assert shared(apart) - gates == 2 * (shared(two) - gates)
