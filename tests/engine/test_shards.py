"""What one rank holds of experts: shares, whole experts, and widths filled up for each GPU."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.engine.expert_filling import filling_of, fitted, gpt_oss_filling
from pycore.engine.shards import UNFILLED, Filling, Ranks, Shard, shard_of
from pycore.model.layers import MoeMlp
from pycore.model.quantization.four_bit_experts import FILLED_MXFP4, GPT_OSS
from pycore.model.quantization.weight_formats import awq, fp8_block, gptq
from pycore.model.tensors import Linear, Rows, Split

HOPPER = Ranks(1, 1, 1, enable_expert_parallel=False)
MOE = MoeMlp(num_experts=128, num_experts_per_tok=8, moe_intermediate_size=768)


def up(hidden: int, width: int) -> Linear:
    """Gate and up of 128 experts."""
    return Linear("experts", "up", (Rows(width), Rows(width)), hidden, num_experts=128)


def down(hidden: int, width: int) -> Linear:
    """Down of 128 experts."""
    rows = (Rows(hidden, Split.REPLICATED),)
    return Linear("experts", "down", rows, width, columns_split=True, num_experts=128)


@pytest.mark.parametrize(
    ("capability", "filling"),
    [
        ((9, 0), Filling(1, 64)),
        ((11, 0), Filling(1, 64)),
        ((8, 0), Filling(256, 128)),
        ((8, 9), Filling(256, 128)),
        ((10, 0), Filling(256, 128)),
        ((12, 1), Filling(256, 128)),
        (None, Filling(256, 256)),
    ],
)
def test_gpt_oss_is_filled_up_as_its_backend_wants(
    capability: tuple[int, int] | None, filling: Filling
) -> None:
    """Triton's on Hopper and Thor; TensorRT-LLM's, Marlin's and AMD's elsewhere.

    Source: vLLM 0.33.0, fused_moe/oracle/mxfp4.py; golden rows on A100, L4, H100, H200 and B200.
    """
    assert gpt_oss_filling(capability) == filling
    ranks = replace(HOPPER, compute_capability=capability)
    assert filling_of(MOE, GPT_OSS, ranks) == filling


def test_other_four_bit_experts_are_filled_up_alike_everywhere() -> None:
    """DeepSeek-V4's and Kimi-K3's: width to 128 and hidden size to 256."""
    for capability in ((8, 0), (9, 0), (10, 0)):
        ranks = replace(HOPPER, compute_capability=capability)
        assert filling_of(MOE, FILLED_MXFP4, ranks) == Filling(256, 128)


def test_unquantized_experts_are_filled_up_on_blackwell_only() -> None:
    """To 128, and only where its kernels know how the router chooses."""
    blackwell = replace(HOPPER, compute_capability=(10, 0))
    assert filling_of(MOE, None, HOPPER) == UNFILLED
    assert filling_of(MOE, None, replace(HOPPER, compute_capability=(12, 0))) == UNFILLED
    assert filling_of(MOE, None, blackwell) == Filling(1, 128)
    assert filling_of(replace(MOE, blackwell_routing=False), None, blackwell) == UNFILLED


def test_hidden_and_width_are_filled_up_on_either_side() -> None:
    """gpt-oss: 2,880 both ways, on eight ranks of an A100."""
    ranks = replace(HOPPER, tensor_parallel_size=8)
    filling = Filling(256, 128)
    assert shard_of(up(2880, 2880), ranks, filling) == Shard(128, (384, 384), 3072, is_routed=True)
    assert shard_of(down(2880, 2880), ranks, filling) == Shard(128, (3072,), 384, is_routed=True)


@given(st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 4]), st.booleans())
def test_experts_are_shared_by_all_ranks_of_all_replicas(
    size: int, replicas: int, whole: bool
) -> None:
    """Sliced or dealt out whole, the ranks hold the experts once between them."""
    ranks = Ranks(size, 1, replicas, enable_expert_parallel=whole)
    shard = shard_of(up(2048, 768), ranks)
    held = shard.experts * shard.num_rows * shard.columns
    assert held * ranks.expert_ranks == 128 * 2 * 768 * 2048


def test_whole_experts_are_dealt_out_rounded_up() -> None:
    """384 experts on 80 ranks: five on the largest."""
    ranks = Ranks(8, 1, 10, enable_expert_parallel=True)
    assert shard_of(replace(up(2048, 768), num_experts=384), ranks).experts == 5


@pytest.mark.parametrize(
    ("width", "block"), [(768, 128), (384, 128), (192, 64), (96, 32), (48, 128)]
)
def test_blocks_of_scales_are_refined_down_to_32(width: int, block: int) -> None:
    """Qwen3-30B-A3B-FP8 on one to sixteen ranks; finer than 32 no kernel takes."""
    linear = up(2048, width)
    shard = shard_of(linear, HOPPER)
    assert fitted(fp8_block(128, 128), shard, linear, HOPPER).block == (block, block)


def test_integer_experts_fall_back_to_smaller_groups() -> None:
    """Where Marlin's groups are cut, others halve them; symmetric GPTQ then has no zero points."""
    linear = down(2048, 192)
    shard = shard_of(linear, HOPPER)
    assert fitted(awq(4, 64), shard, linear, HOPPER) == awq(4, 64)
    smaller = fitted(awq(4, 128), shard, linear, HOPPER)
    assert smaller.block == (1, 64)
    assert smaller.zero_points
    assert not fitted(gptq(4, 128), shard, linear, HOPPER).zero_points


def test_dense_layers_are_whole_in_sequence_on_one_stage_alone() -> None:
    """Ranks that divide tokens hold them whole, but not in a pipeline.

    Source: vLLM 0.33.0, models/deepseek_v32/nvidia/model.py, asked for GLM-5.2-FP8 on 4 x 4 x 2.
    """
    linear = Linear(
        "mlp", "gate", (Rows(12288),), 6144, whole_in_sequence=True, divided_in_pipelines=True
    )
    for stages, rows in ((1, 12288), (4, 12288 // 4)):
        ranks = Ranks(4, stages, 2, enable_expert_parallel=True)
        assert shard_of(linear, ranks).num_rows == rows
