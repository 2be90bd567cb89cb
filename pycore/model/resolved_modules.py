"""A quantisation that has been asked about every module, written down small.

Published lists of modules take megabytes. What a model's figures depend on is one answer for each
kind of matrix and run of layers; a config that is to be kept or linked to carries that instead,
and is read back to the same answers.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pycore.model.model import Model
from pycore.model.module_forms import chooser, module_of, outer_module, quantizable
from pycore.model.module_names import Module
from pycore.model.quantization.methods import method_name
from pycore.model.quantization.resolved_table import KEPT, MODULES, ranges_text
from pycore.model.quantization.rule import Quantization
from pycore.model.tensors import Linear

SMALL_ENOUGH: Final = 2048
LISTS: Final = (
    "modules_to_not_convert",
    "ignored_layers",
    "ignore",
    "exclude_modules",
    "quantized_layers",
    "llm_int8_skip_modules",
    "modules_in_block_to_quantize",
    "dynamic",
)


def reduced_config(model: Model) -> dict[str, object]:
    """The fields that the model was read from, its quantisation in as few words as will do."""
    config: dict[str, object] = {"architectures": [model.architecture], **model.config_read}
    quantization = model.quantization
    if quantization is None or quantization.declared is None:
        return config
    fields = quantization.declared.fields
    if len(json.dumps(fields)) <= SMALL_ENOUGH:
        return config
    text = config.get("text_config")
    if isinstance(text, Mapping):
        config["text_config"] = without(text, "quantization_config")
    config.pop("compression_config", None)
    config["quantization_config"] = {
        **dict(short_fields(fields)),
        "quant_method": method_name(quantization.declared),
        MODULES: table_of(model, quantization),
    }
    return config


def without(fields: Mapping[str, object], *names: str) -> dict[str, object]:
    """``fields`` less some of them."""
    return {name: value for name, value in fields.items() if name not in names}


def short_fields(fields: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """What describes the method itself, its lists of modules left out."""
    for name, value in fields.items():
        if name in LISTS:
            continue
        if name == "quantization" and isinstance(value, Mapping):
            yield from short_fields(value)
        elif name == "config_groups" and isinstance(value, Mapping):
            yield name, {key: group_without_targets(group) for key, group in value.items()}
        elif len(json.dumps(value)) <= SMALL_ENOUGH:
            yield name, value


def group_without_targets(group: object) -> object:
    """A group of compressed-tensors without the modules that it is for."""
    return {**group, "targets": []} if isinstance(group, Mapping) else group


def table_of(model: Model, quantization: Quantization) -> dict[str, dict[str, str]]:
    """For each kind of matrix: the layers that have each form, as runs such as 0-2,7."""
    choose = chooser(model, quantization)
    found: dict[str, dict[str, list[int]]] = {}
    for index, layer in enumerate(model.layers):
        prefix = f"{model.names.layers}.{index}."
        for linear in quantizable(layer, model.hidden_size):
            module = module_of(linear, prefix, index)
            name = quantization.name_of(module, choose(module))
            own = found.setdefault(module.name.removeprefix(prefix), {})
            layers = own.setdefault(name, [])
            if layers[-1:] != [index]:
                layers.append(index)
    table = {
        name: {form: ranges_text(layers) for form, layers in own.items()}
        for name, own in found.items()
    }
    for module in outer_modules(model):
        table[module.name] = {quantization.name_of(module, choose(module)): ""}
    return {name: own for name, own in table.items() if set(own) != {KEPT}}


def outer_modules(model: Model) -> Iterable[Module]:
    """The head, and the matrices of towers and projectors."""
    yield Module(model.names.head, "head")
    for outer in model.outer_tensors:
        if isinstance(outer.tensor, Linear) and outer.tensor.quantizable:
            yield outer_module(outer.tensor)
