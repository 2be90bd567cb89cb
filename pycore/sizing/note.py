"""A note: what a reader should know before trusting the figures of an answer."""

from dataclasses import dataclass
from typing import Literal

SizeNoteKind = Literal[
    "assumed_total_bytes",
    "assumed_generation",
    "rocm_kernels",
    "reconstructed_config",
    "defaulted_fields",
    "overrides_without_effect",
    "quantization_ignored",
    "version_not_established",
    "older_cache_layout",
    "workload_longer_than_max_model_len",
    "checkpoint_disagrees",
    "warm_up_outside_budget",
    "may_be_refused",
]
RunNoteKind = Literal[
    "nothing_to_hold_it_against",
    "cannot_be_sized",
    "other_engine",
    "setting_not_used",
    "model_taken",
    "model_not_known",
    "several_accelerators",
    "accelerator_by_memory",
    "accelerator_not_known",
    "version_not_known",
    "not_the_scenario",
    "terms_not_printed",
    "scenario_assumed",
    "refusal_expected",
]


@dataclass(frozen=True, slots=True)
class Note:
    """One thing to know before trusting the figures."""

    kind: SizeNoteKind | RunNoteKind
    """Which thing, as one word."""
    message: str
    """A sentence with this scenario's numbers."""
