"""What the answer to ``size`` holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pycore.engine.refusals.refusal import Refusal
from pycore.sizing.contrast import PlainFormula
from pycore.sizing.ledger import Figure
from pycore.sizing.note import Note

Verdict = Literal["fits", "tight", "refused", "does_not_fit"]


@dataclass(frozen=True, slots=True)
class StageBar:
    """One GPU of a pipeline stage, as the page draws it [bytes]."""

    stage: int
    """The pipeline stage, from 0."""
    num_ranks: int
    """GPUs of this stage in one replica; each looks like this one."""
    total_bytes: int
    """The GPU's memory as its driver reports it [bytes]."""
    budget_bytes: int
    """What the engine may use: utilisation times total [bytes]."""
    weights_bytes: int
    """Weights as loaded [bytes]."""
    cuda_graph_bytes: int
    """What CUDA graphs take; estimated [bytes]."""
    activation_bytes: int
    """The activation peak of the profiling run; estimated [bytes]."""
    non_torch_bytes: int
    """NCCL, cuBLAS and other memory outside the tensor library; estimated [bytes]."""
    kv_cache_in_use_bytes: int
    """What the workload's requests take when all are at their full length [bytes]."""
    kv_cache_free_bytes: int
    """The rest of the KV pool [bytes]."""
    outside_budget_bytes: int
    """What the engine leaves alone [bytes]."""
    over_budget_bytes: int
    """By how much the fixed terms exceed the budget; 0 where they fit [bytes]."""


@dataclass(frozen=True, slots=True)
class SizeResult:
    """The answer to ``size``. Bytes are of the rank that decides; null is what cannot be known."""

    verdict: Verdict
    """fits, tight (starts, but short of the concurrency asked for or of a tenth of the GPU), refused, or does_not_fit."""
    starts: bool
    """Whether the engine starts."""
    reason: Mapping[str, object]
    """Why the verdict is what it is: a kind (see below), and the numbers that decided."""
    refusals: tuple[Refusal, ...]
    """Why the engine would not start, each in its own words, with single changes that cure it."""
    model_name: str
    """The model's name, or its class where only a config was given."""
    model_limit_tokens: int
    """The longest request that the model was made for [tokens]."""
    num_accelerators: int
    """GPUs of all stages and replicas: TP × PP × DP."""
    num_parameters: int
    """Parameters of the whole model, as its card counts them."""
    num_active_parameters: int
    """Parameters that one token passes through."""
    weights_bytes_per_rank: int | None
    """Parameters and buffers of the largest rank, as created [bytes]."""
    weights_bytes_by_stage: tuple[int, ...] | None
    """The same for the largest rank of each pipeline stage [bytes]."""
    loaded_weights_bytes_per_rank: int | None
    """What the engine reports after loading; the budget uses it [bytes]."""
    total_bytes: int
    """The GPU's memory as its driver reports it [bytes]."""
    requested_bytes: int
    """What the engine may use of it [bytes]."""
    activation_bytes: int | None
    """The activation peak of the profiling run; estimated [bytes]."""
    cuda_graph_bytes: int | None
    """What CUDA graphs take; estimated [bytes]."""
    non_torch_bytes: int | None
    """NCCL, cuBLAS and other memory outside the tensor library; estimated [bytes]."""
    available_kv_cache_bytes: int | None
    """What is left for the KV cache on the stage that has least [bytes]."""
    kv_cache_bytes_per_token_per_rank: int | float | None
    """What one more token of a long request takes on each GPU; an average, so not always whole [bytes]."""
    num_kv_heads_per_rank: int | None
    """Key-value heads that one GPU keeps of a layer; null without such heads, or where TP does not deal them out."""
    num_kv_head_replicas: int | None
    """GPUs of a replica that keep the same key-value head."""
    block_size: int | None
    """Tokens of one KV block."""
    kv_cache_bytes_for_workload: int | None
    """What one request of input_tokens + output_tokens takes on each GPU [bytes]."""
    kv_cache_bytes_per_block: int | None
    """Bytes of one KV block of all layers, on the stage where it is largest."""
    num_gpu_blocks: int | None
    """Blocks of the pool, on the stage that has fewest; null where the engine refuses."""
    max_model_len: int
    """The longest request that is served [tokens]."""
    kv_cache_size_tokens: int | None
    """What the engine prints as its KV cache size [tokens]; null where it refuses."""
    kv_cache_max_concurrency: float | None
    """What the engine prints as its maximum concurrency at max_model_len; null where it refuses."""
    needed_kv_cache_bytes: int | None
    """What one request of max_model_len takes [bytes]."""
    estimated_max_model_len: int | None
    """The longest request that the engine says would fit, never above max_model_len [tokens]."""
    longest_request_tokens: int | None
    """The longest request that would fit, searched on to the model's own limit [tokens]."""
    max_concurrency_for_workload: float | None
    """Requests of input_tokens + output_tokens that one replica holds at once, no more than max_num_seqs."""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The range, low and high, of every estimated figure and of what follows from it, by its name."""
    memory_by_stage: tuple[StageBar, ...] = ()
    """One GPU of each pipeline stage, in the parts that a bar is drawn from."""
    architecture: Mapping[str, object] = field(default_factory=dict)
    """The model's own numbers under Hugging Face's names; a request may override each."""
    defaulted: Mapping[str, object] = field(default_factory=dict)
    """Fields that the config leaves out, with the value that transformers itself would use."""
    chosen: Mapping[str, object] = field(default_factory=dict)
    """What every choice that was left to the engine became."""
    notes: tuple[Note, ...] = ()
    """What a reader should know before trusting the figures."""
    plain_formula: PlainFormula | None = None
    """What the plain formula would say of one longest request, where it is off, and why."""
    figures: tuple[Figure, ...] | None = None
    """Every figure's formula, inputs, source and basis; only when the request asks for them."""
