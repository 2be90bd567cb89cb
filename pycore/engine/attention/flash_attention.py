"""Which FlashAttention serves which heads on which GPU.

Source: vLLM 0.33.0, v1/attention/backends/fa_utils.py and flash_attn.py, with versions 2, 3 and 4
built in, as in its wheel.
"""

from pycore.engine.attention.needs import AttentionNeeds, Capability, is_half_precision
from pycore.engine.kv.dtypes import HIGH_PRECISION, is_quantized


def flash_attention_version(needs: AttentionNeeds, gpu: Capability) -> int:
    """The FlashAttention that serves these heads: 3 on Hopper, 4 on Blackwell, else 2.

    Hopper takes 4 for heads above 256, and for all heads where their widths differ and the cache
    is not quantized. Blackwell's 4 has heads up to 128, and 256 with nothing unusual about them.

    Source: vLLM 0.33.0, v1/attention/backends/fa_utils.py, get_flash_attn_version;
    model_executor/models/config.py, Gemma4Config.
    """
    quantized = is_quantized(needs.kv_cache_dtype)
    if gpu[0] == 9:
        return 4 if needs.head_size > 256 or (needs.uneven_heads and not quantized) else 3
    if gpu[0] == 10:
        unusual = quantized or needs.has_sink or needs.use_mm_prefix or needs.use_dcp
        return 4 if needs.head_size <= 128 or (needs.head_size == 256 and not unusual) else 2
    return 2


def flash_attn_serves(needs: AttentionNeeds, gpu: Capability) -> bool:
    """FlashAttention from Ampere on; fp8 caches and sinks on Hopper and Blackwell alone.

    Source: vLLM 0.33.0, v1/attention/backends/flash_attn.py, FlashAttentionBackend.
    """
    version = flash_attention_version(needs, gpu)
    is_newer = gpu[0] in (9, 10)
    return (
        gpu >= (8, 0)
        and is_half_precision(needs)
        and needs.head_size % 8 == 0
        and needs.head_size <= (512 if is_newer else 256)
        and _reads_cache(needs, gpu, version)
        and (is_newer or not needs.has_sink)
        and (not needs.use_mm_prefix or _masks_pictures(needs, gpu, version))
    )


def _reads_cache(needs: AttentionNeeds, gpu: Capability, version: int) -> bool:
    """Whether it reads the cache's format; version 4 on Hopper has fp8 in heads of 512 alone."""
    if needs.kv_cache_dtype in HIGH_PRECISION:
        return True
    if needs.kv_cache_dtype not in ("fp8", "fp8_e4m3"):
        return False
    if gpu[0] == 10:
        return version == 4
    return gpu[0] == 9 and (version == 3 or needs.head_size == 512)


def _masks_pictures(needs: AttentionNeeds, gpu: Capability, version: int) -> bool:
    """Whether image tokens can see each other both ways."""
    return version == 4 and not (gpu[0] == 9 and is_quantized(needs.kv_cache_dtype))
