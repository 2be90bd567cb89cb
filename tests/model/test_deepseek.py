"""DeepSeek V2 to V3.2, GLM-5 and their like: what is compressed, what is whole on every rank."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.engine.shards import Ranks, shard_of
from pycore.model.catalogue import model_from_catalogue, model_from_text
from pycore.model.latent import LatentAttention
from pycore.model.layers import Layer
from pycore.model.model import Model, num_active_parameters, num_parameters
from pycore.model.parameters import layer_tensors
from pycore.model.rotary import RotaryTable
from pycore.model.tensors import Linear
from pycore.sizing.weights import stage_weights
from pycore.units import GIB

ONE = Ranks(1, 1, 1, enable_expert_parallel=False)
EIGHT = replace(ONE, tensor_parallel_size=8)


def model_of(model_id: str) -> Model:
    """A model of the catalogue."""
    return model_from_catalogue(model_id, "")


def sized(model_id: str, **request: Any) -> dict[str, Any]:
    """The answer's result for a model on H100s that leave 40 GiB to the cache."""
    asked = {
        "model": model_id,
        "accelerator": "h100-sxm-80gb",
        "measured": {"available_kv_cache_bytes": 40 * GIB},
        **request,
    }
    result: dict[str, Any] = json.loads(answer(json.dumps(asked)))["result"]
    return result


def rank_bytes(model: Model, ranks: Ranks, component: str | None = None) -> int:
    """Bytes on a rank of the only stage, of everything or of one component."""
    (stage,) = stage_weights(model, ranks, model.dtype, model.quantization)
    return stage.num_bytes if component is None else stage.bytes_by_component[component]


@pytest.mark.parametrize(
    ("model_id", "total", "active"),
    [
        # transformers 5.24.0 on the meta device; published totals are these plus router
        # corrections and a layer for multi-token prediction, which is never loaded.
        ("deepseek-v2-lite", 15_706_484_224, 2_661_150_208),
        ("deepseek-v3", 671_026_404_352 + 58 * 256, 37_552_282_624 + 58 * 256),
        ("deepseek-v3.2", 671_877_929_216 + 58 * 256, 38_403_807_488 + 58 * 256),
        ("glm-5.1", 743_911_199_232 + 75 * 256, 41_784_709_632 + 75 * 256),
        ("glm-5.2", 743_377_000_704 + 75 * 256, 41_250_511_104 + 75 * 256),
    ],
)
def test_parameters_are_transformers_own_and_the_router_corrections(
    model_id: str, total: int, active: int
) -> None:
    """Corrections are in every checkpoint, though transformers keeps them as buffers."""
    model = model_of(model_id)
    assert (total, active) == (num_parameters(model), num_active_parameters(model))


@pytest.mark.parametrize("size", [1, 8])
def test_one_longest_request_of_deepseek_v3_takes_the_same_on_each_gpu(size: int) -> None:
    """163,840 tokens are 10.72 GiB on one GPU and on each of eight: TP divides heads, not these.

    Source: 61 layers of 576 bfloat16 elements a token; vLLM 0.33.0 on its own model classes.
    """
    result = sized("deepseek-v3", tensor_parallel_size=size, max_model_len=163_840)
    assert result["needed_kv_cache_bytes"] == 163_840 * 61 * 576 * 2
    assert round(result["needed_kv_cache_bytes"] / GIB, 2) == 10.72


def test_context_parallelism_does_divide_the_latent_cache() -> None:
    """Eight ranks that share the tokens hold an eighth each: 8,784 bytes a token, not 70,272."""
    whole = sized("deepseek-v3", tensor_parallel_size=8)
    shared = sized("deepseek-v3", tensor_parallel_size=8, decode_context_parallel_size=8)
    per_token = "kv_cache_bytes_per_token_per_rank"
    assert (whole[per_token], shared[per_token]) == (70_272, 8_784)


def linears(layer: Layer, hidden_size: int) -> dict[str, Linear]:
    """The linears of a layer by name."""
    return {t.name: t for t in layer_tensors(layer, hidden_size) if isinstance(t, Linear)}


def test_down_projections_are_whole_and_heads_are_divided() -> None:
    """On each of 8 ranks: 1,536 + 576 rows down, an eighth of the heads up and out."""
    model = model_of("deepseek-v3")
    found = linears(model.layers[0], model.hidden_size)
    shards = {name: shard_of(linear, EIGHT) for name, linear in found.items()}
    assert shards["self_attn.fused_qkv_a_proj"].rows == (1536, 576)
    assert shards["self_attn.q_b_proj"].num_rows == 128 * 192 // 8
    assert shards["self_attn.kv_b_proj"].num_rows == 128 * 256 // 8
    assert shards["self_attn.o_proj"].columns == 128 * 128 // 8


def test_the_indexer_is_whole_on_every_rank_and_never_quantized_where_it_is_fused() -> None:
    """DeepSeek-V3.2: 64 heads of 128 for queries; keys and head weights in the model's dtype."""
    model = model_of("deepseek-v3.2")
    found = linears(model.layers[0], model.hidden_size)
    queries, keys = (found[f"self_attn.indexer.{own}"] for own in ("wq_b", "wk_weights_proj"))
    assert shard_of(queries, EIGHT).num_rows == 64 * 128
    assert shard_of(keys, EIGHT).rows == (128, 64)
    assert queries.quantizable
    assert not keys.quantizable


def test_only_layers_that_choose_for_themselves_have_an_indexer() -> None:
    """GLM-5.2: the first three layers and then every fourth, 21 of 78."""
    model = model_of("glm-5.2")
    own = [
        index
        for index, layer in enumerate(model.layers)
        if isinstance(layer.mixer, LatentAttention)
        and layer.mixer.indexer is not None
        and layer.mixer.indexer.keeps_keys
    ]
    assert own == [0, 1, 2, *range(6, 78, 4)]
    names = [linears(model.layers[index], model.hidden_size) for index in (2, 3)]
    assert ["self_attn.indexer.wq_b" in found for found in names] == [True, False]


def test_rotary_tables_follow_how_the_engine_runs_a_model() -> None:
    """Compiled (V3): one table as wide as the dtype; not compiled (V3.2): two in float32.

    GLM-5 rotates its indexer in the same order as its heads, unscaled: one table is enough.
    """
    compiled, eager = (RotaryTable(163_840, 64, dtype, "float32") for dtype in (None, "float32"))
    assert model_of("deepseek-v3").rotary_tables == (compiled,)
    assert model_of("deepseek-v3.2").rotary_tables == (eager, eager)
    assert model_of("glm-5").rotary_tables == (RotaryTable(202_752, 64),)


def test_an_eager_engine_keeps_the_scaled_table_in_float32() -> None:
    """DeepSeek-V2-Lite: 20 MiB more on each rank, of 3.7 GiB on 8.

    Source: vLLM 0.33.0, layers/rotary_embedding/deepseek_scaling_rope.py (use_flashinfer).
    """
    compiled, eager = (
        sized("deepseek-v2-lite", tensor_parallel_size=8, enforce_eager=eager)
        for eager in (False, True)
    )
    more = eager["weights_bytes_per_rank"] - compiled["weights_bytes_per_rank"]
    assert more == 163_840 * 64 * 2


def test_layers_for_multi_token_prediction_are_not_loaded() -> None:
    """They are on disk; without a draft the engine skips them."""
    row = model_of("deepseek-v3").config_read
    more = model_from_text(json.dumps({**row, "num_nextn_predict_layers": 3}), "")
    assert len(more.layers) == 61
    assert rank_bytes(more, EIGHT) == rank_bytes(model_of("deepseek-v3"), EIGHT)


def test_replicas_share_the_experts_and_repeat_the_attention() -> None:
    """DeepSeek-V3 on 8 GPUs: data parallel attention with expert parallelism takes 18 % more."""
    model = model_of("deepseek-v3")
    replicas = replace(ONE, data_parallel_size=8, enable_expert_parallel=True)
    assert rank_bytes(model, replicas, "experts") == rank_bytes(model, EIGHT, "experts")
    assert rank_bytes(model, replicas, "attention") == rank_bytes(model, ONE, "attention")
    ratio = Fraction(rank_bytes(model, replicas), rank_bytes(model, EIGHT))
    assert round(float(ratio), 2) == 1.18


def test_shared_experts_are_whole_where_ranks_divide_tokens_instead() -> None:
    """TP 2 in each of 4 replicas with expert parallelism: tokens are divided around the experts.

    V3 divides its dense layers' networks all the same; V3.2 does not.
    Source: vLLM 0.33.0, config/parallel.py (use_sequence_parallel_moe), models/deepseek_v2.py,
    models/deepseek_v32/nvidia/model.py.
    """
    spread = Ranks(2, 1, 4, enable_expert_parallel=True)
    two = replace(ONE, tensor_parallel_size=2)
    for model_id, dense in (("deepseek-v3", two), ("deepseek-v3.2", ONE)):
        model = model_of(model_id)
        whole = rank_bytes(model, ONE, "shared_expert")
        assert rank_bytes(model, spread, "shared_expert") == whole
        assert rank_bytes(model, spread, "mlp") == rank_bytes(model, dense, "mlp")
        assert rank_bytes(model, spread, "attention") == rank_bytes(model, two, "attention")


def test_a_config_of_two_fields_is_completed_and_says_so() -> None:
    """GLM-4.7-Flash as transformers' own class knows it: 47 layers, the first one dense."""
    config = {"architectures": ["Glm4MoeLiteForCausalLM"], "model_type": "glm4_moe_lite"}
    model = model_from_text(json.dumps(config), "")
    assert num_parameters(model) == 29_943_390_976 + 46 * 64
    assert {"num_hidden_layers", "kv_lora_rank", "n_routed_experts"} <= set(model.defaulted)


def test_queries_without_a_low_rank_are_projected_at_once() -> None:
    """DeepSeek-V2-Lite states a null q_lora_rank, which is not an absent one."""
    model = model_of("deepseek-v2-lite")
    found = linears(model.layers[0], model.hidden_size)
    assert found["self_attn.q_proj"].columns == model.hidden_size
    assert "self_attn.fused_qkv_a_proj" not in found
