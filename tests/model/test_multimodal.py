"""Models that read pictures: their parameters, and what each rank holds of a tower.

Source of the counts: the safetensors metadata of the published checkpoints; where none is given,
transformers' own classes built without weights.
"""

import json
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.engine.shards import Ranks
from pycore.errors import InvalidRequest
from pycore.model.catalogue import model_from_catalogue
from pycore.model.hf_config import read_model
from pycore.model.model import num_parameters, without_towers
from pycore.model.towers.plain import DEFAULTS
from pycore.sizing.weights import stage_weights
from tests.golden.builds import read_lines

QWEN2_5_VL_3B: dict[str, Any] = {
    "architectures": ["Qwen2_5_VLForConditionalGeneration"],
    "model_type": "qwen2_5_vl",
    "torch_dtype": "bfloat16",
    "hidden_size": 2048,
    "intermediate_size": 11008,
    "num_hidden_layers": 36,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128000,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
    "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
    "vision_config": {"depth": 32, "hidden_size": 1280, "out_hidden_size": 2048},
}
SPARSE_GEMMA_3: dict[str, Any] = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "torch_dtype": "bfloat16",
    "text_config": {
        "model_type": "gemma3_text",
        "hidden_size": 5376,
        "intermediate_size": 21504,
        "num_attention_heads": 32,
        "num_hidden_layers": 62,
        "num_key_value_heads": 16,
        "head_dim": 128,
        "sliding_window": 1024,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
    },
    "vision_config": {
        "hidden_size": 1152,
        "image_size": 896,
        "intermediate_size": 4304,
        "num_attention_heads": 16,
        "num_hidden_layers": 27,
        "patch_size": 14,
    },
}


def asked(config: dict[str, Any], **request: object) -> dict[str, Any]:
    """The answer for a config on H100."""
    text = json.dumps({"config": config, "accelerator": "h100-sxm-80gb", **request})
    decoded: dict[str, Any] = json.loads(answer(text))
    return decoded


@pytest.mark.parametrize(
    ("model_id", "count"),
    [
        ("gemma-3-27b-it", 27_432_406_640),
        ("gemma-3-12b-it", 12_187_325_040),
        ("mistral-small-3.1-24b-instruct-2503", 24_011_361_280),
        ("qwen2-vl-7b-instruct", 8_291_375_616),
        ("qwen3-vl-8b-instruct", 8_767_123_696),
        ("qwen3-vl-235b-a22b-instruct", 235_670_022_896),
        ("llama-4-scout-17b-16e-instruct", 108_641_793_536),
        ("llama-3.2-11b-vision-instruct", 10_670_220_835),
        ("gemma-4-e2b-it", 5_104_297_504),
    ],
)
def test_towers_are_counted_to_the_unit(model_id: str, count: int) -> None:
    """Text, tower and projector together, tied matrices once."""
    assert num_parameters(model_from_catalogue(model_id, "")) == count


def test_qwen_2_5_vl_is_counted_from_a_config_without_a_part_about_text() -> None:
    """Older files state the numbers of the text at the top."""
    assert num_parameters(read_model(QWEN2_5_VL_3B)) == 3_754_622_976


def test_a_sparse_gemma_3_is_the_whole_gemma_3() -> None:
    """The file that was published at first leaves out the vocabulary and the kinds of layers."""
    sparse = read_model(SPARSE_GEMMA_3)
    assert num_parameters(sparse) == 27_432_406_640
    assert sparse.defaulted["vocab_size"] == 262208
    assert sparse.model_limit_tokens == 131072


def test_an_absent_tower_is_the_one_that_transformers_assumes_and_is_told() -> None:
    """SigLIP's defaults, twelve blocks of 768."""
    text_only = {k: v for k, v in SPARSE_GEMMA_3.items() if k != "vision_config"}
    model = read_model(text_only)
    assert {name: model.defaulted[name] for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize("size", [2, 4])
def test_a_tower_is_divided_over_the_ranks(size: int) -> None:
    """Each rank holds its share of queries, keys and values, and all of the norms."""
    model = read_model(QWEN2_5_VL_3B)
    whole, share = (
        stage_weights(model, Ranks(ranks, 1, 1, enable_expert_parallel=False), "bfloat16", None)[0]
        for ranks in (1, size)
    )
    kept = share.bytes_by_component["tower"] - whole.bytes_by_component["tower"] / size
    assert 0 < kept < 0.02 * whole.bytes_by_component["tower"]


def test_a_tower_refuses_ranks_that_its_widths_do_not_allow() -> None:
    """The text of Qwen2.5-VL-3B divides by 8; the tower's 3,420-wide network does not.

    For text alone the engine builds the tower all the same, only without weights.
    Source: vLLM 0.33.0, models/interfaces.py (_mark_tower_model), asked for this build.
    """
    result = asked(QWEN2_5_VL_3B, tensor_parallel_size=8)["result"]
    (refusal,) = result["refusals"]
    assert refusal["kind"] == "indivisible_other"
    assert "3420 is not divisible by 8" in refusal["message"]
    text_alone = asked(QWEN2_5_VL_3B, tensor_parallel_size=8, language_model_only=True)["result"]
    assert text_alone["refusals"][0]["message"] == refusal["message"]


def test_a_towers_heads_are_divided_too() -> None:
    """Qwen3.5 0.8B: its text would go onto eight ranks, but its tower has 12 heads.

    Source: vLLM 0.33.0, models/qwen2_5_vl.py, Qwen2_5_VisionAttention.
    """
    request = {"model": "qwen3.5-0.8b", "accelerator": "h100-sxm-80gb", "tensor_parallel_size": 8}
    found = json.loads(answer(json.dumps(request)))["result"]["refusals"]
    assert "AssertionError: 12 is not divisible by 8" in [each["message"] for each in found]


def test_a_tower_is_on_the_first_stage_only() -> None:
    """The last stage of a pipeline never sees a picture."""
    model = model_from_catalogue("qwen3-vl-8b-instruct", "")
    ranks = Ranks(1, 2, 1, enable_expert_parallel=False)
    first, last = stage_weights(model, ranks, "bfloat16", None)
    assert first.bytes_by_component["tower"] > 10**9
    assert "tower" not in last.bytes_by_component


def test_text_alone_leaves_the_tower_out() -> None:
    """What --language-model-only saves on Gemma 3: 423 million parameters."""
    model = model_from_catalogue("gemma-3-27b-it", "")
    assert num_parameters(model) - num_parameters(without_towers(model)) == 423_060_336


def test_an_older_file_may_tie_in_its_part_about_text() -> None:
    """Qwen's classes forward it; Gemma's own default is to tie."""
    tied = {**QWEN2_5_VL_3B, "tie_word_embeddings": False, "text_config": {}}
    tied["text_config"] = {
        **{k: v for k, v in QWEN2_5_VL_3B.items() if isinstance(v, int)},
        "tie_word_embeddings": True,
    }
    assert read_model(tied).tie_word_embeddings
    assert read_model(SPARSE_GEMMA_3).tie_word_embeddings


def test_mistral_3_without_a_text_part_is_refused_by_the_field() -> None:
    """Its class assumes a model of its own then, which no published file relies on."""
    with pytest.raises(InvalidRequest) as caught:
        read_model({"architectures": ["Mistral3ForConditionalGeneration"]})
    assert caught.value.field == "config.text_config"


@pytest.mark.parametrize("heads", [10**6, 7])
def test_a_towers_width_divides_into_its_heads(heads: int) -> None:
    """The field is named, as it is for the text's heads."""
    config = next(
        row["content"] for row in read_lines("configs") if row["config"] == "Qwen3-VL-8B-Instruct"
    )
    damaged = {**config, "vision_config": {**config["vision_config"], "num_heads": heads}}
    request = {"config": damaged, "accelerator": "h100-sxm-80gb"}
    decoded = json.loads(answer(json.dumps(request)))
    assert decoded["failure"]["field"] == "config.vision_config.num_heads"
