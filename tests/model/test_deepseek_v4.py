"""DeepSeek-V4: layers that fold tokens by 4 or by 128, or not at all."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

from pycore.engine.shards import Ranks, shard_of
from pycore.model.catalogue import model_from_catalogue, model_from_text
from pycore.model.latent import CompressedAttention
from pycore.model.model import Model, num_parameters
from pycore.model.parameters import layer_tensors
from pycore.model.rotary import RotaryTable
from pycore.model.tensors import Linear, Place, Vector
from pycore.sizing.rank_tensors import vector_bytes
from pycore.sizing.weights import stage_weights

ONE = Ranks(1, 1, 1, enable_expert_parallel=False)


def flash(**changes: Any) -> Model:
    """DeepSeek-V4-Flash with some of its fields changed; None takes a field away."""
    config = {**model_from_catalogue("deepseek-v4-flash", "").config_read, **changes}
    return model_from_text(json.dumps({k: v for k, v in config.items() if v is not None}), "")


def ratios(model: Model) -> Counter[int]:
    """How many layers fold by how much."""
    mixers = [layer.mixer for layer in model.layers]
    return Counter(m.compress_ratio for m in mixers if isinstance(m, CompressedAttention))


def names(model: Model, layer: int) -> set[str]:
    """The tensors of one layer."""
    return {tensor.name for tensor in layer_tensors(model.layers[layer], model.hidden_size)}


def test_parameters_are_transformers_own_with_the_buffers_that_checkpoints_hold() -> None:
    """Router corrections, and the table that sends the first layers' tokens to their experts."""
    assert num_parameters(flash()) == 284_332_230_231 + 2_337_280
    assert num_parameters(model_from_catalogue("deepseek-v4-pro", "")) == (
        1_572_997_179_491 + 2_349_312
    )


def test_layers_fold_as_the_config_lists_them() -> None:
    """Flash: two layers of windows alone, then by 4 and by 128 in turn."""
    assert ratios(flash()) == {0: 2, 4: 21, 128: 20}


def test_without_a_list_transformers_pattern_is_taken() -> None:
    """Two layers by 128 first, then by 128 and by 4 in turn; and the answer says so."""
    model = flash(compress_ratios=None)
    assert ratios(model) == {128: 23, 4: 20}
    assert "layer_types" in model.defaulted


def test_only_layers_that_fold_by_four_have_an_indexer_and_only_folding_ones_a_compressor() -> None:
    """Windows alone have neither."""
    model = flash()
    window, four, many = names(model, 0), names(model, 2), names(model, 3)
    assert not any("compressor" in name or "indexer" in name for name in window)
    assert {"attn.compressor.ape", "attn.indexer.wq_b"} <= four
    assert "attn.compressor.ape" in many
    assert "attn.indexer.wq_b" not in many


def test_the_first_layers_choose_experts_by_a_table_and_correct_nothing() -> None:
    """Three layers hold 129,280 rows of six int32; the others a correction for each expert."""
    model = flash()
    tables = [
        vector_bytes(tensor, ONE, "bfloat16")
        for layer in model.layers
        for tensor in layer_tensors(layer, model.hidden_size)
        if isinstance(tensor, Vector) and tensor.name.endswith("tid2eid")
    ]
    corrected = ["ffn.e_score_correction_bias" in names(model, index) for index in (2, 3)]
    assert tables == [129_280 * 6 * 4] * 3
    assert corrected == [False, True]


def test_sinks_are_filled_up_to_what_the_kernel_takes() -> None:
    """64 heads over 8 ranks are 8 each, and still 64 float32 are kept."""
    sink = Vector("attention", "attn.attn_sink", 64, split=True, dtype="float32", least_per_rank=64)
    assert sink in set(layer_tensors(flash().layers[0], 4096))
    assert vector_bytes(sink, replace(ONE, tensor_parallel_size=8), "bfloat16") == 64 * 4


def test_a_rank_holds_whole_scale_blocks_of_the_shared_expert() -> None:
    """Pro's is 3,072 wide: 16 ranks would hold 192 each, and hold 256, two blocks of 128."""
    model = model_from_catalogue("deepseek-v4-pro", "")
    shared = next(
        tensor
        for tensor in layer_tensors(model.layers[0], model.hidden_size)
        if tensor.name == "ffn.shared_experts.gate_up_proj"
    )
    assert isinstance(shared, Linear)
    shards = [shard_of(shared, replace(ONE, tensor_parallel_size=size)) for size in (8, 16)]
    assert [shard.rows for shard in shards] == [(384, 384), (256, 256)]


def test_windows_without_folding_take_a_rotary_table_of_their_own() -> None:
    """Pro folds everywhere and has one table of 256 MiB; Flash has two, one for two layers."""
    whole, plain, folding = (
        RotaryTable(1_048_576, 64, "float32", layers=layers)
        for layers in ((0, 60), (0, 1), (2, 42))
    )
    assert model_from_catalogue("deepseek-v4-pro", "").rotary_tables == (whole,)
    assert flash().rotary_tables == (plain, folding)


def test_a_stage_without_layers_of_windows_alone_has_no_table_for_them() -> None:
    """Flash over two stages: 512 MiB of tables on the first, 256 on the second."""
    model = flash()
    ranks = replace(ONE, pipeline_parallel_size=2)
    stages = stage_weights(model, ranks, model.dtype, model.quantization)
    assert [stage.bytes_by_component["buffers"] >> 20 for stage in stages] == [512, 256]


def test_residual_streams_are_mixed_in_float32_and_their_head_is_on_every_stage() -> None:
    """Four streams of 4,096: 24 mixes in each layer twice, 4 before the head."""
    model = flash()
    fn = Vector("norm", "hc_attn_fn", 24 * 4 * 4096, dtype="float32")
    assert fn in set(layer_tensors(model.layers[0], model.hidden_size))
    assert {outer.place for outer in model.outer_tensors} == {Place.EVERY}
    assert sum(outer.tensor.num_elements for outer in model.outer_tensors) == 4 * 4 * 4096 + 5


def test_attention_keeps_no_scales_beside_its_cache() -> None:
    """Its buffers are the rotary table and nothing else: the packed cache holds its own scales."""
    model = model_from_catalogue("deepseek-v4-pro", "")
    (stage,) = stage_weights(model, ONE, model.dtype, model.quantization)
    assert stage.bytes_by_component["buffers"] == 268_435_456
