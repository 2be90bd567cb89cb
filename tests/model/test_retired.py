"""Classes that vLLM 0.33 has dropped: counted to the unit, refused by name.

Source of the counts: transformers' own classes built without weights; the safetensors metadata of
Phi-3-small-8k-instruct.
"""

import json
from typing import Any

import pytest

from pycore.bridge import answer

MPT_7B: dict[str, Any] = {
    "architectures": ["MptForCausalLM"],
    "model_type": "mpt",
    "torch_dtype": "bfloat16",
    "d_model": 4096,
    "n_heads": 32,
    "n_layers": 32,
    "max_seq_len": 2048,
    "vocab_size": 50432,
    "expansion_ratio": 4,
}


def asked(**request: object) -> dict[str, Any]:
    """The result on one H100."""
    text = json.dumps({"accelerator": "h100-sxm-80gb", **request})
    result: dict[str, Any] = json.loads(answer(text))["result"]
    return result


@pytest.mark.parametrize(
    ("model_id", "count", "last"),
    [
        ("llama-3.2-11b-vision-instruct", 10_670_220_835, "v0.10.2"),
        ("llama-3.2-90b-vision-instruct", 88_593_355_323, "v0.10.2"),
        ("phi-3-small-8k-instruct", 7_392_274_432, "v0.9.2"),
        ("baichuan2-7b-chat", 7_505_973_248, "v0.23.0"),
    ],
)
def test_a_dropped_class_is_counted_and_refused(model_id: str, count: int, last: str) -> None:
    """In the engine's words, with the last version that had it."""
    result = asked(model=model_id)
    assert result["num_parameters"] == count
    (refusal,) = (one for one in result["refusals"] if one["kind"] == "unsupported_architecture")
    assert f"was supported in vLLM until {last}" in refusal["message"]


def test_an_older_engine_still_runs_what_a_newer_one_dropped() -> None:
    """MPT until 0.28; what looks across to a tower is sized for no version."""
    assert asked(config=MPT_7B, engine_version="0.28.0")["starts"]
    assert not asked(config=MPT_7B)["starts"]
    assert not asked(model="llama-3.2-11b-vision-instruct", engine_version="0.10.2")["starts"]


def test_mpt_has_no_rotary_table_and_ties_its_head() -> None:
    """6.65 billion parameters, biases on attention instead of positions."""
    assert asked(config=MPT_7B)["num_parameters"] == 6_649_286_656


@pytest.mark.parametrize(
    ("architecture", "words"),
    [
        ("BertModel", "only encodes"),
        ("Grok1ForCausalLM", "was supported in vLLM until v0.24.0"),
        ("BambaForCausalLM", "cannot run transformers'"),
        ("DreamForCausalLM", "not known here"),
    ],
)
def test_a_class_that_cannot_be_sized_is_refused_with_the_reason(
    architecture: str, words: str
) -> None:
    """By name, and never with a number."""
    text = json.dumps({"config": {"architectures": [architecture]}, "accelerator": "l4"})
    failure = json.loads(answer(text))["failure"]
    assert failure["reason"] == "unsupported_architecture"
    assert architecture in failure["message"]
    assert words in failure["message"]
