"""What each word of the contract means: kinds of refusals, notes, errors and failures, for people."""

from collections.abc import Mapping
from typing import Final

from pycore.engine.refusals.refusal import RefusalKind
from pycore.errors import Reason
from pycore.evidence.reading.readings import OtherErrorKind
from pycore.sizing.note import RunNoteKind, SizeNoteKind

REFUSALS: Final[Mapping[RefusalKind, str]] = {
    "indivisible_heads": "Tensor parallelism does not divide the attention heads.",
    "indivisible_kv_heads": "Key-value heads can be neither split over the ranks nor repeated evenly.",
    "unaligned_quantised_shard": "A rank's share of a quantised matrix cuts through a group or block of its scales.",
    "indivisible_other": "Another size is not divided: a vocabulary, a projection, groups of states, experts.",
    "context_parallel": "Decode context parallelism that the ranks, the heads or the windows do not allow.",
    "pipeline_parallel": "More pipeline stages than layers, or a model that cannot be dealt to stages.",
    "too_many_accelerators": "More tensor-parallel ranks than `accelerators_per_node`.",
    "weights_exceed_budget": "The weights alone take more than the engine may use.",
    "no_memory_for_kv_cache": "Weights and the fixed terms leave nothing for the KV cache.",
    "kv_cache_too_small": "The pool does not hold one request of `max_model_len`, or of any length.",
    "free_memory_too_small": "Less memory is free at the start than the engine is to take.",
    "max_model_len_above_model": "`max_model_len` is above what the model was made for.",
    "batched_tokens_too_small": "`max_num_batched_tokens` is below `max_num_seqs`.",
    "dtype_not_on_accelerator": "The GPU does not compute in this element type, or the model's numbers grow out of it.",
    "quantisation_not_on_accelerator": "The GPU has no kernel for the quantised form.",
    "unsupported_quantisation": "This version does not take the quantised form at all, or not with this `quantization`, `dtype` or `kv_cache_dtype`; no other GPU would.",
    "no_attention_backend": "No attention kernel keeps such a cache on this GPU.",
    "unsupported_architecture": "This version of the engine does not run the model's class, or not in this way.",
}
SIZE_NOTES: Final[Mapping[SizeNoteKind, str]] = {
    "assumed_total_bytes": "The GPU's memory is assumed: no public log prints it.",
    "assumed_generation": "Of the GPU only the memory is given: all else is taken to be an H100's.",
    "rocm_kernels": "AMD's attention kernels depend on a switch that no request has.",
    "reconstructed_config": "The catalogue's config is put together from published figures, not the published file.",
    "defaulted_fields": "The config leaves out fields that decide something.",
    "overrides_without_effect": "Fields of the config were changed on which no figure rests.",
    "quantization_ignored": "The checkpoint says that it is quantised, in words that the engine does not see.",
    "version_not_established": "What this version profiles is taken from the versions around it.",
    "older_cache_layout": "Compressed caches are laid out as in vLLM 0.33; this version did it otherwise.",
    "workload_longer_than_max_model_len": "The engine would reject requests of the workload's length.",
    "checkpoint_disagrees": "`checkpoint_bytes` differs from the weights computed from the config.",
    "warm_up_outside_budget": "Starting takes more beyond the budget than is free there.",
    "may_be_refused": "At the low end of the estimates the engine would not start.",
}
RUN_NOTES: Final[Mapping[RunNoteKind, str]] = {
    "nothing_to_hold_it_against": "Neither the text nor the request names a model and a GPU.",
    "cannot_be_sized": "The recognised scenario cannot be read; its failure is told.",
    "other_engine": "The text is not vLLM's: its pool is laid out by other rules.",
    "setting_not_used": "A setting in the text has a value that no request may have.",
    "model_taken": "The model that the text names is taken to be the request's own.",
    "model_not_known": "The model that the text names is not in the catalogue.",
    "several_accelerators": "The text names several kinds of GPU.",
    "accelerator_by_memory": "The GPU was told by the size of its memory.",
    "accelerator_not_known": "No GPU is named, and several kinds have that memory, or none.",
    "version_not_known": "The text names a version of the engine that is not known.",
    "not_the_scenario": "Settings that the text names are not the request's own.",
    "scenario_assumed": "The text names no model or no GPU: the request's own is taken.",
    "refusal_expected": "Napkin sizes the run as one that the engine refuses.",
    "terms_not_printed": "Terms in `measured` of which only the sum is known, from the pool.",
}
ERRORS: Final[Mapping[OtherErrorKind, str]] = {
    "warm_up_out_of_memory": "Sampling was tried out with more requests than there was memory for.",
    "out_of_memory": "An allocation on the GPU failed.",
    "memory_released_while_profiling": "Another process freed memory while it was measured.",
    "sglang_pool_too_small": "SGLang's pool has nothing left of its share.",
    "preempted": "A request was thrown out of a full pool.",
    "shared_memory": "/dev/shm is too small.",
    "disk_full": "The disk is full.",
    "out_of_host_memory": "The container was killed for its memory.",
    "accelerators_not_allocatable": "No node has as many free GPUs.",
    "no_accelerator": "The container sees no GPU.",
    "probe_failed": "A probe of Kubernetes gave up before the engine was up.",
    "gated_model": "The model's files need a token with access.",
    "collectives_failed": "The GPUs could not talk to each other.",
    "driver_too_old": "The driver is older than the CUDA that the engine was built with.",
    "no_kernel_for_accelerator": "The engine was not compiled for this generation of GPUs.",
    "kernel_too_large": "A kernel wants more of a multiprocessor's memory than the GPU has.",
    "illegal_memory_access": "A kernel went out of its bounds.",
    "engine_died": "The engine is gone; its cause stands elsewhere.",
}
REASONS: Final[Mapping[Reason, str]] = {
    "not_json": "The line, the config or hf_quant_config is not JSON in UTF-8, or is nested too deeply.",
    "unknown_field": "The key is neither the contract's nor one of this model's config.",
    "repeated_key": "A key stands twice in one object: which was meant is not known.",
    "missing": "A field that is needed is not there.",
    "conflict": "Two fields exclude each other.",
    "wrong_type": "The value is of the wrong type, or cannot be what the field should be.",
    "out_of_range": "The number is out of its range.",
    "unknown_choice": "The word is none of the choices.",
    "engine_figures_unknown": "An accelerator for which the engine's figures are not known.",
    "unsupported_architecture": "A model class that cannot be sized yet.",
    "unsupported_quantization": "A quantised form that cannot be sized yet.",
    "internal_error": "Napkin itself failed; only the command line answers so.",
}
VERDICTS: Final[Mapping[str, str]] = {
    "room_to_spare": "It fits. `available_kv_cache_bytes`.",
    "pool_small": "It starts; the pool is under a tenth of the GPU. `available_kv_cache_bytes`.",
    "concurrency_short": "It starts, and holds fewer requests than were asked for. `max_concurrency_for_workload`, `concurrency`, both per replica.",
    "weights_exceed_budget": "It does not fit. `weights_bytes`, `requested_bytes`.",
    "fixed_terms_exceed_budget": "It does not fit. `short_bytes`.",
    "kv_cache_too_small": "It is refused. `needed_kv_cache_bytes`, `available_kv_cache_bytes`, `max_model_len`.",
    "any other": "It is refused before a byte is loaded: the kind of the first refusal.",
}
