"""What of a deployment shapes its KV cache."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """The choices that the specs of a model's layers depend on."""

    dtype: str
    """What the model computes in."""
    compute_capability: tuple[int, int]
    """NVIDIA's; (0, 0), for which none of its rules holds, on AMD's GPUs."""
    max_model_len: int
    tensor_parallel_size: int = 1
    decode_context_parallel_size: int = 1
    kv_cache_dtype: str = "auto"
    block_size: int | None = None
    """None: as the backends like it."""
    enable_prefix_caching: bool = True
    checkpointed_states: tuple[str, ...] = ("kda", "mamba2", "gated_delta")
    """States of which the engine leaves copies inside a prefill."""
    mamba_ssm_cache_dtype: str = "auto"
    use_mm_prefix: bool = False
    cdna_generation: int = 0
    """AMD's generation of CDNA; 0 on NVIDIA's GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """The blocks that the model as a whole was given."""

    block_size: int
    state_page_bytes: int | None = None
    """What states are padded to, so that their page equals the attention's."""
    state_block_size: int
    keeps_prefixes: bool = True
    """Whether states are kept for prefix caching, which takes blocks of its own."""
