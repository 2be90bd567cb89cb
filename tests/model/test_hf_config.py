"""Reading a config.json: what is read, what is completed, what is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.bridge import answer
from pycore.data import rows
from pycore.model.catalogue import model_from_catalogue
from pycore.model.layers import FullAttention

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16",
}
SIZED = [
    str(entry["id"]) for entry in json.loads(answer('{"ask":"catalogue"}'))["result"]["models"]
]


def asked(config: object, **request: object) -> dict[str, Any]:
    """The answer for ``config`` on one H100."""
    text = json.dumps({"config": config, "accelerator": "h100-sxm-80gb", **request})
    decoded: dict[str, Any] = json.loads(answer(text))
    return decoded


def without(config: dict[str, Any], *names: str) -> dict[str, Any]:
    """``config`` less some of its fields."""
    return {name: value for name, value in config.items() if name not in names}


def test_at_least_forty_models_are_sized() -> None:
    """The catalogue lists only models that have an answer."""
    assert len(SIZED) >= 40
    assert "llama-3.3-70b-instruct" in SIZED


@pytest.mark.parametrize("model_id", SIZED)
def test_a_reduced_config_gives_the_same_answer(model_id: str) -> None:
    """What a link keeps of a pasted config is all that its figures depend on."""
    row = next(row for row in rows("models") if row["id"] == model_id)
    quant = {"hf_quant_config": row["hf_quant_config"]} if "hf_quant_config" in row else {}
    full = asked(row["config"], **quant)
    reduced = asked(row["config"], **quant, ask="model")["result"]
    text = json.dumps(reduced["config"])
    kept = reduced.get("hf_quant_config")
    again = asked(text, **({"hf_quant_config": kept} if kept else {}))
    assert again == full


def test_head_dim_is_read_not_derived() -> None:
    """Qwen3-30B-A3B has heads of 128, where hidden_size over heads would give 64."""
    model = model_from_catalogue("qwen3-30b-a3b", "")
    attention = model.layers[0].mixer
    assert isinstance(attention, FullAttention)
    assert attention.head_dim == 128
    assert model.hidden_size // attention.num_attention_heads == 64


@pytest.mark.parametrize(
    "name",
    ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size"],
)
def test_a_number_that_must_be_there_is_named(name: str) -> None:
    """Nothing is computed from a field that is not there."""
    failure = asked(without(LLAMA, name))["failure"]
    assert failure["field"] == f"config.{name}"
    assert failure["reason"] == "missing"


def test_a_default_of_transformers_is_told() -> None:
    """A Llama without num_key_value_heads has as many as query heads, and the answer says so."""
    result = asked(without(LLAMA, "num_key_value_heads"))["result"]
    assert result["architecture"]["num_key_value_heads"] == 32
    told = [note["message"] for note in result["notes"] if note["kind"] == "defaulted_fields"]
    assert "num_key_value_heads = 32" in told[0]


def test_an_unknown_architecture_is_refused_by_name() -> None:
    """A class that nobody has described here gets no number."""
    failure = asked({**LLAMA, "architectures": ["DreamForCausalLM"]})["failure"]
    assert failure["reason"] == "unsupported_architecture"
    assert "DreamForCausalLM" in failure["message"]


def test_an_unknown_quantization_is_refused_by_name() -> None:
    """Never sized as if its weights were in the model's own type."""
    failure = asked({**LLAMA, "quantization_config": {"quant_method": "exl9"}})["failure"]
    assert failure["field"] == "config.quantization_config.quant_method"


def test_a_config_of_six_megabytes_is_read() -> None:
    """Published configs list thousands of modules that stay unquantised."""
    ignored = [
        f"model.layers.{layer}.mlp.experts.{i}.gate" for layer in range(80) for i in range(1900)
    ]
    ignored = ["lm_head", *ignored]
    quantized = {
        **LLAMA,
        "quantization_config": {
            "quant_method": "fp8",
            "activation_scheme": "dynamic",
            "weight_block_size": [128, 128],
            "modules_to_not_convert": ignored,
        },
    }
    text = json.dumps(quantized)
    assert len(text) > 5_000_000
    assert asked(text)["ok"]


@given(
    st.sampled_from(sorted(LLAMA)),
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.none())),
)
def test_a_changed_field_is_read_or_named(name: str, value: object) -> None:
    """A config with one field of another kind gets an answer, or a failure that names it."""
    decoded = asked({**LLAMA, name: value})
    if not decoded["ok"]:
        assert decoded["failure"]["field"].startswith("config")


def test_overriding_reaches_the_configs_own_spelling() -> None:
    """Mixtral spells it num_local_experts; the request's key is num_experts."""
    text = json.dumps({"model": "mixtral-8x7b-v0.1", "accelerator": "h200-sxm-141gb"})
    before = json.loads(answer(text))["result"]
    after = json.loads(answer(json.dumps({**json.loads(text), "num_experts": 4})))["result"]
    assert before["architecture"]["num_experts"] == 8
    assert after["architecture"]["num_experts"] == 4
    assert after["num_parameters"] < before["num_parameters"]


def test_a_config_without_a_class_is_of_the_one_that_its_type_has() -> None:
    """As published for Solar Open: nothing but a model type; the answer says what was taken."""
    result = asked({"model_type": "solar_open"})["result"]
    assert result["num_parameters"] == 102_651_793_408
    told = [note["message"] for note in result["notes"] if note["kind"] == "defaulted_fields"]
    assert "SolarOpenForCausalLM" in told[0]
    assert asked({"model_type": "unheard_of"})["failure"]["field"] == "config.architectures"
