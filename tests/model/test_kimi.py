"""Kimi K2.5, Kimi-Linear and Kimi-K3: towers, delta attention, experts that are filled up."""

import json
from dataclasses import replace
from typing import Any

import pytest

from pycore.engine.shards import Ranks, shard_of
from pycore.model.catalogue import model_from_catalogue, model_from_text
from pycore.model.delta_parameters import input_projection
from pycore.model.latent import LatentAttention
from pycore.model.model import Model, num_active_parameters, num_parameters
from pycore.model.recurrent import KimiDeltaAttention
from pycore.model.tensors import Linear, Place
from pycore.sizing.weights import stage_weights

ONE = Ranks(1, 1, 1, enable_expert_parallel=False)
TWO, FOUR, EIGHT = (replace(ONE, tensor_parallel_size=size) for size in (2, 4, 8))
K3_STATE = KimiDeltaAttention(96, 128, 4, has_bounded_gate=True, full_rank_gate=True)

# Kimi-Linear-48B-A3B, written from its published architecture.
KIMI_LINEAR: dict[str, Any] = {
    "architectures": ["KimiLinearForCausalLM"],
    "model_type": "kimi_linear",
    "torch_dtype": "bfloat16",
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "moe_intermediate_size": 1024,
    "num_hidden_layers": 27,
    "num_attention_heads": 32,
    "vocab_size": 163840,
    "model_max_length": 1048576,
    "max_position_embeddings": 1048576,
    "kv_lora_rank": 512,
    "q_lora_rank": None,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_experts": 256,
    "num_experts_per_token": 8,
    "num_shared_experts": 1,
    "first_k_dense_replace": 1,
    "linear_attn_config": {
        "full_attn_layers": [4, 8, 12, 16, 20, 24, 27],
        "kda_layers": [layer for layer in range(1, 27) if layer % 4],
        "head_dim": 128,
        "num_heads": 32,
        "short_conv_kernel_size": 4,
    },
}


def rank_bytes(model: Model, ranks: Ranks, component: str) -> int:
    """Bytes of one component on a rank of the only stage."""
    (stage,) = stage_weights(model, ranks, model.dtype, model.quantization)
    return stage.bytes_by_component[component]


def kimi_linear() -> Model:
    """Kimi-Linear."""
    return model_from_text(json.dumps(KIMI_LINEAR), "")


def test_kimi_k2_6_is_counted_with_its_tower_as_its_card_counts_it() -> None:
    """1,026,879,376,368: the published total, to the unit."""
    model = model_from_catalogue("kimi-k2.6", "")
    assert num_parameters(model) == 1_026_879_376_368
    tower = sum(o.repeats * o.tensor.num_elements for o in model.outer_tensors if o.in_checkpoint)
    assert tower == 471_143_920


def test_kimi_linear_mixes_states_and_latent_vectors() -> None:
    """Twenty layers keep a state and seven a compressed vector; 3 of 48 billion are active."""
    model = kimi_linear()
    kinds = [type(layer.mixer) for layer in model.layers]
    assert (kinds.count(KimiDeltaAttention), kinds.count(LatentAttention)) == (20, 7)
    assert num_parameters(model) // 10**9 == 49
    assert num_active_parameters(model) // 10**9 == 3
    assert model.rotary_tables == ()


def test_experts_are_never_narrower_than_256_on_a_rank() -> None:
    """1,024 wide: halved until 4 ranks hold 256 each; 8 ranks hold 256 each too, half of it zeros.

    Source: vLLM 0.33.0, models/kimi_k3/nvidia/model.py, padded_moe_intermediate_size.
    """
    model = kimi_linear()
    whole, half, quarter, eighth = (
        rank_bytes(model, ranks, "experts") for ranks in (ONE, TWO, FOUR, EIGHT)
    )
    assert (half, quarter, eighth) == (whole // 2, whole // 4, whole // 4)


def test_whole_experts_are_not_filled_up() -> None:
    """Expert parallelism gives each of 8 ranks 32 whole experts."""
    model = kimi_linear()
    spread = replace(EIGHT, enable_expert_parallel=True)
    assert rank_bytes(model, spread, "experts") == rank_bytes(model, ONE, "experts") // 8


@pytest.mark.parametrize(("size", "rows"), [(1, 49_376), (2, 24_752), (4, 12_448), (8, 6_288)])
def test_fused_rows_are_filled_up_to_a_multiple_of_sixteen(size: int, rows: int) -> None:
    """Kimi-K3: 4 x 12,288 / TP, 128 that are whole, 96 / TP; 8 and 4 rows more at TP 4 and 8."""
    shard = shard_of(input_projection(K3_STATE, 7168), replace(ONE, tensor_parallel_size=size))
    assert shard.num_rows == rows


def test_low_rank_gates_are_filled_up_with_nothing() -> None:
    """Kimi-Linear keeps the rows that the heads need."""
    state = KimiDeltaAttention(32, 128, 4)
    assert shard_of(input_projection(state, 2304), EIGHT).num_rows == 3 * 512 + 4 + 128


def tower_linear(model: Model, own: str) -> Linear:
    """A linear of the vision tower."""
    return next(
        outer.tensor
        for outer in model.outer_tensors
        if isinstance(outer.tensor, Linear) and outer.tensor.name.endswith(own)
    )


def test_a_tower_is_divided_only_where_its_heads_are() -> None:
    """K2.5 has 16 heads and K3 has 12: on 8 ranks K3's tower is whole on each.

    Source: vLLM 0.33.0, model_executor/models/vision.py, is_vit_use_data_parallel.
    """
    second, third = (model_from_catalogue(f"kimi-{own}", "") for own in ("k2.5", "k3"))
    assert shard_of(tower_linear(second, "wqkv"), EIGHT).num_rows == 3 * 1152 // 8
    assert shard_of(tower_linear(third, "wqkv"), FOUR).num_rows == 3 * 1536 // 4
    assert shard_of(tower_linear(third, "wqkv"), EIGHT).num_rows == 3 * 1536


def test_the_tower_keeps_its_dtype_whatever_the_checkpoint_quantizes() -> None:
    """K2.5 packs experts into four bits; 942 MB of bfloat16 remain of its tower."""
    model = model_from_catalogue("kimi-k2.5", "")
    assert rank_bytes(model, ONE, "tower") == 471_143_920 * 2


def test_kimi_k3_routes_in_half_the_width_and_reads_back_over_blocks_of_layers() -> None:
    """Experts are 3,584 wide inside; the head's own weighing of blocks is on the last stage."""
    model = model_from_catalogue("kimi-k3", "")
    last = [o.tensor.name for o in model.outer_tensors if o.place is Place.LAST]
    assert last == ["output_attn_res_norm", "output_attn_res_proj"]
    experts = rank_bytes(model, ONE, "experts")
    # 896 experts in 92 layers, three matrices of 3,072 x 3,584, at 4.25 bits an element.
    assert experts == 92 * 896 * 3 * 3072 * 3584 * 17 // 32
