"""What changed from one version of vLLM to the next, as far as sizing feels it.

One row a version in ``data/engine_versions.jsonl``, read off that version's own code: what it
profiles, what it takes from its budget, and what it prints.
"""

import re
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Final

from pycore.data import rows
from pycore.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class EngineVersion:
    """The sizing facts of one version.

    vLLM has two model runners, the older V1 and V2, which profile and account differently; which
    of them serves a model is in ``v2_runner`` and ``v2_architectures``.
    """

    version: tuple[int, int]
    default_gpu_memory_utilization: float
    sampler: str
    """How the sampler that is profiled finds the best tokens: sort | triton | flashinfer."""
    v2_runner: str
    """Which models V2 serves: never | listed_plain | listed | dense_or_listed | always."""
    cuda_graphs_in_budget: bool
    """Whether V1 takes an estimate for CUDA graphs from the budget."""
    v2_cuda_graphs_in_budget: bool
    v2_profiles_sampler: bool
    """Whether V2 profiles sampling with every parameter set, not greedy alone."""
    v2_profiles_pictures: bool
    benchmarks_embedding: bool
    """Whether the compiler times fused kernels on copies of their inputs, the embedding's too."""
    keeps_expert_workspace: bool
    """Whether routed experts keep the workspace of the largest batch."""
    counts_consumed: bool
    """Whether all that vanished from the GPU counts, not weights and what is outside torch."""
    starts_cublas_first: bool
    """Whether cuBLAS is up before the engine looks at the free memory."""
    blocks_held_back: int
    in_flight_steps: str
    """Steps whose tokens a sliding window keeps: one | by_runner."""
    prints_tokens_of: str
    """What "GPU KV cache size" is computed from: blocks | concurrency."""
    hybrid_prefix_caching: str
    """Whether models that keep states keep prefixes: never | asked (when told to) | default."""
    source: str
    largest_batch_from_gib: int | None = None
    """GPUs from this size on get 16,384 tokens a step."""
    v2_architectures: tuple[str, ...] = ()
    checkpointed_states: tuple[str, ...] = ()
    """States of which a copy is left inside a prefill: kda | mamba2 | gated_delta."""
    established: bool = True
    """False where neither the version's code nor that of both its neighbours says the same."""


def from_row(row: dict[str, Any]) -> EngineVersion:
    """A version from its row."""
    major, minor = str(row["version"]).split(".")
    known = {field.name for field in fields(EngineVersion)}
    return EngineVersion(
        **{
            **{name: value for name, value in row.items() if name in known},
            "version": (int(major), int(minor)),
            "v2_architectures": tuple(row.get("v2_architectures", ())),
            "checkpointed_states": tuple(row.get("checkpointed_states", ())),
        }
    )


VERSIONS: Final = tuple(from_row(row) for row in rows("engine_versions"))
# The first release of 0.20 printed its tokens as 0.19 did; 0.20.1 did no longer.
# Source: vLLM 0.20.0 and 0.20.1, v1/core/kv_cache_utils.py, _report_kv_cache_config.
PRINTED_AS_BEFORE: Final = (0, 20, 0)
OLDEST: Final = VERSIONS[0].version
NEWEST: Final = VERSIONS[-1].version
CHOICES: Final = tuple(f"{facts.version[0]}.{facts.version[1]}.0" for facts in VERSIONS)

# A release, its candidates and builds, and an image's tag: 0.33.0, v0.11.1rc3.dev5+gabc, 0.10.1-x86.
VERSION: Final = (
    r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:\.?(?:a|b|rc|dev|post)\d{1,8})*(?:[+-][\w.-]{1,80})?"
)


def parse_version(text: str) -> tuple[int, int]:
    """Major and minor number of version ``text`` (0.33.0, v0.19.1, 0.26)."""
    major, minor, *_ = numbers_of(text)
    return major, minor


def numbers_of(text: str) -> tuple[int, ...]:
    """The same, and the third number where ``text`` has one, whatever build of it that is."""
    found = re.fullmatch(VERSION, text, re.ASCII)
    if found is None:
        raise InvalidRequest(
            "engine_version", "unknown_choice", f"{text[:40]!r} is not a version", CHOICES
        )
    return tuple(int(number) for number in found.groups() if number is not None)


@lru_cache(maxsize=64)
def find_version(text: str) -> EngineVersion:
    """The facts of version ``text``: its own, or those of the nearest known one below."""
    asked = parse_version(text)
    if not OLDEST <= asked <= NEWEST:
        raise InvalidRequest(
            "engine_version",
            "unknown_choice",
            f"vLLM {text[:40]} is not known: from {CHOICES[0]} to {CHOICES[-1]} are",
            CHOICES,
        )
    found = next(facts for facts in reversed(VERSIONS) if facts.version <= asked)
    if numbers_of(text) == PRINTED_AS_BEFORE:
        return replace(found, prints_tokens_of="blocks")
    return found
