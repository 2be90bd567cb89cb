"""Where the plain formula misleads, the answer says by how much and why."""

import json
from typing import Any

import pytest

from pycore.bridge import answer


def plain_formula(model: str, **request: object) -> dict[str, Any] | None:
    """What the answer says of the plain formula, on eight H200."""
    asked = {"model": model, "accelerator": "h200-sxm-141gb", "tensor_parallel_size": 8, **request}
    found: dict[str, Any] | None = json.loads(answer(json.dumps(asked)))["result"]["plain_formula"]
    return found


@pytest.mark.parametrize("model", ["llama-3.3-70b-instruct", "qwen3-30b-a3b", "phi-4"])
def test_nothing_is_said_where_the_plain_formula_holds(model: str) -> None:
    """Uniform full attention is what the formula was made for."""
    assert plain_formula(model, tensor_parallel_size=2) is None


def test_latent_attention_is_a_fraction_of_its_heads() -> None:
    """DeepSeek-V3: 576 elements stand for 128 heads of 128 twice over, and TP divides only them."""
    found = plain_formula("deepseek-v3", tensor_parallel_size=1)
    assert found is not None
    assert round(found["times_the_engines"]) == 57
    assert "1/57 of what 128 heads would take" in found["because"][0]


def test_windows_and_states_are_named() -> None:
    """Gemma 3 keeps windows, Qwen3.5 states: the sentence says which layers do."""
    gemma = plain_formula("gemma-3-27b-it")
    qwen = plain_formula("qwen3.5-35b-a3b")
    assert gemma is not None
    assert qwen is not None
    assert "52 layers with a window of 1,024" in gemma["because"][0]
    assert "30 layers with a state of fixed size" in qwen["because"][0]


def test_a_short_request_can_take_more_than_the_plain_formula_says() -> None:
    """Nemotron-H keeps whole blocks of states for any request, however short."""
    found = plain_formula("nemotron-h-56b-base-8k", max_model_len=1024)
    assert found is not None
    assert found["times_the_engines"] < 1
