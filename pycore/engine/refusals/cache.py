"""What vLLM refuses of a model's KV cache, before any memory is looked at, in its own words.

Source: vLLM 0.33.0, platforms/cuda.py (get_attn_backend_cls) and v1/core/kv_cache_planning.py.
"""

from pycore.engine.attention.backends import NoAttentionBackendError
from pycore.engine.kv.pages import PagesDoNotUnifyError
from pycore.engine.refusals.refusal import Refusal


def cache_refusal(error: NoAttentionBackendError | PagesDoNotUnifyError) -> Refusal:
    """The refusal that stands for an error of the cache's planning."""
    if isinstance(error, PagesDoNotUnifyError):
        return Refusal("no_attention_backend", f"NotImplementedError: {error}")
    needs = error.needs
    return Refusal(
        "no_attention_backend",
        "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig("
        f"head_size={needs.head_size}, dtype=torch.{needs.dtype}, "
        f"kv_cache_dtype={needs.kv_cache_dtype}, block_size=None, "
        f"use_mla={needs.kind in ('latent', 'sparse_latent')}, has_sink={needs.has_sink}, "
        f"use_sparse={needs.kind == 'sparse_latent'}, use_mm_prefix={needs.use_mm_prefix}).",
        field="kv_cache_dtype" if needs.kv_cache_dtype != "auto" else "accelerator",
    )
