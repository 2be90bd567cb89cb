"""What the answer to ``size`` holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pycore.engine.refusals import Refusal
from pycore.sizing.ledger import Figure

Verdict = Literal["fits", "tight", "refused", "does_not_fit"]


@dataclass(frozen=True, slots=True)
class StageBar:
    """One GPU of a pipeline stage, as the page draws it [bytes]."""

    stage: int
    num_ranks: int
    total_bytes: int
    budget_bytes: int
    weights_bytes: int
    cuda_graph_bytes: int
    activation_bytes: int
    non_torch_bytes: int
    kv_cache_in_use_bytes: int
    kv_cache_free_bytes: int
    outside_budget_bytes: int
    over_budget_bytes: int


@dataclass(frozen=True, slots=True)
class SizeResult:
    """The answer to ``size``. Bytes are of the rank that decides; null is what cannot be known."""

    verdict: Verdict
    starts: bool
    reason: Mapping[str, object]
    refusals: tuple[Refusal, ...]
    model_name: str
    model_limit_tokens: int
    num_accelerators: int
    num_parameters: int
    num_active_parameters: int
    weights_bytes_per_rank: int | None
    weights_bytes_by_stage: tuple[int, ...] | None
    loaded_weights_bytes_per_rank: int | None
    total_bytes: int
    requested_bytes: int
    activation_bytes: int | None
    cuda_graph_bytes: int | None
    non_torch_bytes: int | None
    available_kv_cache_bytes: int | None
    kv_cache_bytes_per_token_per_rank: int | float | None
    block_size: int | None
    kv_cache_bytes_per_block: int | None
    num_gpu_blocks: int | None
    max_model_len: int
    kv_cache_size_tokens: int | None
    kv_cache_max_concurrency: float | None
    needed_kv_cache_bytes: int | None
    estimated_max_model_len: int | None
    longest_request_tokens: int | None
    max_concurrency_for_workload: float | None
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    memory_by_stage: tuple[StageBar, ...] = ()
    architecture: Mapping[str, object] = field(default_factory=dict)
    chosen: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[Mapping[str, str], ...] = ()
    figures: tuple[Figure, ...] | None = None
