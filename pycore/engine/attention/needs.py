"""What a layer asks of the kernels that read its cache."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["grouped", "differing_widths", "latent", "sparse_latent", "compressed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionNeeds:
    """What a layer asks of its kernels."""

    kind: Kind
    head_size: int
    """Of a latent layer, the whole vector that is kept."""
    dtype: str
    kv_cache_dtype: str
    has_sink: bool = False
    has_window: bool = False
    use_mm_prefix: bool = False
    """Image tokens see each other both ways (Gemma 3 with pictures)."""
    uneven_heads: bool = False
    """Heads of the model differ in width from layer to layer (Gemma 4)."""
    use_dcp: bool = False
    qk_nope_head_dim: int = 0
    index_topk: int = 0


Capability = tuple[int, int]


def is_half_precision(needs: AttentionNeeds) -> bool:
    """Whether the model computes in two bytes, as most kernels want it."""
    return needs.dtype in ("float16", "bfloat16")
