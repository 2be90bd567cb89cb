"""The element types that weights, activations and KV caches are made of."""

from typing import Final

# Bits per element. Formats that share a scale among elements (nvfp4, mxfp4) are sized by their
# own functions, since their width is a ratio (nvfp4: 72 bits for 16 elements).
BITS: Final[dict[str, int]] = {
    "float32": 32,
    "bfloat16": 16,
    "float16": 16,
    "fp8": 8,
    "fp8_e4m3": 8,
    "fp8_e5m2": 8,
    "int32": 32,
    "int8": 8,
    "uint8": 8,
}

# Spellings met in config.json files and on command lines, to the name used here.
SPELLINGS: Final[dict[str, str]] = {
    "half": "float16",
    "fp16": "float16",
    "torch.float16": "float16",
    "bf16": "bfloat16",
    "torch.bfloat16": "bfloat16",
    "float": "float32",
    "fp32": "float32",
    "torch.float32": "float32",
}

MODEL_DTYPES: Final = ("bfloat16", "float16", "float32")


def element_bytes(dtype: str) -> int:
    """Whole bytes that one element of ``dtype`` takes."""
    return BITS[dtype] // 8


def canonical(dtype: str) -> str:
    """``dtype`` under the one name used inside the core."""
    return SPELLINGS.get(dtype, dtype)
