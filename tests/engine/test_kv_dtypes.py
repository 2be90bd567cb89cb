"""Bytes of a token under each format of the cache."""

import pytest

from pycore.engine.kv.dtypes import (
    KV_CACHE_DTYPES,
    TURBOQUANT_BITS,
    bytes_per_kv_head,
    indexer_key_bytes,
    latent_bytes,
)


@pytest.mark.parametrize(
    ("kv_cache_dtype", "expected"),
    [
        ("auto", 512),
        ("bfloat16", 512),
        ("fp8", 256),
        ("fp8_e5m2", 256),
        ("nvfp4", 144),
        ("int8_per_token_head", 264),
        ("fp8_per_token_head", 264),
        ("int4_per_token_head", 136),
        ("turboquant_4bit_nc", 134),
    ],
)
def test_a_head_of_128_takes_what_the_engine_says(kv_cache_dtype: str, expected: int) -> None:
    """Source: golden/vllm-0.33.jsonl, extra--Llama-3.3-70B-Instruct, per KV head and layer."""
    assert bytes_per_kv_head(kv_cache_dtype, 128, 128, 2) == expected


@pytest.mark.parametrize("kv_cache_dtype", TURBOQUANT_BITS)
def test_a_packed_slot_has_an_even_number_of_bytes(kv_cache_dtype: str) -> None:
    """The engine halves it for a head size."""
    for head_size in (64, 96, 128, 256):
        assert bytes_per_kv_head(kv_cache_dtype, head_size, head_size, 2) % 2 == 0


@pytest.mark.parametrize("kv_cache_dtype", KV_CACHE_DTYPES)
def test_no_format_is_wider_than_the_model(kv_cache_dtype: str) -> None:
    """Scales included, for heads of 64 and up."""
    if kv_cache_dtype.endswith("ds_mla"):
        assert latent_bytes(kv_cache_dtype, 576, 2) < 2 * 576
    else:
        assert bytes_per_kv_head(kv_cache_dtype, 64, 64, 2) <= 256


def test_auto_follows_the_model_not_its_weights() -> None:
    """A float32 model keeps float32 keys."""
    assert bytes_per_kv_head("auto", 128, 128, 4) == 1024


def test_latent_vectors_have_a_packed_form_of_their_own() -> None:
    """DeepSeek-V3.2: 576 elements, or 656 bytes packed; its indexer keeps 132 bytes."""
    assert latent_bytes("auto", 576, 2) == 1152
    assert latent_bytes("fp8", 576, 2) == 576
    assert latent_bytes("fp8_ds_mla", 576, 2) == 656
    assert indexer_key_bytes(128) == 132
