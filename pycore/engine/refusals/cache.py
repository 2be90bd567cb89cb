"""What vLLM refuses of a model's KV cache, before any memory is looked at, in its own words.

Source: vLLM 0.33.0, platforms/cuda.py and rocm.py
(get_attn_backend_cls) and v1/core/kv_cache_planning.py.
"""

from typing import Final

from pycore.engine.attention.backend_rules import TRITON_MLA
from pycore.engine.attention.backends import CacheNotReadError, NoAttentionBackendError
from pycore.engine.kv.pages import PagesDoNotUnifyError
from pycore.engine.refusals.refusal import Refusal
from pycore.hardware.accelerators import Accelerator

FIRST_WITH_BFLOAT16: Final = 8


def cache_refusal(
    error: NoAttentionBackendError | PagesDoNotUnifyError, accelerator: Accelerator
) -> Refusal:
    """The refusal that stands for an error of the cache's planning."""
    if isinstance(error, PagesDoNotUnifyError):
        return Refusal("no_attention_backend", f"NotImplementedError: {error}")
    if isinstance(error, CacheNotReadError):
        return not_read(error, accelerator)
    needs = error.needs
    platform = "rocm" if accelerator.vendor == "AMD" else "cuda"
    return Refusal(
        "no_attention_backend",
        f"ValueError: No valid attention backend found for {platform} with AttentionSelectorConfig("
        f"head_size={needs.head_size}, dtype=torch.{needs.dtype}, "
        f"kv_cache_dtype={needs.kv_cache_dtype}, block_size=None, "
        f"use_mla={needs.kind in ('latent', 'sparse_latent')}, has_sink={needs.has_sink}, "
        f"use_sparse={needs.kind == 'sparse_latent'}, use_mm_prefix={needs.use_mm_prefix}).",
        field="kv_cache_dtype" if needs.kv_cache_dtype != "auto" else "accelerator",
    )


def not_read(error: CacheNotReadError, accelerator: Accelerator) -> Refusal:
    """Fp8 for Triton's kernels on a GPU that is older than its fp8.

    Source: vLLM 0.33.0, v1/attention/backends/triton_attn.py and mla/triton_mla.py.
    """
    kernels = "MLA" if error.backend is TRITON_MLA else "attention"
    major, minor = accelerator.compute_capability or (0, 0)
    instead = "bfloat16" if major >= FIRST_WITH_BFLOAT16 else "float16"
    return Refusal(
        "no_attention_backend",
        f"ValueError: FP8 KV cache is not supported by the Triton {kernels} backend on "
        f"{accelerator.name} (compute capability {major}.{minor}); native FP8 (fp8e4nv) requires "
        f"SM89+. Re-run with --kv-cache-dtype {instead}.",
        field="kv_cache_dtype",
    )
