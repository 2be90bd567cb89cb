"""What each family of attention kernels serves, and each GPU's order of preference.

Source: vLLM 0.33.0, platforms/cuda.py (_get_backend_priorities), v1/attention/backends/ and
v1/attention/backend.py (validate_configuration), with FlashInfer and FlashAttention 3 installed,
as in the official image.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pycore.engine.kv_dtypes import (
    DS_MLA_BYTES,
    FP8,
    HIGH_PRECISION,
    PER_TOKEN_HEAD_BITS,
    TURBOQUANT_BITS,
    is_quantized,
)

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
    use_mm_prefix: bool = False
    """Image tokens see each other both ways (Gemma 3 with pictures)."""
    use_dcp: bool = False
    qk_nope_head_dim: int = 0
    index_topk: int = 0


@dataclass(frozen=True, slots=True)
class Backend:
    """A family of kernels: its name in the engine's log, and the block sizes it reads."""

    name: str
    block_sizes: tuple[int, ...]
    """Any multiple of one of these will do."""

    def reads(self, block_size: int) -> bool:
        """Whether blocks of that many tokens can be read."""
        return any(block_size % size == 0 for size in self.block_sizes)


FLASH_ATTN: Final = Backend("FLASH_ATTN", (16,))
FLASHINFER: Final = Backend("FLASHINFER", (16, 32, 64))
TRITON_ATTN: Final = Backend("TRITON_ATTN", (16,))
TRITON_FLASH_ATTN: Final = Backend("TRITON_FLASH_ATTN", (16,))
TRITON_FLASHINFER: Final = Backend("TRITON_FLASHINFER", (64,))
TURBOQUANT: Final = Backend("TURBOQUANT", (16, 32, 64, 128))
FLASH_ATTN_DIFFKV: Final = Backend("FLASH_ATTN_DIFFKV", (16,))
TRITON_ATTN_DIFFKV: Final = Backend("TRITON_ATTN_DIFFKV", (16,))
FLASH_ATTN_MLA: Final = Backend("FLASH_ATTN_MLA", (16,))
FLASHMLA: Final = Backend("FLASHMLA", (64,))
FLASHINFER_MLA: Final = Backend("FLASHINFER_MLA", (32, 64))
CUTLASS_MLA: Final = Backend("CUTLASS_MLA", (128,))
TRITON_MLA: Final = Backend("TRITON_MLA", (16,))
FLASH_ATTN_MLA_SPARSE: Final = Backend("FLASH_ATTN_MLA_SPARSE", (64,))
FLASHMLA_SPARSE: Final = Backend("FLASHMLA_SPARSE", (64,))
FLASHINFER_MLA_SPARSE: Final = Backend("FLASHINFER_MLA_SPARSE", (32,))
FLASHINFER_MLA_SPARSE_SM120: Final = Backend("FLASHINFER_MLA_SPARSE_SM120", (64,))
INDEXER: Final = Backend("DEEPSEEK_V32_INDEXER", (64,))
BLOCK_SPARSE: Final = Backend("MINIMAX_M3_SPARSE", (128,))
COMPRESSED: Final = Backend("FLASHMLA_SPARSE_DSV4", (256,))

Capability = tuple[int, int]
Serves = Callable[[AttentionNeeds, Capability], bool]


def _half(needs: AttentionNeeds) -> bool:
    return needs.dtype in ("float16", "bfloat16")


def _flash_attn(needs: AttentionNeeds, gpu: Capability) -> bool:
    """FlashAttention 2 from Ampere on; version 3, with fp8 caches and sinks, on Hopper alone."""
    version_3 = gpu[0] == 9
    formats = (*HIGH_PRECISION, "fp8", "fp8_e4m3") if version_3 else HIGH_PRECISION
    return (
        gpu >= (8, 0)
        and _half(needs)
        and needs.head_size % 8 == 0
        and needs.head_size <= 256
        and needs.kv_cache_dtype in formats
        and (version_3 or not needs.has_sink)
        and not needs.use_mm_prefix
    )


def _flashinfer(needs: AttentionNeeds, gpu: Capability) -> bool:
    plain = needs.kv_cache_dtype in (*HIGH_PRECISION, *FP8)
    packed = needs.kv_cache_dtype == "nvfp4" and (
        gpu[0] == 10 or (needs.head_size != 64 and not needs.has_sink)
    )
    return (
        (8, 0) <= gpu <= (12, 1)
        and _half(needs)
        and needs.head_size in (64, 128, 256, 512)
        and (plain or packed)
        and (gpu[0] != 8 or not needs.has_sink)
        and not needs.use_mm_prefix
    )


def _triton(needs: AttentionNeeds, _: Capability) -> bool:
    formats = (*HIGH_PRECISION, *FP8, *PER_TOKEN_HEAD_BITS)
    return needs.head_size >= 32 and needs.kv_cache_dtype in formats and not needs.use_dcp


def _turboquant(needs: AttentionNeeds, _: Capability) -> bool:
    return (
        needs.kv_cache_dtype in TURBOQUANT_BITS
        and _half(needs)
        and not (needs.has_sink or needs.use_dcp or needs.use_mm_prefix)
    )


def _composite(needs: AttentionNeeds, _: Capability) -> bool:
    """One kernel for pictures and another for text, in heads of 256 or 512."""
    formats = (*HIGH_PRECISION, "fp8", "fp8_e4m3")
    return needs.head_size in (256, 512) and _half(needs) and needs.kv_cache_dtype in formats


def _triton_flash_attn(needs: AttentionNeeds, gpu: Capability) -> bool:
    return (
        _composite(needs, gpu) and needs.head_size == 256 and not is_quantized(needs.kv_cache_dtype)
    )


def _whole_elements(needs: AttentionNeeds) -> bool:
    return _half(needs) and needs.kv_cache_dtype in (*HIGH_PRECISION, "fp8", "fp8_e4m3")


def _flashinfer_mla(needs: AttentionNeeds, _: Capability) -> bool:
    return _whole_elements(needs) and needs.qk_nope_head_dim in (64, 128, 192)


def _latent(needs: AttentionNeeds, _: Capability) -> bool:
    return _whole_elements(needs)


def _flash_attn_mla(needs: AttentionNeeds, _: Capability) -> bool:
    return _half(needs) and not is_quantized(needs.kv_cache_dtype)


def _flash_attn_mla_sparse(needs: AttentionNeeds, _: Capability) -> bool:
    return _half(needs) and not is_quantized(needs.kv_cache_dtype) and not needs.use_dcp


def _flashmla_sparse(needs: AttentionNeeds, gpu: Capability) -> bool:
    formats = ("auto", "bfloat16", "fp8", *(DS_MLA_BYTES if gpu[0] == 10 else ("fp8_ds_mla",)))
    return (
        needs.dtype == "bfloat16"
        and needs.head_size == 576
        and needs.kv_cache_dtype in formats
        and (not needs.use_dcp or needs.kv_cache_dtype in ("fp8", "fp8_ds_mla"))
    )


def _flashinfer_mla_sparse(needs: AttentionNeeds, _: Capability) -> bool:
    return _whole_elements(needs) and needs.qk_nope_head_dim in (128, 192)


def _flashinfer_mla_sparse_sm120(needs: AttentionNeeds, _: Capability) -> bool:
    formats = ("auto", "fp8", "fp8_e4m3", "fp8_ds_mla")
    return (
        needs.dtype == "bfloat16" and needs.index_topk == 2048 and needs.kv_cache_dtype in formats
    )


def _diffkv_flash_attn(needs: AttentionNeeds, gpu: Capability) -> bool:
    return gpu[0] == 9 and _flash_attn(needs, gpu)


Candidates = Sequence[tuple[Backend, Serves]]

GROUPED: Final[Candidates] = (
    (FLASH_ATTN, _flash_attn),
    (FLASHINFER, _flashinfer),
    (TRITON_ATTN, _triton),
    (TURBOQUANT, _turboquant),
)
GROUPED_BLACKWELL: Final[Candidates] = (GROUPED[1], GROUPED[0], *GROUPED[2:])
UNEVEN_HEADS: Final[Candidates] = ((TRITON_ATTN, _triton),)
"""Heads that differ in width from layer to layer (Gemma 4)."""

DIFFERING_WIDTHS: Final[Candidates] = (
    (FLASH_ATTN_DIFFKV, _diffkv_flash_attn),
    (TRITON_ATTN_DIFFKV, _triton),
)
LATENT: Final[dict[int, Candidates]] = {
    9: ((FLASH_ATTN_MLA, _flash_attn_mla), (FLASHMLA, _latent), (TRITON_MLA, _latent)),
    10: (
        (FLASHINFER_MLA, _flashinfer_mla),
        (CUTLASS_MLA, _latent),
        (FLASHMLA, _latent),
        (TRITON_MLA, _latent),
    ),
}
SPARSE_LATENT: Final[dict[int, Candidates]] = {
    9: ((FLASH_ATTN_MLA_SPARSE, _flash_attn_mla_sparse), (FLASHMLA_SPARSE, _flashmla_sparse)),
    10: (
        (FLASHINFER_MLA_SPARSE, _flashinfer_mla_sparse),
        (FLASHMLA_SPARSE, _flashmla_sparse),
    ),
    12: ((FLASHINFER_MLA_SPARSE_SM120, _flashinfer_mla_sparse_sm120),),
}


def candidates(needs: AttentionNeeds, gpu: Capability) -> Candidates:
    """The backends that this GPU has for this kind of attention, the most preferred first."""
    match needs.kind:
        case "grouped":
            order = GROUPED_BLACKWELL if gpu[0] == 10 else GROUPED
            if needs.use_mm_prefix and gpu[0] == 9:
                return ((TRITON_FLASH_ATTN, _triton_flash_attn), *order)
            if needs.use_mm_prefix and gpu[0] == 10:
                return ((TRITON_FLASHINFER, _composite), *order)
            return order
        case "differing_widths":
            return DIFFERING_WIDTHS
        case "latent":
            return LATENT.get(gpu[0], ((TRITON_MLA, _latent),))
        case "sparse_latent":
            return SPARSE_LATENT.get(gpu[0], ())
        case "compressed":
            return ((COMPRESSED, lambda *_: True),)
