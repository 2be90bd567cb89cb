"""A refusal: one reason why the engine would not start, in its own words, and what cures it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

RefusalKind = Literal[
    "indivisible_heads",
    "indivisible_kv_heads",
    "unaligned_quantised_shard",
    "indivisible_other",
    "context_parallel",
    "pipeline_parallel",
    "too_many_accelerators",
    "weights_exceed_budget",
    "no_memory_for_kv_cache",
    "kv_cache_too_small",
    "free_memory_too_small",
    "max_model_len_above_model",
    "batched_tokens_too_small",
    "dtype_not_on_accelerator",
    "quantisation_not_on_accelerator",
    "unsupported_quantisation",
    "no_attention_backend",
    "unsupported_architecture",
]


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change, and what the engine does with it; nulls where that was not sized."""

    label: str
    """The change in a few words, as a flag where it is one."""
    changes: Mapping[str, object]
    """The request's fields that it sets; none where the cure is outside the scenario."""
    verdict: str | None = None
    """The verdict with it."""
    max_model_len: int | None = None
    """The longest request that is then served [tokens]."""
    longest_request_tokens: int | None = None
    """The longest request that would then fit [tokens]."""
    max_concurrency_for_workload: float | None = None
    """Requests of the workload's length that are then held at once."""
    num_accelerators: int | None = None
    """GPUs that it takes."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why the engine would not start.

    ``message`` is the engine's own; ``choices`` are values of ``field`` that this rule accepts.
    """

    kind: RefusalKind
    """Which rule was broken, as one word of the contract."""
    message: str
    """The engine's own words, with this scenario's numbers."""
    field: str = ""
    """The request's key that the rule is about."""
    choices: tuple[int, ...] = ()
    """Values of that key which the rule accepts."""
    remedies: tuple[Remedy, ...] = ()
    """Single changes with which the engine starts, cheapest first; see below what none means."""
