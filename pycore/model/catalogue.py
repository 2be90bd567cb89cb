"""The models that come with Napkin, and the model that a scenario means."""

import json
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from typing import Final

from pycore.data import rows
from pycore.errors import InvalidRequest
from pycore.model.config_fields import ConfigReader
from pycore.model.hf_config import parse_config_text, read_from, read_model
from pycore.model.hf_quant_config import with_hf_quant_config
from pycore.model.model import Model, is_same, without_towers
from pycore.model.overrides import own_key, refuse_unknown, with_overrides
from pycore.scenario import Scenario

QUANTIZATION_FIELDS: Final = ("quantization_config", "compression_config")


@cache
def catalogue() -> dict[str, dict[str, object]]:
    """Every model's row, by id."""
    return {str(row["id"]): row for row in rows("models")}


def model_of(scenario: Scenario) -> Model:
    """The model that a scenario serves: numbers overridden, and towers left out, where asked."""
    model = whole_model_of(scenario)
    return without_towers(model) if scenario.language_model_only else model


def whole_model_of(scenario: Scenario) -> Model:
    """The model that a scenario names or gives, its overridden numbers included."""
    overrides = json.dumps(scenario.overrides, sort_keys=True) if scenario.overrides else ""
    if scenario.model is not None and scenario.config is not None:
        raise InvalidRequest("model", "conflict", "give a model or a config, not both")
    if scenario.config is not None:
        return model_from_text(scenario.config, overrides, scenario.hf_quant_config or "")
    if scenario.model is None:
        raise InvalidRequest("model", "missing", "name a model, or give a config.json")
    if scenario.hf_quant_config is not None:
        raise InvalidRequest(
            "hf_quant_config", "conflict", "hf_quant_config goes with a config, not with a model"
        )
    return model_from_catalogue(scenario.model, overrides)


@lru_cache(maxsize=64)
def model_from_catalogue(model_id: str, overrides: str) -> Model:
    """A model of the catalogue, with ``overrides`` (JSON text) applied to its config."""
    row = catalogue().get(model_id)
    if row is None:
        raise InvalidRequest(
            "model",
            "unknown_choice",
            f"no model is called {model_id[:80]!r}",
            [*catalogue()],
        )
    config = row["config"]
    if not isinstance(config, dict):
        raise TypeError(model_id)
    beside = row.get("hf_quant_config")
    if isinstance(beside, dict):
        config = with_hf_quant_config(config, beside)
    return read_with(config, overrides, str(row["name"]))


@lru_cache(maxsize=32)
def model_from_text(text: str, overrides: str, hf_quant_config: str = "") -> Model:
    """The model of a config.json's text, and of hf_quant_config.json's where there is one."""
    config = parse_config_text(text)
    if not hf_quant_config:
        return read_with(config, overrides, "")
    beside = parse_config_text(hf_quant_config, "hf_quant_config")
    try:
        return read_with(with_hf_quant_config(config, beside), overrides, "")
    except InvalidRequest as error:
        if "quantization_config" not in config:
            error.field = error.field.replace("config.quantization_config", "hf_quant_config", 1)
        raise


def read_with(config: dict[str, object], overrides: str, name: str) -> Model:
    """A model with some of its fields changed; errors name the request's own key."""
    if not overrides:
        return read_model(config, name)
    changes = json.loads(overrides)
    reader = ConfigReader(with_overrides(config, changes))
    try:
        model = read_from(reader, name)
    except InvalidRequest as error:
        refuse_unknown(changes, config, reader, asked_without(config))
        raise first_error(config, changes, error) from None
    refuse_unknown(changes, config, reader, asked_without(config))
    idle = tuple(field for field in changes if is_idle(config, changes, field, model))
    return replace(model, idle_overrides=idle) if idle else model


def asked_without(config: dict[str, object]) -> ConfigReader:
    """The reader of a config with no field changed, once it has asked what it asks."""
    reader = ConfigReader(config)
    with suppress(InvalidRequest):
        read_from(reader)
    return reader


def first_error(
    config: dict[str, object], changes: dict[str, object], error: InvalidRequest
) -> InvalidRequest:
    """The error of the first change with which the config cannot be read, under its own key.

    ``error`` is that of all of them. Where the config cannot be read as it is, no change is at
    fault, unless the error names one.
    """
    error.field = own_key(error.field, changes) or error.field
    try:
        read_model(config)
    except InvalidRequest:
        return error
    made: dict[str, object] = {}
    for field, value in changes.items():
        made[field] = value
        try:
            read_model(with_overrides(config, made))
        except InvalidRequest as found:
            found.field = own_key(found.field, made) or field
            return found
    return error


def is_idle(
    config: dict[str, object], changes: dict[str, object], field: str, model: Model
) -> bool:
    """Whether ``model`` would be the same without one of the changes, which does change a number.

    Some configs say a number in other words: Nemotron-H's layers stand in a pattern. How weights
    are quantised is not compared, so what changes that is never called idle.
    """
    if field in QUANTIZATION_FIELDS:
        return False
    others = {name: value for name, value in changes.items() if name != field}
    before = with_overrides(config, others)
    if before == with_overrides(config, changes):
        return False
    try:
        return is_same(read_model(before, model.name), model)
    except InvalidRequest:
        return False
