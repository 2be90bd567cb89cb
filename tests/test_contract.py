"""Whatever is asked, the answer is JSON: a result, or a failure that names the field."""

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.bridge import answer
from pycore.model.config_fields import CONFIG_FIELDS
from pycore.request import READERS
from pycore.scenario import Measured, Scenario

GOOD = {"model": "llama-3.1-8b-instruct", "accelerator": "h100-sxm-80gb"}
NUMBERS = st.one_of(
    st.integers(min_value=-(10**400), max_value=10**400),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0, -1, 10**400, -(10**400), 2**53, 2**63, 2**64]),
)
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = [*READERS, *CONFIG_FIELDS]


def asked(request: object) -> dict[str, Any]:
    """The answer to ``request``, decoded."""
    decoded: dict[str, Any] = json.loads(answer(json.dumps(request)))
    return decoded


def is_answer(decoded: dict[str, Any]) -> bool:
    """Whether ``decoded`` has one of the two forms of the contract."""
    if decoded["ok"]:
        return decoded["schema"] == 1 and "result" in decoded
    failure = decoded["failure"]
    return bool(failure["field"] and failure["reason"] and failure["message"])


@given(st.text())
def test_any_text_gets_an_answer(text: str) -> None:
    """Text that is not JSON is a failure, not a traceback."""
    assert is_answer(json.loads(answer(text)))


@given(JSON_VALUES)
def test_any_json_gets_an_answer(value: object) -> None:
    """So is JSON that is not a request."""
    assert is_answer(asked(value))


@given(st.sampled_from(KEYS), JSON_VALUES)
def test_a_field_of_any_type_is_read_or_named(key: str, value: object) -> None:
    """A value that cannot be read is refused under its own key."""
    decoded = asked({**GOOD, key: value})
    assert is_answer(decoded)
    if not decoded["ok"]:
        assert decoded["failure"]["field"].split(".")[0] in {key, "model", "accelerator", "config"}


@given(st.dictionaries(st.sampled_from(KEYS), JSON_VALUES, max_size=5))
def test_any_mixture_of_fields_gets_an_answer(request: dict[str, Any]) -> None:
    """Also when several are wrong at once."""
    assert is_answer(asked(request))


@given(st.sampled_from([field.name for field in fields(Measured)]), JSON_VALUES)
def test_measured_figures_are_whole_bytes(name: str, value: object) -> None:
    """A measured figure that is not a number of bytes is refused under its path."""
    decoded = asked({**GOOD, "measured": {name: value}})
    is_bytes = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    if value is not None and not is_bytes:
        assert decoded["failure"]["field"] == f"measured.{name}"
    else:
        assert is_answer(decoded)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{}", "model"),
        ("[]", "request"),
        ("null", "request"),
        ("NaN", "request"),
        ("", "request"),
        ("[" * 100_000, "request"),
        ('{"model":"a","model":"b"}', "model"),
        ('{"model":NaN}', "model"),
        ('{"model":"llama-3.1-8b-instruct"}', "accelerator"),
        ('{"model":"llama-3.1-8b-instruct","accelerator":"h100"}', "accelerator"),
        ('{"model":"no such model","accelerator":"l4"}', "model"),
        ('{"tensor_parallel_size":-1}', "tensor_parallel_size"),
        ('{"tensor_parallel_size":2.0}', "tensor_parallel_size"),
        ('{"tensor_parallel_size":true}', "tensor_parallel_size"),
        ('{"gpu_memory_utilization":NaN}', "gpu_memory_utilization"),
        ('{"gpu_memory_utilization":1.5}', "gpu_memory_utilization"),
        ('{"max_model_len":1e400}', "max_model_len"),
        ('{"max_model_len":1' + "0" * 400 + "}", "max_model_len"),
        ('{"measured":{"total_bytes":1,"total_bytes":2}}', "measured.total_bytes"),
        ('{"colour":"red"}', "colour"),
        ('{"model":"llama-3.1-8b-instruct","accelerator":"tpu-v6e"}', "accelerator"),
        ('{"accelerator":"l4","config":{"hidden_size":1,"hidden_size":2}}', "config.hidden_size"),
        ('{"accelerator":"l4","config":"not json"}', "config"),
        ('{"accelerator":"l4","config":"[]"}', "config"),
        (
            '{"model":"llama-3.1-8b-instruct","accelerator":"l4","num_key_value_heads":"8"}',
            "num_key_value_heads",
        ),
    ],
)
def test_a_failure_names_its_field(text: str, field: str) -> None:
    """The field that cannot be read is the one that is named."""
    assert json.loads(answer(text))["failure"]["field"] == field


def test_an_accelerator_without_engine_figures_says_so() -> None:
    """A TPU is a failure with a reason, not a guess."""
    failure = asked({**GOOD, "accelerator": "tpu-v5e"})["failure"]
    assert failure["reason"] == "engine_figures_unknown"
    assert "h100-sxm-80gb" in failure["choices"]


def test_infinity_is_refused_only_where_it_is_read() -> None:
    """Published configs carry Infinity in fields that sizing has no use for."""
    config = (
        '{"architectures":["LlamaForCausalLM"],"hidden_size":2048,"num_hidden_layers":4,'
        '"num_attention_heads":16,"intermediate_size":8192,"vocab_size":32000,'
        '"max_position_embeddings":4096,"torch_dtype":"bfloat16","time_step_limit":[0,Infinity]}'
    )
    assert asked({"config": config, "accelerator": "l4"})["ok"]
    read = config.replace('"hidden_size":2048', '"hidden_size":Infinity')
    failure = asked({"config": read, "accelerator": "l4"})["failure"]
    assert failure["field"] == "config.hidden_size"


def test_every_field_of_a_scenario_has_a_reader() -> None:
    """No field of the contract can be forgotten at the boundary."""
    names = {field.name for field in fields(Scenario)} - {"overrides"}
    assert names == set(READERS) - {"schema"}


def test_null_is_the_same_as_leaving_out() -> None:
    """The form sends null where a control is empty."""
    empty = dict.fromkeys(set(READERS) - {"ask", "schema", *GOOD})
    assert asked({**GOOD, **empty}) == asked(GOOD)
