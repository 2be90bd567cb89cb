"""Any field of a config, changed by a request under the field's own name."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.bridge import answer
from pycore.data import rows
from pycore.errors import InvalidRequest
from pycore.model.config_fields import CONFIG_FIELDS
from pycore.model.overrides import OF_THE_WHOLE, spellings, text_section, with_overrides
from pycore.request import READERS

ROWS: tuple[dict[str, Any], ...] = rows("models")
SPARSE = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048}


def asked(**request: Any) -> dict[str, Any]:
    """The answer to a request on an H100."""
    decoded: dict[str, Any] = json.loads(
        answer(json.dumps({"accelerator": "h100-sxm-80gb"} | request))
    )
    return decoded


def size_of(**request: Any) -> dict[str, Any]:
    """The result of a request that can be read."""
    decoded = asked(**request)
    assert decoded["ok"], decoded["failure"]
    result: dict[str, Any] = decoded["result"]
    return result


def failure_of(**request: Any) -> tuple[str, str]:
    """The field and the reason of a request that cannot."""
    failure = asked(**request)["failure"]
    return failure["field"], failure["reason"]


def own_fields(config: dict[str, Any]) -> dict[str, Any]:
    """The fields that a config states, each once, less those whose names are the contract's."""
    whole = {name: config[name] for name in OF_THE_WHOLE if name in config}
    stated: dict[str, Any] = {**config, **text_section(config)[1], **whole}
    firsts = {spellings(name)[-1]: name for name in stated if name in CONFIG_FIELDS}
    return {
        name: value
        for name, value in stated.items()
        if name not in READERS
        and not isinstance(value, dict)
        and firsts.get(spellings(name)[-1], name) == name
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["id"]))
def test_every_field_of_a_config_may_be_named(row: dict[str, Any]) -> None:
    """To say again what the config says changes nothing, and is no unknown field."""
    as_it_is = asked(model=row["id"])
    if as_it_is["ok"]:
        again = asked(model=row["id"], **own_fields(row["config"]))
        assert again.get("failure") is None
        assert (
            again["result"]["weights_bytes_per_rank"]
            == (as_it_is["result"]["weights_bytes_per_rank"])
        )
        assert again["result"]["refusals"] == as_it_is["result"]["refusals"]


@pytest.mark.parametrize(
    ("change", "kv_bytes"),
    [
        ({}, 61 * (512 + 64) * 2),
        ({"kv_lora_rank": 1024}, 61 * (1024 + 64) * 2),
        ({"qk_rope_head_dim": 128}, 61 * (512 + 128) * 2),
    ],
)
def test_latent_widths_are_numbers_of_the_model_too(change: dict[str, int], kv_bytes: int) -> None:
    """DeepSeek-V3 keeps one latent and one rotary key for each token and layer."""
    result = size_of(model="deepseek-v3", tensor_parallel_size=8, **change)
    assert kv_bytes == result["kv_cache_bytes_per_token_per_rank"]


def test_a_list_may_be_changed() -> None:
    """Gemma 3 with every layer at full attention keeps 62 layers for each token, not 10."""
    changed = size_of(model="gemma-3-27b-it", layer_types=["full_attention"] * 62)
    assert changed["kv_cache_bytes_per_token_per_rank"] == 62 * 16 * 2 * 128 * 2


def test_experts_go_by_the_name_that_the_config_has() -> None:
    """DeepSeek's ``n_routed_experts`` is what ``num_experts`` names elsewhere."""
    named = [
        size_of(model="deepseek-v3", tensor_parallel_size=8, **{name: 64})["num_parameters"]
        for name in ("num_experts", "n_routed_experts")
    ]
    assert named[0] == named[1] < 300_000_000_000


def test_a_default_that_completes_a_config_may_be_changed() -> None:
    """Llama's own default is 32 layers; the config does not say so, its reader asks."""
    config = json.dumps(SPARSE)
    whole = size_of(config=config)
    biased = size_of(config=config, mlp_bias=True)
    assert whole["defaulted"]["mlp_bias"] is False
    assert biased["num_parameters"] > whole["num_parameters"]


@pytest.mark.parametrize(
    ("request_", "failure"),
    [
        ({"colour": "red"}, ("colour", "unknown_field")),
        ({"colour": None}, ("colour", "unknown_field")),
        ({"": 1}, ("request", "unknown_field")),
        ({"kv_lora_rank": 512}, ("kv_lora_rank", "unknown_field")),
        ({"ask": "catalogue", "colour": "red"}, ("colour", "unknown_field")),
        ({"ask": "check_run", "text": "", "colour": "red"}, ("colour", "unknown_field")),
        ({"mlp_bias": 3}, ("mlp_bias", "wrong_type")),
        ({"rope_scaling": 5}, ("rope_scaling", "wrong_type")),
        (
            {"rope_scaling": {"rope_type": "yarn", "factor": "four"}},
            ("rope_scaling.factor", "wrong_type"),
        ),
        ({"architectures": ["Nonesuch"]}, ("architectures", "unsupported_architecture")),
        # What breaks elsewhere is the doing of the change all the same.
        (
            {"model": "gemma-3-27b-it", "num_hidden_layers": 4000},
            ("num_hidden_layers", "wrong_type"),
        ),
        ({"model": "gemma-3-27b-it", "layer_types": ["no"]}, ("layer_types", "wrong_type")),
        ({"model": "gemma-3-27b-it", "layer_types": "no"}, ("layer_types", "wrong_type")),
        (
            {"model": "deepseek-v3", "num_experts": 8, "n_routed_experts": 8},
            ("num_experts", "conflict"),
        ),
        (
            {
                "model": "llama-2-7b-hf",
                "rope_scaling": {"rope_type": "linear", "factor": 2.0},
                "rope_parameters": {"rope_type": "linear", "factor": 4.0},
            },
            ("rope_scaling", "conflict"),
        ),
        ({"model": "deepseek-v3", "num_experts": "8"}, ("num_experts", "wrong_type")),
        # Of two that are wrong the first by name is told; one breaks what stands elsewhere.
        ({"torch_dtype": "no", "vocab_size": []}, ("torch_dtype", "wrong_type")),
        ({"model": "gemma-4-e2b-it", "num_hidden_layers": 3}, ("num_hidden_layers", "wrong_type")),
        ({"model": "nonesuch", "kv_lora_rank": 512}, ("model", "unknown_choice")),
    ],
)
def test_a_failure_names_the_requests_own_key(
    request_: dict[str, Any], failure: tuple[str, str]
) -> None:
    """Never a path in a config that the request does not hold."""
    assert failure == failure_of(**({"model": "llama-3.1-8b-instruct"} | request_))


def test_a_key_of_the_contract_stays_the_contracts() -> None:
    """``dtype`` is how to serve, also where a config states a dtype of its own."""
    config = json.dumps(SPARSE | {"dtype": "bfloat16"})
    assert size_of(config=config, dtype="float32")["chosen"]["dtype"] == "float32"
    assert failure_of(config=config, dtype="int3") == ("dtype", "unknown_choice")


NAMES = sorted({name for row in ROWS for name in own_fields(row["config"])})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


@given(
    st.sampled_from([row["id"] for row in ROWS]),
    st.dictionaries(st.sampled_from(NAMES), VALUES, min_size=1, max_size=3),
)
def test_any_change_gets_an_answer(model: str, changes: dict[str, Any]) -> None:
    """A result, or a failure that names one of the changes; a model not yet read names itself."""
    reply = asked(model=model, **changes)
    if not reply["ok"] and asked(model=model)["ok"]:
        assert reply["failure"]["field"].split(".")[0] in changes


@given(st.dictionaries(st.sampled_from(NAMES), st.integers(), max_size=3))
def test_a_config_is_never_changed_in_place(changes: dict[str, int]) -> None:
    """The catalogue's rows are shared by all requests."""
    config = next(row["config"] for row in ROWS if row["id"] == "gemma-3-27b-it")
    before = json.dumps(config)
    with suppress(InvalidRequest):
        with_overrides(config, changes)
    assert before == json.dumps(config)
