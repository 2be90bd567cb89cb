"""What each family of attention kernels serves, and each GPU's order of preference.

Source: vLLM 0.33.0, platforms/cuda.py (_get_backend_priorities), v1/attention/backends/ and
v1/attention/backend.py (validate_configuration), with FlashInfer and FlashAttention 3 installed,
as in the official image.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pycore.engine.attention.flash_attention import flash_attn_serves
from pycore.engine.attention.needs import AttentionNeeds, Capability, is_half_precision
from pycore.engine.kv.dtypes import (
    DS_MLA_BYTES,
    FP8,
    HIGH_PRECISION,
    PER_TOKEN_HEAD_BITS,
    TURBOQUANT_BITS,
    is_quantized,
)


@dataclass(frozen=True, slots=True)
class Backend:
    """A family of kernels: its name in the engine's log, and the block sizes it reads."""

    name: str
    block_sizes: tuple[int, ...]
    """Any multiple of one of these will do."""
    preferred_block_size: int | None = None
    """What the engine takes where no other backend has a say; None: as usual."""

    def reads(self, block_size: int) -> bool:
        """Whether blocks of that many tokens can be read."""
        return any(block_size % size == 0 for size in self.block_sizes)


FLASH_ATTN: Final = Backend("FLASH_ATTN", (16,))
WIDE_FLASH_ATTN: Final = Backend("FLASH_ATTN", (64,))
"""With an fp8 cache of heads of 512 on Hopper, whose kernel reads 64 tokens at a time."""
FLASHINFER: Final = Backend("FLASHINFER", (16, 32, 64))
TRITON_ATTN: Final = Backend("TRITON_ATTN", (16,))
TRITON_FLASH_ATTN: Final = Backend("TRITON_FLASH_ATTN", (16,))
WIDE_TRITON_FLASH_ATTN: Final = Backend("TRITON_FLASH_ATTN", (64,))
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

Serves = Callable[[AttentionNeeds, Capability], bool]


def _flashinfer(needs: AttentionNeeds, gpu: Capability) -> bool:
    plain = needs.kv_cache_dtype in (*HIGH_PRECISION, *FP8)
    packed = needs.kv_cache_dtype == "nvfp4" and (
        gpu[0] == 10 or (needs.head_size != 64 and not needs.has_sink)
    )
    return (
        (8, 0) <= gpu <= (12, 1)
        and is_half_precision(needs)
        and needs.head_size in (64, 128, 256, 512)
        and (plain or packed)
        and (gpu[0] != 8 or not needs.has_sink)
        and not needs.use_mm_prefix
    )


def triton_serves(needs: AttentionNeeds, _: Capability) -> bool:
    """Triton's kernels: every format but TurboQuant's and nvfp4."""
    formats = (*HIGH_PRECISION, *FP8, *PER_TOKEN_HEAD_BITS)
    return needs.head_size >= 32 and needs.kv_cache_dtype in formats and not needs.use_dcp


def turboquant_serves(needs: AttentionNeeds, _: Capability) -> bool:
    """TurboQuant's formats, of layers without window or sink."""
    return (
        needs.kv_cache_dtype in TURBOQUANT_BITS
        and is_half_precision(needs)
        and not (needs.has_sink or needs.has_window or needs.use_dcp or needs.use_mm_prefix)
    )


def _composite(needs: AttentionNeeds) -> bool:
    """One kernel for pictures and another for text, in heads of 256 or 512."""
    return (
        needs.head_size in (256, 512)
        and is_half_precision(needs)
        and not (needs.has_sink or needs.use_dcp)
    )


def _triton_flashinfer(needs: AttentionNeeds, _: Capability) -> bool:
    return _composite(needs) and needs.kv_cache_dtype in (*HIGH_PRECISION, *FP8)


def _triton_flash_attn(needs: AttentionNeeds, _: Capability) -> bool:
    return _composite(needs) and needs.kv_cache_dtype in (*HIGH_PRECISION, "fp8", "fp8_e4m3")


def _whole_elements(needs: AttentionNeeds) -> bool:
    return is_half_precision(needs) and needs.kv_cache_dtype in (*HIGH_PRECISION, "fp8", "fp8_e4m3")


def _flashinfer_mla(needs: AttentionNeeds, _: Capability) -> bool:
    return _whole_elements(needs) and needs.qk_nope_head_dim in (64, 128, 192)


def latent_serves(needs: AttentionNeeds, _: Capability) -> bool:
    """Any latent vector of whole elements in half precision."""
    return _whole_elements(needs)


def _flash_attn_mla(needs: AttentionNeeds, _: Capability) -> bool:
    return is_half_precision(needs) and not is_quantized(needs.kv_cache_dtype)


def _flash_attn_mla_sparse(needs: AttentionNeeds, _: Capability) -> bool:
    return is_half_precision(needs) and not is_quantized(needs.kv_cache_dtype) and not needs.use_dcp


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
        needs.dtype == "bfloat16"
        and needs.index_topk == 2048
        and needs.kv_cache_dtype in formats
        and not needs.use_dcp
    )


def _diffkv_flash_attn(needs: AttentionNeeds, gpu: Capability) -> bool:
    """Fp8 on Hopper alone: Blackwell's version has no such cache in heads of this width."""
    quantized = ("fp8", "fp8_e4m3") if gpu[0] == 9 else ()
    return is_half_precision(needs) and needs.kv_cache_dtype in (*HIGH_PRECISION, *quantized)


def compressed_serves(needs: AttentionNeeds, _: Capability) -> bool:
    """DeepSeek-V4 packs its vectors in fp8, whichever way it is asked for."""
    return needs.kv_cache_dtype == "auto" or needs.kv_cache_dtype.startswith("fp8")


Candidates = Sequence[tuple[Backend, Serves]]

GROUPED: Final[Candidates] = (
    (FLASH_ATTN, flash_attn_serves),
    (FLASHINFER, _flashinfer),
    (TRITON_ATTN, triton_serves),
    (TURBOQUANT, turboquant_serves),
)
GROUPED_WIDE: Final[Candidates] = ((WIDE_FLASH_ATTN, flash_attn_serves), *GROUPED[1:])
GROUPED_BLACKWELL: Final[Candidates] = (GROUPED[1], GROUPED[0], *GROUPED[2:])

# Where there is a FlashAttention for heads whose values are narrower, Triton is not asked.
DIFFERING_WIDTHS: Final[dict[int, Candidates]] = {
    9: ((FLASH_ATTN_DIFFKV, _diffkv_flash_attn),),
    10: ((FLASH_ATTN_DIFFKV, _diffkv_flash_attn),),
}
LATENT: Final[dict[int, Candidates]] = {
    9: ((FLASH_ATTN_MLA, _flash_attn_mla), (FLASHMLA, latent_serves), (TRITON_MLA, latent_serves)),
    10: (
        (FLASHINFER_MLA, _flashinfer_mla),
        (CUTLASS_MLA, latent_serves),
        (FLASHMLA, latent_serves),
        (TRITON_MLA, latent_serves),
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
            return _grouped(needs, gpu)
        case "differing_widths":
            return DIFFERING_WIDTHS.get(gpu[0], ((TRITON_ATTN_DIFFKV, triton_serves),))
        case "latent":
            return LATENT.get(gpu[0], ((TRITON_MLA, latent_serves),))
        case "sparse_latent":
            return SPARSE_LATENT.get(gpu[0], ())
        case "compressed":
            return ((COMPRESSED, compressed_serves),)


def _grouped(needs: AttentionNeeds, gpu: Capability) -> Candidates:
    """Pictures go to two kernels side by side; uneven heads to Triton where there is no newer one.

    Source: vLLM 0.33.0, platforms/cuda.py, _get_backend_priorities; models/config.py,
    Gemma4Config.
    """
    match gpu[0]:
        case 9:
            wide = needs.head_size == 512 and is_quantized(needs.kv_cache_dtype)
            order = GROUPED_WIDE if wide else GROUPED
            both = WIDE_TRITON_FLASH_ATTN if wide else TRITON_FLASH_ATTN
            return ((both, _triton_flash_attn), *order) if needs.use_mm_prefix else order
        case 10:
            order = GROUPED_BLACKWELL
            both = TRITON_FLASHINFER
            return ((both, _triton_flashinfer), *order) if needs.use_mm_prefix else order
        case _:
            return ((TRITON_ATTN, triton_serves),) if needs.uneven_heads else GROUPED
