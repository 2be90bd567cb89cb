"""Which kernels each GPU gets, and the blocks that they can read.

Source of the expected values: golden/vllm-0.33.jsonl (attn_backends and block_size of its builds)
and facts of the same runs.
"""

from dataclasses import replace

import pytest

from pycore.engine.attention.backend_rules import (
    FLASH_ATTN,
    FLASHINFER_MLA,
    FLASHMLA,
    INDEXER,
    TRITON_ATTN,
)
from pycore.engine.attention.backends import (
    CacheNotReadError,
    NoAttentionBackendError,
    choose_backend,
    common_block_size,
)
from pycore.engine.attention.needs import AttentionNeeds

HOPPER, AMPERE, ADA, BLACKWELL, RTX_BLACKWELL = (9, 0), (8, 0), (8, 9), (10, 0), (12, 0)
LLAMA = AttentionNeeds(kind="grouped", head_size=128, dtype="bfloat16", kv_cache_dtype="auto")
DEEPSEEK = AttentionNeeds(
    kind="latent", head_size=576, dtype="bfloat16", kv_cache_dtype="auto", qk_nope_head_dim=128
)
SPARSE = replace(DEEPSEEK, kind="sparse_latent", index_topk=2048)


@pytest.mark.parametrize(
    ("needs", "gpu", "expected", "block_size"),
    [
        (LLAMA, HOPPER, "FLASH_ATTN", 16),
        (LLAMA, BLACKWELL, "FLASHINFER", 16),
        (replace(LLAMA, kv_cache_dtype="fp8"), HOPPER, "FLASH_ATTN", 16),
        (replace(LLAMA, kv_cache_dtype="fp8"), AMPERE, "FLASHINFER", 16),
        (replace(LLAMA, kv_cache_dtype="fp8_e5m2"), HOPPER, "FLASHINFER", 16),
        (replace(LLAMA, kv_cache_dtype="nvfp4"), HOPPER, "FLASHINFER", 16),
        (replace(LLAMA, kv_cache_dtype="int8_per_token_head"), HOPPER, "TRITON_ATTN", 16),
        (replace(LLAMA, kv_cache_dtype="turboquant_4bit_nc"), HOPPER, "TURBOQUANT", 16),
        (replace(LLAMA, has_sink=True), HOPPER, "FLASH_ATTN", 16),
        (replace(LLAMA, has_sink=True), AMPERE, "TRITON_ATTN", 16),
        (replace(LLAMA, has_sink=True), ADA, "TRITON_ATTN", 16),
        (replace(LLAMA, use_mm_prefix=True), HOPPER, "TRITON_ATTN", 16),
        (DEEPSEEK, HOPPER, "FLASH_ATTN_MLA", 16),
        (replace(DEEPSEEK, kv_cache_dtype="fp8"), HOPPER, "FLASHMLA", 64),
        (DEEPSEEK, AMPERE, "TRITON_MLA", 16),
        (DEEPSEEK, ADA, "TRITON_MLA", 16),
        (DEEPSEEK, BLACKWELL, "FLASHINFER_MLA", 32),
        (replace(DEEPSEEK, kv_cache_dtype="fp8"), BLACKWELL, "FLASHINFER_MLA", 32),
        (SPARSE, HOPPER, "FLASH_ATTN_MLA_SPARSE", 64),
        (replace(SPARSE, kv_cache_dtype="fp8"), HOPPER, "FLASHMLA_SPARSE", 64),
        (replace(SPARSE, kv_cache_dtype="fp8"), BLACKWELL, "FLASHINFER_MLA_SPARSE", 32),
        (SPARSE, RTX_BLACKWELL, "FLASHINFER_MLA_SPARSE_SM120", 64),
    ],
)
def test_each_gpu_has_its_own_preference(
    needs: AttentionNeeds, gpu: tuple[int, int], expected: str, block_size: int
) -> None:
    """The backend is the engine's, and with it the least block."""
    backend = choose_backend(needs, gpu, None)
    assert backend.name == expected
    assert common_block_size([backend]) == block_size


@pytest.mark.parametrize("gpu", [AMPERE, ADA])
def test_sparse_latent_attention_needs_hopper(gpu: tuple[int, int]) -> None:
    """GLM-5 does not start on A100 and L4."""
    with pytest.raises(NoAttentionBackendError):
        choose_backend(SPARSE, gpu, None)


def test_plain_latent_attention_has_no_packed_format() -> None:
    """DeepSeek-V3 with fp8_ds_mla is refused: the format is of sparse attention."""
    with pytest.raises(NoAttentionBackendError):
        choose_backend(replace(DEEPSEEK, kv_cache_dtype="fp8_ds_mla"), HOPPER, None)


def test_narrower_values_have_no_fp8_cache_on_blackwell() -> None:
    """MiMo-V2-Flash keeps fp8 on Hopper; on B200 the engine stops at it. Source: vLLM 0.33.0."""
    needs = replace(LLAMA, kind="differing_widths", head_size=192)
    quantized = replace(needs, kv_cache_dtype="fp8")
    assert choose_backend(quantized, HOPPER, None).name == "FLASH_ATTN_DIFFKV"
    assert choose_backend(needs, BLACKWELL, None).name == "FLASH_ATTN_DIFFKV"
    assert choose_backend(quantized, ADA, None).name == "TRITON_ATTN_DIFFKV"
    with pytest.raises(NoAttentionBackendError):
        choose_backend(quantized, BLACKWELL, None)


@pytest.mark.parametrize(
    "needs", [replace(LLAMA, head_size=96), replace(LLAMA, has_sink=True), DEEPSEEK]
)
def test_triton_keeps_fp8_from_ada_on(needs: AttentionNeeds) -> None:
    """On A100 it is still picked, and then stops. Source: vLLM 0.33.0, TritonAttentionImpl."""
    quantized = replace(needs, kv_cache_dtype="fp8")
    assert choose_backend(quantized, ADA, None).name.startswith("TRITON")
    assert choose_backend(needs, AMPERE, None)
    with pytest.raises(CacheNotReadError):
        choose_backend(quantized, AMPERE, None)


def test_turboquant_has_no_windows() -> None:
    """Mistral 7B v0.1 does not start with a TurboQuant cache. Source: vLLM 0.33.0's own choice."""
    with pytest.raises(NoAttentionBackendError):
        choose_backend(
            replace(LLAMA, kv_cache_dtype="turboquant_4bit_nc", has_window=True), HOPPER, None
        )


def test_a_block_size_that_is_asked_for_rules_backends_out() -> None:
    """FlashMLA reads nothing below 64 tokens."""
    needs = replace(DEEPSEEK, kv_cache_dtype="fp8")
    assert choose_backend(needs, HOPPER, 32).name == "TRITON_MLA"
    assert choose_backend(needs, HOPPER, 128) is FLASHMLA


def test_backends_of_one_model_share_a_block_size() -> None:
    """The least that each of them reads."""
    assert common_block_size([FLASH_ATTN, TRITON_ATTN]) == 16
    assert common_block_size([FLASHINFER_MLA, INDEXER]) == 64


GEMMA_4 = replace(LLAMA, head_size=512, uneven_heads=True, use_mm_prefix=True)


@pytest.mark.parametrize(
    ("needs", "gpu", "expected", "block_size"),
    [
        (GEMMA_4, HOPPER, "TRITON_FLASH_ATTN", 16),
        (replace(GEMMA_4, kv_cache_dtype="fp8"), HOPPER, "TRITON_FLASH_ATTN", 64),
        (replace(GEMMA_4, use_mm_prefix=False), HOPPER, "FLASH_ATTN", 16),
        (replace(GEMMA_4, kv_cache_dtype="fp8", use_mm_prefix=False), HOPPER, "FLASH_ATTN", 64),
        (GEMMA_4, BLACKWELL, "TRITON_FLASHINFER", 64),
        (replace(GEMMA_4, use_mm_prefix=False), BLACKWELL, "FLASHINFER", 16),
        (GEMMA_4, AMPERE, "TRITON_ATTN", 16),
        (replace(GEMMA_4, use_mm_prefix=False), ADA, "TRITON_ATTN", 16),
        (replace(GEMMA_4, head_size=256), AMPERE, "TRITON_ATTN", 16),
    ],
)
def test_heads_of_uneven_width_are_served_by_the_newest_kernels(
    needs: AttentionNeeds, gpu: tuple[int, int], expected: str, block_size: int
) -> None:
    """Gemma 4: 256 in its windows, 512 elsewhere; FlashAttention 4 is on Hopper and Blackwell.

    Source: vLLM 0.33.0's own choice for these heads, its kernels taken as present.
    """
    backend = choose_backend(needs, gpu, None)
    assert expected == backend.name
    assert block_size == common_block_size([backend])


@pytest.mark.parametrize(
    ("needs", "gpu", "expected"),
    [
        (replace(LLAMA, head_size=96, kv_cache_dtype="fp8"), BLACKWELL, "FLASH_ATTN"),
        (replace(LLAMA, use_mm_prefix=True), BLACKWELL, "FLASH_ATTN"),
        (replace(LLAMA, head_size=80, has_sink=True), BLACKWELL, "FLASH_ATTN"),
        (replace(LLAMA, head_size=96, kv_cache_dtype="fp8"), ADA, "TRITON_ATTN"),
        (replace(LLAMA, head_size=256, use_mm_prefix=True, has_sink=True), HOPPER, "TRITON_ATTN"),
        (replace(LLAMA, head_size=512), HOPPER, "FLASH_ATTN"),
    ],
)
def test_flash_attention_4_widens_what_flash_attention_serves(
    needs: AttentionNeeds, gpu: tuple[int, int], expected: str
) -> None:
    """Pictures, sinks and fp8 caches in heads that FlashInfer does not have.

    Source: vLLM 0.33.0's own choice for these heads, its kernels taken as present.
    """
    assert expected == choose_backend(needs, gpu, None).name
