"""What there is to choose from, and what a config.json says: two questions besides sizing."""

from pycore.data import rows
from pycore.decide.measured_terms import terms_voided_by_field
from pycore.engine.kv.dtypes import KV_CACHE_DTYPES
from pycore.engine.versions import VERSIONS
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


def model(scenario: Scenario) -> dict[str, object]:
    """What Napkin reads in a model: its numbers, its parameters, and the fields it was read for."""
    found = model_of(scenario)
    return {
        "model_name": found.name,
        "model_type": found.architecture,
        "architecture": found.architecture_numbers,
        "config": reduced_config(found),
        "num_parameters": num_parameters(found),
        "num_active_parameters": num_active_parameters(found),
        "defaulted": found.defaulted,
    }


def catalogue(scenario: Scenario) -> dict[str, object]:
    """The models, accelerators, versions and element types that a request may name."""
    del scenario
    return {
        "models": [entry for row in models().values() if (entry := model_entry(row))],
        "accelerators": [accelerator_entry(row) for row in rows("accelerators")],
        "engine_versions": [
            f"{major}.{minor}.0" for major, minor in (v.version for v in reversed(VERSIONS))
        ],
        "kv_cache_dtypes": list(KV_CACHE_DTYPES),
        "quantizations": list(QUANTIZATIONS),
        "examples": list(rows("examples")),
        "defaults": DEFAULT_REQUEST,
        "voids": terms_voided_by_field(),
    }


def model_entry(row: dict[str, object]) -> dict[str, object] | None:
    """A model that can be sized, as the page lists it; None for one that cannot yet."""
    try:
        found = model_from_catalogue(str(row["id"]), "")
    except InvalidRequest:
        return None
    return {
        "id": row["id"],
        "name": row["name"],
        "hf_id": row["hf_id"],
        "num_parameters": num_parameters(found),
        "summary": summary(found),
    }


def summary(found: Model) -> str:
    """A model in a few words: experts and how its checkpoint is kept."""
    numbers = found.architecture_numbers
    experts = numbers.get("num_experts")
    parts = [f"{numbers['num_hidden_layers']} layers"]
    if experts:
        parts.append(f"{experts} experts")
    parts.append(found.quantization.method if found.quantization else found.dtype)
    return ", ".join(parts)


def accelerator_entry(row: dict[str, object]) -> dict[str, object]:
    """An accelerator as the page lists it."""
    entry = {
        "id": row["id"],
        "name": row["name"],
        "vendor": row["vendor"],
        "total_bytes": row["total_bytes"],
        "basis": row["total_basis"],
        "known": bool(row["total_bytes"]),
        "accelerators_per_node": row["accelerators_per_node"],
    }
    if not row["total_bytes"]:
        entry["reason"] = row["unknown_reason"]
    return entry
