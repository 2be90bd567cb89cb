"""Attention kernels on AMD's GPUs, and GPUs of which only the memory is known.

Source of the expected figures: vLLM 0.33.0, platforms/rocm.py and the backends that it names.
"""

from typing import Any

import pytest

from pycore.engine.attention.backends import choose_backend, common_block_size
from pycore.engine.attention.needs import AttentionNeeds
from pycore.engine.attention.rocm import ROCM_AITER_UNIFIED_ATTN, ROCM_ATTN
from pycore.hardware.accelerators import catalogue, find
from pycore.request import read_scenario
from pycore.sizing.result import SizeResult
from pycore.sizing.size import size

NONE = (0, 0)
AMD = [key for key, row in catalogue().items() if row["vendor"] == "AMD" and row["total_bytes"]]


def needs(head_size: int = 128, **changes: Any) -> AttentionNeeds:
    """A plain layer's needs, changed."""
    plain: dict[str, Any] = {"kind": "grouped", "dtype": "bfloat16", "kv_cache_dtype": "auto"}
    return AttentionNeeds(**{**plain, "head_size": head_size, **changes})


def sized(**request: object) -> SizeResult:
    """The answer to a request."""
    return size(read_scenario(request))


def kinds(result: SizeResult) -> set[str]:
    """The kinds of its notes."""
    return {note.kind for note in result.notes}


@pytest.mark.parametrize(
    ("generation", "asked", "expected"),
    [
        (2, needs(), "ROCM_ATTN"),
        (4, needs(kv_cache_dtype="fp8"), "ROCM_ATTN"),
        (2, needs(has_sink=True), "TRITON_ATTN"),
        (3, needs(has_sink=True), "ROCM_AITER_UNIFIED_ATTN"),
        (3, needs(512), "ROCM_AITER_UNIFIED_ATTN"),
        (3, needs(512, uneven_heads=True), "TRITON_ATTN"),
        (3, needs(use_mm_prefix=True), "TRITON_ATTN"),
        (3, needs(kv_cache_dtype="turboquant_4bit_nc"), "TURBOQUANT"),
        (2, needs(576, kind="latent"), "TRITON_MLA"),
        (3, needs(576, kind="sparse_latent"), "ROCM_AITER_MLA_SPARSE"),
        (3, needs(192, kind="differing_widths"), "TRITON_ATTN_DIFFKV"),
    ],
)
def test_kernels_are_amds_own(generation: int, asked: AttentionNeeds, expected: str) -> None:
    """AMD's, then AITER's where its generation has them, then Triton's."""
    assert expected == choose_backend(asked, NONE, None, generation).name


def test_a_kernel_that_is_alone_takes_the_blocks_that_it_likes() -> None:
    """Beside another, the 16 tokens that both read."""
    assert common_block_size([ROCM_AITER_UNIFIED_ATTN]) == 64
    assert common_block_size([ROCM_ATTN, ROCM_AITER_UNIFIED_ATTN]) == 16


@pytest.mark.parametrize(
    ("accelerator", "block_size"), [("mi210", 16), ("mi300x", 64), ("h100-sxm-80gb", 16)]
)
def test_sinks_decide_the_blocks(accelerator: str, block_size: int) -> None:
    """Only AITER's unified kernel and Triton's have them."""
    assert block_size == sized(model="gpt-oss-20b", accelerator=accelerator).block_size


def test_an_fp8_cache_is_not_refused_for_an_age_that_nvidia_counts() -> None:
    """Triton's check of the compute capability is for NVIDIA's GPUs."""
    asked = {"model": "gpt-oss-20b", "kv_cache_dtype": "fp8"}
    assert not sized(**asked, accelerator="mi210").refusals
    assert sized(**asked, accelerator="a100-sxm-80gb").refusals


def test_a_refusal_names_the_platform() -> None:
    """No kernel of AMD's keeps nvfp4."""
    asked = {"model": "llama-3.1-8b-instruct", "kv_cache_dtype": "nvfp4"}
    refusal = sized(**asked, accelerator="mi210").refusals[0]
    assert refusal.kind == "no_attention_backend"
    assert "found for rocm with" in refusal.message
    assert "cuda" not in refusal.message


@pytest.mark.parametrize("accelerator", AMD)
def test_every_amd_gpu_has_a_generation_and_a_note(accelerator: str) -> None:
    """None is taken for one of NVIDIA's."""
    entry = find(accelerator)
    assert entry.cdna_generation
    assert entry.compute_capability is None
    assert "rocm_kernels" in kinds(sized(model="qwen3-0.6b", accelerator=accelerator))


def test_of_a_gpu_of_ones_own_the_rest_is_an_h100s_and_a_note_says_so() -> None:
    """The same memory gives the same answer, but for the note and the name."""
    h100 = find("h100-sxm-80gb")
    asked = {"model": "llama-3.3-70b-instruct", "tensor_parallel_size": 4}
    own = sized(**asked, accelerator_total_bytes=h100.total_bytes)
    named = sized(**asked, accelerator=h100.id)
    assert own.available_kv_cache_bytes == named.available_kv_cache_bytes
    assert own.num_gpu_blocks == named.num_gpu_blocks
    assert kinds(own) - kinds(named) == {"assumed_generation"}


def test_a_gpu_of_ones_own_is_not_refused_for_its_age() -> None:
    """Its generation is assumed: what a Hopper is too old for, it may well run."""
    asked = {"model": "qwen3-30b-a3b", "quantization": "nvfp4_per_token"}
    refused = [one.kind for one in sized(**asked, accelerator="h100-sxm-80gb").refusals]
    assert refused == ["quantisation_not_on_accelerator"]
    assert not sized(**asked, accelerator_total_bytes=85_028_503_552).refusals
