"""What the engine creates for models of families that few serve, to the byte.

The configs are put together from what their publishers say of the models. Apertus keeps two
numbers a layer for its activation, which are not counted here.
Source: vLLM 0.33.0's model classes, built without weights for an H100; parameters and buffers of
each pipeline stage.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.data import rows
from pycore.model.hf_config import read_model
from pycore.model.layers import SlidingWindowAttention

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "rarer_families.jsonl").read_text().splitlines()
]
ACTIVATION_BYTES = 256


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_weights_are_as_the_engine_creates_them(row: dict[str, Any]) -> None:
    """On one GPU, on four, and on two times two."""
    for shape, expected in row["weights_bytes_by_stage"].items():
        tensor, pipeline = map(int, shape.split("x"))
        request = {
            "config": row["config"],
            "accelerator": "h100-sxm-80gb",
            "tensor_parallel_size": tensor,
            "pipeline_parallel_size": pipeline,
        }
        result = json.loads(answer(json.dumps(request)))["result"]
        off = ACTIVATION_BYTES if row["name"].startswith("apertus") else 0
        for num_bytes, created in zip(result["weights_bytes_by_stage"], expected, strict=True):
            assert created - off <= num_bytes <= created


def weights(model: str, **changes: Any) -> int:
    """Bytes of a rank of a catalogue model whose config says otherwise."""
    row = next(row for row in rows("models") if row["id"] == model)
    assert isinstance(row["config"], dict)
    request = {"config": {**row["config"], **changes}, "accelerator": "h100-sxm-80gb"}
    num_bytes: int = json.loads(answer(json.dumps(request)))["result"]["weights_bytes_per_rank"]
    return num_bytes


@pytest.mark.parametrize(
    "model",
    [
        *("gpt-oss-20b", "glm-4.5-air", "minimax-m2.5", "phi-3.5-moe-instruct"),
        *("deepseek-v3", "qwen3-next-80b-a3b-instruct", "nemotron-h-56b-base-8k"),
        *("c4ai-command-r-08-2024", "gemma-2-9b", "jamba-v0.1"),
    ],
)
def test_some_classes_do_not_ask_whether_the_head_is_tied(model: str) -> None:
    """They always create one, or never. Source: vLLM 0.33.0's classes, built both ways."""
    tied, untied = (weights(model, tie_word_embeddings=ties) for ties in (True, False))
    assert tied == untied


def test_qwen3_may_have_a_shared_expert() -> None:
    """Gate, up and down of its width in 48 layers, and a row that gates it.

    Source: vLLM 0.33.0, model_executor/models/qwen3_moe.py.
    """
    plain = weights("qwen3-30b-a3b")
    shared = weights("qwen3-30b-a3b", shared_expert_intermediate_size=512)
    assert shared - plain == 2 * 48 * 2048 * (3 * 512 + 1)


def test_first_layers_of_cohere2_moe_have_a_period_of_their_own() -> None:
    """The dense ones see all tokens; windows are counted from the first routed layer.

    Source: transformers 5.24.0, models/cohere2_moe/configuration_cohere2_moe.py.
    """
    config = next(row["config"] for row in ROWS if row["name"] == "cohere2moe")
    mixers = read_model({**config, "num_hidden_layers": 10}).layers
    windowed = [isinstance(layer.mixer, SlidingWindowAttention) for layer in mixers]
    assert windowed == [False, False, *[True, True, True, False] * 2]


def test_windows_behind_a_tower_are_those_of_the_text() -> None:
    """PaliGemma 2 puts SigLIP before Gemma 2, which has a window in every other layer."""
    model = read_model(next(row["config"] for row in ROWS if row["name"] == "paligemma2-10b"))
    windowed = [isinstance(layer.mixer, SlidingWindowAttention) for layer in model.layers]
    assert windowed[:4] == [True, False, True, False]


def test_a_tower_before_a_text_of_an_unknown_class_is_not_sized() -> None:
    """The failure names the class."""
    config = next(row["config"] for row in ROWS if row["name"] == "internvl3-8b")
    inner = {**config["llm_config"], "architectures": ["Nonesuch"]}
    request = {"config": {**config, "llm_config": inner}, "accelerator": "h100-sxm-80gb"}
    failure = json.loads(answer(json.dumps(request)))["failure"]
    assert failure["reason"] == "unsupported_architecture"
    assert "Nonesuch" in failure["message"]


def test_whisper_keeps_what_it_heard_for_every_request() -> None:
    """28 blocks for 448 tokens, and 512 for as much sound as a step may bring.

    Source: vLLM 0.33.0, v1/kv_cache_interface.py, CrossAttentionSpec, asked for this build.
    """
    config = next(row["config"] for row in ROWS if row["name"] == "whisper-large-v3")
    request = {"config": config, "accelerator": "h100-sxm-80gb"}
    result = json.loads(answer(json.dumps(request)))["result"]
    assert result["kv_cache_bytes_per_block"] == 2621440
    assert result["needed_kv_cache_bytes"] == (28 + 512) * 2621440


def test_dots_fills_its_experts_on_blackwell_where_weights_are_normed() -> None:
    """Unless its config says so, transformers leaves the winners' weights as they are.

    Source: vLLM 0.33.0, model_executor/models/transformers/moe.py, asked for both on B200.
    """
    row = next(row for row in rows("models") if row["id"] == "dots.llm1.inst")
    assert isinstance(row["config"], dict)
    held = []
    for normed in (False, True):
        config = {**row["config"], "norm_topk_prob": normed}
        request = {"config": config, "accelerator": "b200-sxm", "tensor_parallel_size": 8}
        result = json.loads(answer(json.dumps(request)))["result"]
        held.append(result["weights_bytes_per_rank"])
    assert held == [35750517728, 51101670368]
