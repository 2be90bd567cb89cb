"""How weights divide over ranks, stages and replicas."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.engine.shards import Ranks, layers_by_stage
from pycore.model.catalogue import model_from_catalogue
from pycore.model.hf_config import read_model
from pycore.model.layers import FullAttention
from pycore.sizing.weights import stage_weights
from tests.golden.builds import read_lines

ONE = Ranks(1, 1, 1, enable_expert_parallel=False)


def rank_bytes(model_id: str, ranks: Ranks, component: str | None = None) -> int:
    """Bytes on the largest rank, of everything or of one component."""
    model = model_from_catalogue(model_id, "")
    stages = stage_weights(model, ranks, model.dtype, model.quantization)
    if component is None:
        return max(stage.num_bytes for stage in stages)
    return max(stage.bytes_by_component.get(component, 0) for stage in stages)


@given(st.integers(1, 300), st.integers(1, 64))
def test_every_layer_is_on_one_stage(num_layers: int, stages: int) -> None:
    """Stages share the layers, differ by at most one, and the last is never the larger."""
    if stages > num_layers:
        return
    sizes = layers_by_stage(num_layers, stages)
    assert sum(sizes) == num_layers
    assert max(sizes) - min(sizes) <= 1
    assert sizes[-1] == min(sizes)


def test_eighty_layers_over_three_stages() -> None:
    """VLLM prints [27,27,26] for 80 layers on 3 stages."""
    assert layers_by_stage(80, 3) == (27, 27, 26)


def test_norms_and_rotary_tables_are_whole_on_every_rank() -> None:
    """R1: 70,555,025,408 parameter bytes and 33,555,712 buffer bytes on each of two GPUs."""
    two = replace(ONE, tensor_parallel_size=2)
    assert rank_bytes("llama-3.3-70b-instruct", two) == 70_555_025_408 + 33_555_712
    for component in ("norm", "buffers"):
        whole = rank_bytes("llama-3.3-70b-instruct", ONE, component)
        assert rank_bytes("llama-3.3-70b-instruct", two, component) == whole


def test_kv_heads_are_replicated_when_ranks_outnumber_them() -> None:
    """Llama-3.3-70B has 8 KV heads: on 16 ranks each still holds one."""
    model = model_from_catalogue("llama-3.3-70b-instruct", "")
    attention = model.layers[0].mixer
    assert isinstance(attention, FullAttention)
    heads = attention.num_attention_heads * attention.head_dim
    eight, sixteen = (
        rank_bytes("llama-3.3-70b-instruct", replace(ONE, tensor_parallel_size=size), "attention")
        for size in (8, 16)
    )
    kv_bytes = 80 * 2 * attention.head_dim * model.hidden_size * 2
    query_and_output = 80 * 2 * heads * model.hidden_size * 2
    assert eight == query_and_output // 8 + kv_bytes
    assert sixteen == query_and_output // 16 + kv_bytes


def test_experts_are_sliced_or_dealt_out_whole() -> None:
    """Qwen3-30B-A3B: 128 experts over 4 ranks take the same bytes either way, but for a map."""
    sliced = replace(ONE, tensor_parallel_size=4)
    whole = replace(sliced, enable_expert_parallel=True)
    model = "qwen3-30b-a3b"
    assert rank_bytes(model, sliced, "experts") == rank_bytes(model, whole, "experts")
    difference = rank_bytes(model, whole) - rank_bytes(model, sliced)
    assert difference == 48 * 128 * 4


def test_replicas_share_the_experts_and_nothing_else() -> None:
    """With DP, attention is whole on each replica while experts are divided over all ranks."""
    two = replace(ONE, data_parallel_size=2)
    model = "qwen3-30b-a3b"
    assert rank_bytes(model, two, "attention") == rank_bytes(model, ONE, "attention")
    assert rank_bytes(model, two, "experts") * 2 == rank_bytes(model, ONE, "experts")


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_a_rank_never_holds_less_than_its_share(size: int) -> None:
    """Replication and padding only add."""
    share = rank_bytes("qwen3-235b-a22b-fp8", ONE) / size
    assert rank_bytes("qwen3-235b-a22b-fp8", replace(ONE, tensor_parallel_size=size)) >= share


def test_a_tied_embedding_is_on_both_ends_of_a_pipeline() -> None:
    """Llama-3.2-1B ties embedding and head: both the first and the last stage hold the matrix."""
    model = model_from_catalogue("llama-3.2-1b-instruct", "")
    stages = stage_weights(model, replace(ONE, pipeline_parallel_size=4), "bfloat16", None)
    held = [stage.bytes_by_component.get("embedding", 0) for stage in stages]
    assert held[0] == held[-1] == 128_256 * 2048 * 2
    assert held[1:-1] == [0, 0]


def test_kv_heads_are_replicated_in_transformers_own_classes_too() -> None:
    """SmolLM3 has 4 KV heads: its projections are fused as any other's, and eight ranks copy them.

    Source: vLLM 0.33.0's own model class, built on the meta device with transformers 5.20.2, which
    it asks for: 787,911,744 bytes.
    """
    model = model_from_catalogue("smollm3-3b", "")
    (stage,) = stage_weights(model, replace(ONE, tensor_parallel_size=8), "bfloat16", None)
    assert stage.num_bytes == 787_911_744


def test_qwen2_moe_keeps_both_ends_on_every_stage() -> None:
    """Its class asks no stage which one it is: embedding, head and last norm are on all four.

    Source: vLLM 0.33.0's own model class, built on the meta device: 30,346,339,440 bytes each.
    """
    (content,) = (
        row["content"] for row in read_lines("configs") if row["config"] == "Qwen2-MoE-57B-A14B"
    )
    model = read_model(content)
    stages = stage_weights(model, replace(ONE, pipeline_parallel_size=4), "bfloat16", None)
    assert [stage.num_bytes for stage in stages] == [30_346_339_440] * 4


def test_llama_4_keeps_its_shared_expert_whole_where_tokens_are_divided() -> None:
    """Expert parallelism over replicas of two ranks each: the ranks share tokens, not the expert.

    Source: vLLM 0.33.0's own model class, built on the meta device: 44,477,195,712 bytes.
    """
    (content,) = (
        row["content"] for row in read_lines("configs") if row["config"] == "Llama-4-Scout"
    )
    eight = Ranks(2, 1, 4, enable_expert_parallel=True)
    (stage,) = stage_weights(read_model(content), eight, "bfloat16", None)
    assert stage.num_bytes == 44_477_195_712
