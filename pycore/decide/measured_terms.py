"""What a run has measured, carried to a scenario that differs from it: what a change voids.

A measured figure holds for the deployment that it was read from. Changing what it rests on makes
it another deployment's: the figure is then computed again, and the others stay.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Final

from pycore.scenario import Measured, Scenario
from pycore.sizing.size import size

FIELDS: Final = frozenset(item.name for item in fields(Scenario))
THE_MODEL: Final = frozenset(
    {"model", "config", "hf_quant_config", "dtype", "quantization", "language_model_only"}
)
RANKS: Final = frozenset(
    {
        "tensor_parallel_size",
        "pipeline_parallel_size",
        "data_parallel_size",
        "enable_expert_parallel",
    }
)
A_STEP: Final = frozenset({"max_num_seqs", "max_num_batched_tokens"})
THE_ENGINE: Final = frozenset({"engine_version", "enforce_eager"})
THE_GPU: Final = frozenset({"accelerator", "accelerator_total_bytes"})

MOVES_THE_POOL: Final = A_STEP | {"enforce_eager", "gpu_memory_utilization"}
"""What a measured pool follows by the estimates; all else that it rests on makes it another's."""

RESTS_ON: Final[Mapping[str, frozenset[str]]] = {
    "weights_bytes_per_rank": THE_MODEL | RANKS,
    "activation_bytes": THE_MODEL | RANKS | A_STEP | THE_ENGINE | THE_GPU,
    "cuda_graph_bytes": THE_MODEL | RANKS | A_STEP | THE_ENGINE | THE_GPU,
    "non_torch_bytes": RANKS | THE_ENGINE | THE_GPU,
    "available_kv_cache_bytes": THE_MODEL
    | RANKS
    | A_STEP
    | THE_ENGINE
    | THE_GPU
    | {"kv_cache_memory_bytes"},
    "total_bytes": THE_GPU,
}
"""Of each measured term: the fields of a request that it was measured under."""


def voided(field: str) -> tuple[str, ...]:
    """The measured terms that a change of one field voids; a number of the model's is its config."""
    cause = field if field in FIELDS else "config"
    return tuple(term for term, causes in RESTS_ON.items() if cause in causes)


def still_measured(measured: Measured, changed: Iterable[str]) -> Measured:
    """What is left of a run's figures once some fields of its scenario have changed."""
    gone = {term for field in changed for term in voided(field)}
    return replace(measured, **dict.fromkeys(gone))


def carried(scenario: Scenario, changes: Mapping[str, object]) -> Mapping[str, object]:
    """``changes`` of a scenario, together with what they leave of its measured terms.

    A pool that was measured follows to another batch, another share of the GPU, or graphs left
    out: by as much as the estimates move, so that what they missed of the run is still missed.
    """
    kept = still_measured(scenario.measured, changes)
    pool = scenario.measured.available_kv_cache_bytes
    if pool is not None and changes.keys() <= MOVES_THE_POOL:
        moved = max(0, pool + gained_bytes(scenario, changes))
        kept = replace(kept, available_kv_cache_bytes=moved)
    return changes if kept == scenario.measured else {**changes, "measured": kept}


def gained_bytes(scenario: Scenario, changes: Mapping[str, object]) -> int:
    """What the estimates leave more for the pool after ``changes``; 0 where they do not tell."""
    total = Measured(total_bytes=scenario.measured.total_bytes)
    bare = replace(scenario, figures=False, measured=total)
    before = size(bare).available_kv_cache_bytes
    after = size(replace(bare, **changes)).available_kv_cache_bytes  # type: ignore[arg-type]  # our own fields
    return 0 if before is None or after is None else after - before


def terms_voided_by_field() -> dict[str, list[str]]:
    """For each field of a request that voids any: the measured terms.

    A pool that does not grow with the share of the GPU, as ``carried`` lets it, goes with it.
    """
    causes = sorted(frozenset[str]().union(*RESTS_ON.values()))
    found = {field: list(voided(field)) for field in causes}
    return {**found, "gpu_memory_utilization": ["available_kv_cache_bytes"]}
