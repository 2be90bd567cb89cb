"""Bytes that a token takes in the KV cache under each of the engine's ``--kv-cache-dtype``.

Narrow formats carry scales beside the elements, so their width is no plain number of bits: an
nvfp4 row is a byte for two elements and a byte of scale for sixteen.

Source: vLLM 0.33.0, config/cache.py (CacheDType), the customize_spec of the attention backends,
utils/torch_utils.py (nvfp4_kv_cache_full_dim) and layers/quantization/turboquant/config.py.
"""

from typing import Final

from pycore import dtypes
from pycore.units import ceil_div, round_up

HIGH_PRECISION: Final = ("auto", "float16", "bfloat16", "float32")
"""Formats that keep the elements as they are. ``auto`` is the model's own element type."""

FP8: Final = ("fp8", "fp8_e4m3", "fp8_e5m2")

TURBOQUANT_BITS: Final = {
    "turboquant_k8v4": (8, 4),
    "turboquant_4bit_nc": (4, 4),
    "turboquant_k3v4_nc": (3, 4),
    "turboquant_3bit_nc": (3, 3),
}
"""Bits of a key's and of a value's element."""

PER_TOKEN_HEAD_BITS: Final = {
    "int4_per_token_head": 4,
    "int8_per_token_head": 8,
    "fp8_per_token_head": 8,
}
"""Formats with a scale in float32 for each token's key, and one for its value, in each head."""

DS_MLA_BYTES: Final = {"fp8_ds_mla": 656, "nvfp4_ds_mla": 352}
"""DeepSeek's packed latent vectors: elements, scales and rotary part in one row of its own."""

KV_CACHE_DTYPES: Final = (
    "auto",
    "float16",
    "bfloat16",
    *FP8,
    *DS_MLA_BYTES,
    *TURBOQUANT_BITS,
    *PER_TOKEN_HEAD_BITS,
    "nvfp4",
)

FP16_BYTES: Final = 2
FP32_BYTES: Final = 4


def is_quantized(kv_cache_dtype: str) -> bool:
    """Whether the format is narrower than what the model computes in."""
    return kv_cache_dtype not in HIGH_PRECISION


def kv_element_bytes(kv_cache_dtype: str, model_element_bytes: int) -> int:
    """Bytes of an element in the formats that keep whole elements."""
    if kv_cache_dtype == "auto":
        return model_element_bytes
    return 1 if is_quantized(kv_cache_dtype) else dtypes.element_bytes(kv_cache_dtype)


def bytes_per_kv_head(
    kv_cache_dtype: str, head_size: int, head_size_v: int, model_element_bytes: int
) -> int:
    """One token's key and value of one KV head."""
    if kv_cache_dtype == "nvfp4":
        return 2 * nvfp4_row_bytes(head_size)
    if kv_cache_dtype in TURBOQUANT_BITS:
        return turboquant_slot_bytes(kv_cache_dtype, head_size)
    bits = PER_TOKEN_HEAD_BITS.get(kv_cache_dtype)
    if bits is not None:
        return head_size * bits // 8 + head_size_v * bits // 8 + 2 * FP32_BYTES
    return (head_size + head_size_v) * kv_element_bytes(kv_cache_dtype, model_element_bytes)


def nvfp4_row_bytes(head_size: int) -> int:
    """A key or a value of one head: two elements a byte, and a scale byte for sixteen."""
    return head_size // 2 + head_size // 16


def turboquant_slot_bytes(kv_cache_dtype: str, head_size: int) -> int:
    """Key and value of one head, packed into one slot of an even number of bytes.

    A rotated key carries its norm in float16, a value its scale and its zero; a key of eight
    bits is plain fp8.
    """
    key_bits, value_bits = TURBOQUANT_BITS[kv_cache_dtype]
    key = head_size if key_bits == 8 else ceil_div(head_size * key_bits, 8) + FP16_BYTES
    value = ceil_div(head_size * value_bits, 8) + 2 * FP16_BYTES
    return round_up(key + value, 2)


def latent_bytes(kv_cache_dtype: str, latent_size: int, model_element_bytes: int) -> int:
    """One token's compressed vector: elements of kv_lora_rank and qk_rope_head_dim together."""
    packed = DS_MLA_BYTES.get(kv_cache_dtype)
    return packed or latent_size * kv_element_bytes(kv_cache_dtype, model_element_bytes)


def indexer_key_bytes(index_head_dim: int) -> int:
    """One token's key for choosing what to read: a byte an element, and a scale for each 128.

    Source: vLLM 0.33.0, model_executor/models/deepseek_v2.py, Indexer.
    """
    return index_head_dim + index_head_dim // 128 * FP32_BYTES
