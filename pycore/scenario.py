"""What is asked: one model on one kind of accelerator, deployed one way, under one load.

A ``Scenario`` is a request once it has been read. Its fields are the contract's keys: the same
word in Python, JSON, the form and the link. None means "as the engine would choose".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures of a real run that replace the estimated ones, all per GPU [bytes]."""

    weights_bytes_per_rank: int | None = None
    """What the engine reported after loading."""
    activation_bytes: int | None = None
    """The activation peak of the profiling run."""
    cuda_graph_bytes: int | None = None
    """What the engine set aside for CUDA graphs."""
    non_torch_bytes: int | None = None
    """NCCL, cuBLAS and other memory outside the tensor library."""
    available_kv_cache_bytes: int | None = None
    """What was left for the KV cache; replaces the whole budget."""
    total_bytes: int | None = None
    """The accelerator's memory as the driver reports it."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One deployment to be sized."""

    ask: str = "size"
    """The question: size, knobs, frontier, model, catalogue, check_run or watch."""
    text: str | None = None
    """A pasted log, /metrics page, load report, nvidia-smi output or error, for check_run."""
    model: str | None = None
    """A model of the catalogue, by its id."""
    config: str | None = None
    """The text of a config.json, instead of a model of the catalogue."""
    hf_quant_config: str | None = None
    """The text of hf_quant_config.json, where a checkpoint has one."""
    checkpoint_bytes: int | None = None
    """Bytes of the checkpoint's files, to hold the computed weights against."""
    accelerator: str | None = None
    """An accelerator of the catalogue, by its id."""
    accelerator_total_bytes: int | None = None
    """Memory of an accelerator that is not in the catalogue, as its driver reports it [bytes]."""
    accelerators_per_node: int | None = None
    """Accelerators that one node has."""
    accelerator_free_bytes: int | None = None
    """Memory that is free when the engine starts [bytes]."""
    tensor_parallel_size: int = 1
    """Ranks that share every layer."""
    pipeline_parallel_size: int = 1
    """Stages that the layers are dealt to."""
    data_parallel_size: int = 1
    """Replicas of the whole."""
    decode_context_parallel_size: int = 1
    """Ranks of the tensor-parallel group that share one request's tokens."""
    enable_expert_parallel: bool = False
    """Whole experts on each rank instead of a slice of each."""
    dtype: str = "auto"
    """Element type of weights and activations."""
    quantization: str | None = None
    """Quantise the weights when loading; null: the checkpoint's own form."""
    kv_cache_dtype: str = "auto"
    """Element type of the KV cache."""
    mamba_ssm_cache_dtype: str = "auto"
    """Element type of the state that Mamba layers keep."""
    block_size: int | None = None
    """Tokens of one KV block."""
    language_model_only: bool = False
    """Leave out a multimodal checkpoint's vision and audio towers."""
    engine: str = "vllm"
    """The engine."""
    engine_version: str = "0.33.0"
    """The engine's version."""
    gpu_memory_utilization: float | None = None
    """Share of an accelerator's memory that the engine may use."""
    kv_cache_memory_bytes: int | None = None
    """The KV pool's size per GPU, instead of what profiling leaves [bytes]."""
    max_model_len: int | str | None = None
    """Tokens of the longest request; "auto" lowers it to what fits."""
    max_num_seqs: int | None = None
    """Requests that are scheduled at once."""
    max_num_batched_tokens: int | None = None
    """Tokens that one step processes."""
    enforce_eager: bool = False
    """Do without CUDA graphs."""
    enable_prefix_caching: bool | None = None
    """Keep the KV blocks of past requests for reuse; null: as the version does for the model."""
    disable_hybrid_kv_cache_manager: bool = False
    """Size every layer's cache as if it kept all tokens."""
    input_tokens: int = 4096
    """Tokens of a request's prompt."""
    output_tokens: int = 4096
    """Tokens that a request generates."""
    concurrency: int = 4
    """Requests that should be served at once, over all replicas."""
    figures: bool = False
    """Whether the answer carries every figure's formula, inputs and source."""
    measured: Measured = Measured()
    """Figures of a real run."""
    overrides: Mapping[str, object] = field(default_factory=dict)
    """The model's own numbers, changed: any field of its config.json under that field's name."""
