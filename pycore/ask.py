"""What there is to choose from, and what a config.json says: two questions besides sizing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pycore.data import rows
from pycore.decide.measured_terms import terms_voided_by_field
from pycore.engine.kv.dtypes import KV_CACHE_DTYPES
from pycore.engine.versions import CHOICES
from pycore.errors import InvalidRequest
from pycore.model.catalogue import catalogue as models
from pycore.model.catalogue import model_from_catalogue, model_of
from pycore.model.model import Model, num_active_parameters, num_parameters
from pycore.model.resolved_modules import reduced_config
from pycore.request import QUANTIZATIONS
from pycore.scenario import Scenario

DEFAULT_REQUEST = {
    "model": "llama-3.3-70b-instruct",
    "accelerator": "a100-pcie-80gb",
    "tensor_parallel_size": 2,
    "input_tokens": 4096,
    "output_tokens": 4096,
    "concurrency": 4,
    "max_model_len": 32768,
}


@dataclass(frozen=True, slots=True)
class ModelRead:
    """The answer to ``model``: what Napkin reads in a config.json."""

    model_name: str
    """The model's name, or its class where only a config was given."""
    model_type: str
    """The class that the engine runs."""
    architecture: Mapping[str, object]
    """The model's own numbers under Hugging Face's names; a request may override each."""
    config: Mapping[str, object]
    """The fields that the config was read for: all that is needed to ask again."""
    num_parameters: int
    """Parameters of the whole model, as its card counts them."""
    num_active_parameters: int
    """Parameters that one token passes through."""
    defaulted: Mapping[str, object]
    """Fields that the config leaves out, with the value that transformers itself would use."""


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model of the catalogue."""

    id: str
    """What a request's ``model`` calls it."""
    name: str
    """Its name for people."""
    hf_id: str
    """Its name on the Hugging Face hub."""
    num_parameters: int
    """Parameters of the whole model, as its card counts them."""
    summary: str
    """Layers, experts and how its checkpoint is kept, in a few words."""


@dataclass(frozen=True, slots=True)
class AcceleratorEntry:
    """An accelerator of the catalogue."""

    id: str
    """What a request's ``accelerator`` calls it."""
    name: str
    """Its name for people."""
    vendor: str
    """Who makes it."""
    total_bytes: int | None
    """Its memory as its driver reports it [bytes]."""
    basis: str | None
    """Whether that was measured or is assumed."""
    known: bool
    """Whether it can be sized."""
    accelerators_per_node: int | None
    """How many one node has, where that is always the same."""
    reason: str | None = None
    """Why it cannot be sized; null where it can."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The answer to ``catalogue``: what a request may name."""

    models: tuple[ModelEntry, ...]
    """The models that can be sized."""
    accelerators: tuple[AcceleratorEntry, ...]
    """The accelerators, also those that cannot be sized."""
    engine_versions: tuple[str, ...]
    """The engine's versions, the newest first."""
    kv_cache_dtypes: tuple[str, ...]
    """What ``kv_cache_dtype`` may be."""
    quantizations: tuple[str, ...]
    """What ``quantization`` may be."""
    examples: tuple[Mapping[str, object], ...]
    """Well-known deployments: a name, a summary, the request and its source."""
    defaults: Mapping[str, object]
    """The request that the page begins with."""
    voids: Mapping[str, list[str]]
    """For each field of a request: the ``measured`` terms that no longer hold once it changes."""


def model(scenario: Scenario) -> ModelRead:
    """What Napkin reads in a model: its numbers, its parameters, and the fields it was read for."""
    found = model_of(scenario)
    return ModelRead(
        model_name=found.name,
        model_type=found.architecture,
        architecture=found.architecture_numbers,
        config=reduced_config(found),
        num_parameters=num_parameters(found),
        num_active_parameters=num_active_parameters(found),
        defaulted=found.defaulted,
    )


def catalogue(scenario: Scenario) -> Catalogue:
    """The models, accelerators, versions and element types that a request may name."""
    del scenario
    return Catalogue(
        models=tuple(entry for row in models().values() if (entry := model_entry(row))),
        accelerators=tuple(accelerator_entry(row) for row in rows("accelerators")),
        engine_versions=tuple(reversed(CHOICES)),
        kv_cache_dtypes=tuple(KV_CACHE_DTYPES),
        quantizations=QUANTIZATIONS,
        examples=tuple(rows("examples")),
        defaults=DEFAULT_REQUEST,
        voids=terms_voided_by_field(),
    )


def model_entry(row: dict[str, object]) -> ModelEntry | None:
    """A model that can be sized, as the page lists it; None for one that cannot yet."""
    try:
        found = model_from_catalogue(str(row["id"]), "")
    except InvalidRequest:
        return None
    return ModelEntry(
        id=str(row["id"]),
        name=str(row["name"]),
        hf_id=str(row["hf_id"]),
        num_parameters=num_parameters(found),
        summary=summary(found),
    )


def summary(found: Model) -> str:
    """A model in a few words: experts and how its checkpoint is kept."""
    numbers = found.architecture_numbers
    experts = numbers.get("num_experts")
    parts = [f"{numbers['num_hidden_layers']} layers"]
    if experts:
        parts.append(f"{experts} experts")
    parts.append(found.quantization.method if found.quantization else found.dtype)
    return ", ".join(parts)


def accelerator_entry(row: dict[str, Any]) -> AcceleratorEntry:
    """An accelerator as the page lists it."""
    return AcceleratorEntry(
        id=row["id"],
        name=row["name"],
        vendor=row["vendor"],
        total_bytes=row["total_bytes"],
        basis=row["total_basis"],
        known=bool(row["total_bytes"]),
        accelerators_per_node=row["accelerators_per_node"],
        reason=None if row["total_bytes"] else row["unknown_reason"],
    )
