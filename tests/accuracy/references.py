"""Published deployments with a measured pool, beside the records."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pycore.bridge import answer

GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Reference:
    """One published deployment."""

    name: str
    request: dict[str, object]
    pool_gib: float
    versions: tuple[str, ...]


REFERENCES: Final = (
    Reference(
        "R1",
        {
            "model": "llama-3.3-70b-instruct",
            "accelerator": "a100-pcie-80gb",
            "tensor_parallel_size": 2,
            "max_model_len": 131_072,
        },
        5.63,
        ("0.22.0", "0.24.0", "0.26.0", "0.28.0", "0.31.0", "0.33.0"),
    ),
)


def reference_pools(reference: Reference) -> Iterator[tuple[str, float, float, float]]:
    """Version, predicted pool and its range [GiB], by the constants of the moment."""
    for version in reference.versions:
        request = {**reference.request, "engine_version": version}
        result = json.loads(answer(json.dumps(request)))["result"]
        low, high = result["bounds"]["available_kv_cache_bytes"]
        yield version, result["available_kv_cache_bytes"] / GIB, low / GIB, high / GIB
