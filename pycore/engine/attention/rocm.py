"""Which attention kernels the engine picks on AMD's GPUs, the most preferred first.

With AITER installed, as in the ROCm image, and not switched on (``VLLM_ROCM_USE_AITER``), as it is
by default.

Source: vLLM 0.33.0, platforms/rocm.py (_get_backend_priorities), _aiter_ops.py and
v1/attention/backends/ (rocm_attn.py, rocm_aiter_unified_attn.py, mla/rocm_aiter_mla_sparse.py,
mla/indexer.py).
"""

from typing import Final

from pycore.engine.attention.backend_rules import (
    COMPRESSED,
    TRITON_ATTN,
    TRITON_ATTN_DIFFKV,
    TRITON_MLA,
    TURBOQUANT,
    Backend,
    Candidates,
    compressed_serves,
    latent_serves,
    triton_serves,
    turboquant_serves,
)
from pycore.engine.attention.needs import AttentionNeeds, Capability, is_half_precision
from pycore.engine.kv.dtypes import FP8, HIGH_PRECISION

ROCM_ATTN: Final = Backend("ROCM_ATTN", (16,))
ROCM_AITER_UNIFIED_ATTN: Final = Backend("ROCM_AITER_UNIFIED_ATTN", (16,), preferred_block_size=64)
ROCM_AITER_MLA_SPARSE: Final = Backend("ROCM_AITER_MLA_SPARSE", (1, 16))
ROCM_INDEXER: Final = Backend("DEEPSEEK_V32_INDEXER", (1, 16))
# Heads that AMD's own kernels are compiled for.
ROCM_HEADS: Final = (32, 64, 80, 96, 128, 160, 192, 224, 256)
# AITER has kernels from this generation of CDNA on.
FIRST_WITH_AITER: Final = 3


def rocm_candidates(needs: AttentionNeeds, cdna_generation: int) -> Candidates:
    """The backends that one of AMD's GPUs has for this kind of attention."""
    match needs.kind:
        case "grouped":
            return _grouped(needs, cdna_generation)
        case "differing_widths":
            return ((TRITON_ATTN_DIFFKV, triton_serves),)
        case "latent":
            return ((TRITON_MLA, latent_serves),)
        case "sparse_latent":
            return ((ROCM_AITER_MLA_SPARSE, _aiter_mla_sparse),)
        case "compressed":
            return ((COMPRESSED, compressed_serves),)


def _grouped(needs: AttentionNeeds, cdna_generation: int) -> Candidates:
    """Heads that differ from layer to layer go to Triton, as where no FlashAttention 4 is.

    Source: vLLM 0.33.0, models/config.py, Gemma4Config.
    """
    triton = (TRITON_ATTN, triton_serves)
    if needs.uneven_heads:
        return (triton,)
    unified = ((ROCM_AITER_UNIFIED_ATTN, _aiter_unified),)
    return (
        (ROCM_ATTN, _rocm_attn),
        *(unified if cdna_generation >= FIRST_WITH_AITER else ()),
        triton,
        (TURBOQUANT, turboquant_serves),
    )


def _keeps_whole_elements(needs: AttentionNeeds) -> bool:
    return needs.kv_cache_dtype in (*HIGH_PRECISION, *FP8) and not (
        needs.use_dcp or needs.use_mm_prefix
    )


def _rocm_attn(needs: AttentionNeeds, _: Capability) -> bool:
    return _keeps_whole_elements(needs) and needs.head_size in ROCM_HEADS and not needs.has_sink


def _aiter_unified(needs: AttentionNeeds, _: Capability) -> bool:
    return _keeps_whole_elements(needs) and is_half_precision(needs) and needs.head_size >= 32


def _aiter_mla_sparse(needs: AttentionNeeds, gpu: Capability) -> bool:
    return latent_serves(needs, gpu) and not needs.use_dcp
