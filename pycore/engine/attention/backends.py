"""Which attention kernels the engine picks on a GPU, and the blocks that they can read.

The first backend in the GPU's order that serves the layer is taken. Its kernels then fix the
tokens of a block: 16 unless a kernel reads nothing smaller than 32, 64 or 256. Where none serves
the layer, the engine does not start.

Source: vLLM 0.33.0, platforms/cuda.py (get_attn_backend_cls) and platforms/interface.py.
"""

import itertools
import math
from collections.abc import Iterable
from typing import Final

from pycore.engine.attention.backend_rules import (
    COMPRESSED,
    FLASHINFER,
    FLASHINFER_MLA_SPARSE_SM120,
    FLASHMLA_SPARSE,
    TRITON_ATTN,
    TRITON_ATTN_DIFFKV,
    TRITON_MLA,
    TURBOQUANT,
    Backend,
    candidates,
)
from pycore.engine.attention.needs import AttentionNeeds, Capability
from pycore.engine.attention.rocm import rocm_candidates
from pycore.engine.kv.dtypes import is_quantized
from pycore.errors import NapkinError

DEFAULT_BLOCK_SIZE: Final = 16
TRITON: Final = (TRITON_ATTN, TRITON_ATTN_DIFFKV, TRITON_MLA)
FIRST_WITH_FP8: Final = (8, 9)


class NoAttentionBackendError(NapkinError):
    """No kernel serves this attention on this GPU: the engine does not start."""

    def __init__(self, needs: AttentionNeeds) -> None:
        super().__init__(f"no attention backend for {needs}")
        self.needs = needs


class CacheNotReadError(NoAttentionBackendError):
    """The kernels that were picked do not read the cache's format on this GPU."""

    def __init__(self, needs: AttentionNeeds, backend: Backend) -> None:
        super().__init__(needs)
        self.backend = backend


def choose_backend(
    needs: AttentionNeeds, gpu: Capability, block_size: int | None, cdna_generation: int = 0
) -> Backend:
    """The engine's backend for this layer; a block size that was asked for rules out the others.

    Triton's kernels are picked for fp8 caches on any GPU, and then stop where NVIDIA's has no fp8.
    AMD's GPUs have a generation of CDNA.
    Source: vLLM 0.33.0, platforms/cuda.py, get_attn_backend_cls; v1/attention/backends,
    TritonAttentionImpl and TritonMLAImpl.
    """
    order = rocm_candidates(needs, cdna_generation) if cdna_generation else candidates(needs, gpu)
    for backend, serves in order:
        if (block_size is None or backend.reads(block_size)) and serves(needs, gpu):
            if (
                backend in TRITON
                and needs.kv_cache_dtype.startswith("fp8")
                and gpu < FIRST_WITH_FP8
                and not cdna_generation
            ):
                raise CacheNotReadError(needs, backend)
            return backend
    raise NoAttentionBackendError(needs)


def common_block_size(backends: Iterable[Backend]) -> int:
    """Tokens of a block that every backend of the model reads: 16, or the fewest that do.

    A backend that is alone may prefer others.
    Source: vLLM 0.33.0, platforms/interface.py, _preferred_block_size_for_backends.
    """
    distinct = list(dict.fromkeys(backends))
    if len(distinct) == 1 and distinct[0].preferred_block_size is not None:
        return distinct[0].preferred_block_size
    if all(backend.reads(DEFAULT_BLOCK_SIZE) for backend in distinct):
        return DEFAULT_BLOCK_SIZE
    sizes = itertools.product(*(backend.block_sizes for backend in distinct))
    return min(math.lcm(*combination) for combination in sizes)


def share_a_layout(backends: Iterable[Backend], gpu: Capability) -> bool:
    """Whether all can read blocks laid out in one way: TurboQuant not beside Blackwell's FlashInfer.

    Source: vLLM 0.33.0, v1/attention/backends/utils.py, get_supported_kv_cache_layouts.
    """
    return gpu[0] != 10 or not {FLASHINFER, TURBOQUANT} <= set(backends)


def kv_cache_dtype_of(backend: Backend, kv_cache_dtype: str) -> str:
    """The format that the backend really keeps: sparse MLA turns fp8 into DeepSeek's packed one.

    Source: vLLM 0.33.0, layers/attention/mla_attention.py,
    _canonicalize_sparse_mla_kv_cache_dtype.
    """
    quantized = is_quantized(kv_cache_dtype) and kv_cache_dtype != "nvfp4_ds_mla"
    if backend is FLASHMLA_SPARSE and quantized:
        return "fp8_ds_mla"
    if backend is FLASHINFER_MLA_SPARSE_SM120 and kv_cache_dtype in ("auto", "fp8", "fp8_e4m3"):
        return "fp8_ds_mla"
    if backend is COMPRESSED:
        return "fp8_ds_mla"
    return kv_cache_dtype
