"""The form of every matrix of a model: what a quantisation says of each module, asked once."""

from collections.abc import Mapping
from functools import lru_cache

from pycore.model.layers import Layer
from pycore.model.model import Model, distinct_layers
from pycore.model.module_names import NUMBERED, Module
from pycore.model.parameters import layer_tensors
from pycore.model.quantization.methods import Quantization
from pycore.model.quantization.rule import Choose
from pycore.model.quantization.weight_formats import WeightFormat
from pycore.model.tensors import Linear, Tensor

Forms = Mapping[str, WeightFormat]
"""The form of a layer's linears by name; those that keep the model's dtype are left out."""


def module_of(linear: Linear, prefix: str = "", layer: int | None = None) -> Module:
    """The engine's module that a linear belongs to: routed experts of a layer are one module."""
    if linear.num_experts:
        return Module(prefix + linear.name.rpartition(".")[0], "experts", layer)
    return Module(prefix + linear.name, "linear", layer)


@lru_cache(maxsize=256)
def chooser(model: Model, quantization: Quantization) -> Choose:
    """The quantisation's choice under this model's names."""
    return quantization.rule(model.names)


@lru_cache(maxsize=256)
def layer_forms(model: Model, quantization: Quantization | None) -> tuple[Forms, ...]:
    """The forms of each layer; layers that are kept alike share one mapping."""
    if quantization is None:
        nothing: Forms = {}
        return (nothing,) * len(model.layers)
    choose = chooser(model, quantization)
    linears = {layer: quantizable(layer, model.hidden_size) for layer in distinct_layers(model)}
    shared: dict[tuple[tuple[str, WeightFormat], ...], Forms] = {}
    found = []
    for index, layer in enumerate(model.layers):
        prefix = f"{model.names.layers}.{index}."
        forms = tuple(
            (linear.name, form)
            for linear in linears[layer]
            if (form := choose(module_of(linear, prefix, index))) is not None
        )
        found.append(shared.setdefault(forms, dict(forms)))
    return tuple(found)


def quantizable(layer: Layer, hidden_size: int) -> tuple[Linear, ...]:
    """The linears of a layer that a quantisation may concern."""
    return tuple(
        tensor
        for tensor in layer_tensors(layer, hidden_size)
        if isinstance(tensor, Linear) and tensor.quantizable
    )


def head_form(model: Model, quantization: Quantization | None) -> WeightFormat | None:
    """The form of the head; a head tied to the embedding keeps the embedding's."""
    if quantization is None or model.tie_word_embeddings:
        return None
    return chooser(model, quantization)(Module(model.names.head, "head"))


def outer_form(
    model: Model, quantization: Quantization | None, tensor: Tensor
) -> WeightFormat | None:
    """The form of a tensor that stands around the layers."""
    if quantization is None or not isinstance(tensor, Linear) or not tensor.quantizable:
        return None
    return chooser(model, quantization)(outer_module(tensor))


def outer_module(linear: Linear) -> Module:
    """The engine's module of a linear around the layers; of a tower's blocks the first speaks."""
    number = NUMBERED.search(linear.name)
    return module_of(linear, layer=None if number is None else int(number[1]))
