"""From a record of a real start to the request that predicts it, or to why it cannot be one.

A model is one of the catalogue, or one of ``configs.jsonl``: a catalogue's config with a few
numbers changed, or a config written out.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from pycore.data import rows
from pycore.hardware.accelerators import catalogue as accelerators
from tests.runs.records import RunRecord

CONFIGS: Final = Path(__file__).parent / "configs.jsonl"
SET_ASIDE: Final = Path(__file__).parent / "set_aside.jsonl"
GIB: Final = 1 << 30
SIZED_VERSIONS: Final = (0, 10), (0, 33)
ESTIMATES_GRAPHS: Final = (0, 19)
# Traits of a record that the contract has no words for: what was measured is of something else.
NOT_SIZED: Final = {
    "custom_engine": "a build of somebody's own",
    "speculative": "a draft model, which the request cannot name",
    "lora": "LoRA slots, which the request cannot name",
    "pooling": "a pooling model, which runs no sampler",
    "accelerator_inferred": "its GPU was inferred from the figures themselves",
}


@cache
def catalogue_configs() -> dict[str, dict[str, Any]]:
    """The catalogue's configs, by Hugging Face id in lower case and by the catalogue's own id."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows("models"):
        config = row["config"]
        assert isinstance(config, dict)
        found[str(row["hf_id"]).lower()] = config
        found[str(row["id"])] = config
    return found


@cache
def own_configs() -> dict[str, dict[str, Any]]:
    """The configs of models that records name and the catalogue lacks."""
    found = {}
    for line in CONFIGS.read_text(encoding="utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        base = catalogue_configs().get(str(row.get("base")), {})
        changes: dict[str, Any] = row["changes"] if "changes" in row else row["config"]
        config = merged(base, changes)
        found[str(row["model"]).lower()] = config
    return found


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A config with some of its numbers changed, in its parts too."""
    result = dict(base)
    for key, value in changes.items():
        part = result.get(key)
        if isinstance(part, dict) and isinstance(value, dict):
            result[key] = merged(part, value)
        else:
            result[key] = value
    return result


def config_of(model: str) -> dict[str, Any] | None:
    """The config of a model by the name that a record gives it."""
    name = model.lower()
    return own_configs().get(name) or catalogue_configs().get(name)


@cache
def set_aside() -> dict[str, str]:
    """Records that were started with flags that the request cannot name, by id."""
    lines = SET_ASIDE.read_text(encoding="utf-8").splitlines()
    return {row["id"]: str(row["reason"]) for row in map(json.loads, lines)}


def unusable(record: RunRecord) -> str | None:
    """Why a record cannot be predicted; None where it can."""
    if record.id in set_aside():
        return set_aside()[record.id]
    if record.engine != "vllm":
        return "another engine"
    version = record.version
    if version is None:
        return "its version is not known"
    if not SIZED_VERSIONS[0] <= version <= SIZED_VERSIONS[1]:
        return "its version is older than those that Napkin knows"
    for trait in NOT_SIZED:
        if trait in record.traits:
            return NOT_SIZED[trait]
    if config_of(record.model) is None:
        return "no config.json at hand"
    return unstated(record)


def tells_of_graphs(record: RunRecord) -> bool:
    """Whether at least the estimate for CUDA graphs of a record can be held against Napkin's."""
    known = record.version is not None and record.version >= ESTIMATES_GRAPHS
    plain = not record.traits & {"custom_engine", "speculative", "accelerator_inferred"}
    return (
        known
        and plain
        and record.engine == "vllm"
        and "cuda_graph_estimated_gib" in record.measured
        and config_of(record.model) is not None
        and accelerator_of(record) is not None
    )


def unstated(record: RunRecord) -> str | None:
    """What of a record's configuration is not stated."""
    request = record.request
    if accelerator_of(record) is None:
        return "its GPU is not known"
    if request.get("max_model_len") is None:
        return "its max_model_len is not known"
    if request.get("gpu_memory_utilization") is None and "default_utilization" not in record.traits:
        return "its gpu_memory_utilization is not known"
    if "available_kv_cache_gib" not in record.measured:
        return "it does not say what was left for the KV cache"
    if record.measured["available_kv_cache_gib"] <= 0:
        return "nothing was left for the KV cache"
    return None


def accelerator_of(record: RunRecord) -> dict[str, object] | None:
    """The request's accelerator: of the catalogue, or by the total that was printed."""
    known = accelerators().get(record.accelerator or "")
    if known is not None and known["total_bytes"]:
        return {"accelerator": record.accelerator}
    total = record.measured.get("total_gib")
    return {"accelerator_total_bytes": round(total * GIB)} if total else None


def request_of(record: RunRecord) -> dict[str, Any]:
    """The request that predicts a record."""
    version = ".".join((record.engine_version or "").split(".")[:3])
    asked = {key: value for key, value in record.request.items() if key != "quantization"}
    return {
        **asked,
        **(accelerator_of(record) or {}),
        "config": config_of(record.model),
        "engine_version": version,
        **({"quantization": q} if (q := online_quantization(record)) else {}),
    }


def online_quantization(record: RunRecord) -> str | None:
    """How weights were quantised while loading, where the checkpoint was not."""
    config = config_of(record.model) or {}
    stated = record.request.get("quantization")
    return None if config.get("quantization_config") else stated
