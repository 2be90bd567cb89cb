"""Mixers that keep one compressed vector in place of all keys and values (MLA and its heirs)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Indexer:
    """Small keys by which sparse attention chooses the tokens it reads (DeepSeek-V3.2, GLM-5)."""

    index_n_heads: int
    index_head_dim: int
    index_topk: int
    keeps_keys: bool = True
    """False in layers that reuse the choice of an earlier one, and so keep no keys (GLM-5.2)."""


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """Multi-head latent attention: kv_lora_rank + qk_rope_head_dim elements a token."""

    num_attention_heads: int
    q_lora_rank: int | None
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int
    indexer: Indexer | None = None
    output_gate: bool = False
    """A gate as wide as the output of all heads (Kimi-K3)."""
    num_scales: int = 4
    """Scales that the engine keeps beside it: query, key, value, probability; Kimi's has a fifth."""


@dataclass(frozen=True, slots=True)
class CompressedAttention:
    """DeepSeek-V4: a window kept as it is, and all tokens before it folded together.

    ``compress_ratio`` tokens become one state: 4 or 128, or none (0) where there is only the
    window. Layers with 4 choose what they read by an indexer.
    """

    num_attention_heads: int
    head_dim: int
    sliding_window: int
    compress_ratio: int
    index_head_dim: int
    index_n_heads: int
    q_lora_rank: int
    o_lora_rank: int
    """Width of each of the ``o_groups`` low-rank output projections."""
    o_groups: int


Latent = LatentAttention | CompressedAttention
