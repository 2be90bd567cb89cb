"""From mixers to pools: the engine's own figures for models of every kind.

Source of the expected values: golden/vllm-0.33.jsonl and facts of the same runs.
"""

from collections.abc import Sequence

import pytest

from pycore.engine.cache_settings import CacheSettings
from pycore.engine.kv.capacity import needed_bytes
from pycore.engine.kv.groups import KVCachePlan, plan
from pycore.engine.kv.layer_specs import CacheLayers, cache_layers
from pycore.engine.kv.specs import RequestLimits, SlidingWindowSpec
from pycore.model.latent import Indexer, LatentAttention
from pycore.model.layers import (
    AnyMixer,
    ChunkedLocalAttention,
    FullAttention,
    NoMixer,
    ParallelMixers,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)
from pycore.model.recurrent import GatedDeltaNet, Mamba2

GIB = 1 << 30
HOPPER = (9, 0)

LLAMA = FullAttention(64, 8, 128, 128)
GEMMA = FullAttention(32, 16, 128, 128)
GEMMA_3_27B = tuple(
    GEMMA if (index + 1) % 6 == 0 else SlidingWindowAttention(GEMMA, 1024) for index in range(62)
)
GPT_OSS = FullAttention(64, 8, 64, 64, sinks=True)
GPT_OSS_20B = (SlidingWindowAttention(GPT_OSS, 128), GPT_OSS) * 12
SCOUT = FullAttention(40, 8, 128, 128)
LLAMA_4_SCOUT = (*(ChunkedLocalAttention(SCOUT, 8192),) * 3, SCOUT) * 12
DEEPSEEK_V3 = (LatentAttention(128, 1536, 512, 128, 64, 128),) * 61
DEEPSEEK_V32 = (LatentAttention(128, 1536, 512, 128, 64, 128, Indexer(64, 128, 2048)),) * 61
GLM_5_2 = (
    *(LatentAttention(64, 2048, 512, 192, 64, 256, Indexer(32, 128, 2048)),) * 21,
    *(LatentAttention(64, 2048, 512, 192, 64, 256, Indexer(32, 128, 2048, keeps_keys=False)),) * 57,
)
DELTA = GatedDeltaNet(16, 32, 128, 128, 4, ssm_dtype="float32")
QWEN_3_5_35B = (*(DELTA,) * 3, FullAttention(16, 2, 256, 256)) * 10
NEMOTRON_STATE = Mamba2(256, 64, 8, 256, 4, 16384, ssm_dtype="float32")
NEMOTRON_H_56B = (
    *(NEMOTRON_STATE,) * 54,
    *(NoMixer(),) * 54,
    *(FullAttention(64, 8, 128, 128),) * 10,
)


def pool(
    mixers: Sequence[AnyMixer],
    *,
    tp: int = 1,
    dcp: int = 1,
    kv_cache_dtype: str = "auto",
    gpu: tuple[int, int] = HOPPER,
    max_num_batched_tokens: int = 8192,
    prefix_caching: bool = True,
    hybrid: bool = True,
) -> tuple[CacheLayers, KVCachePlan]:
    """The layers and the groups of a model on one pipeline stage."""
    settings = CacheSettings(
        dtype="bfloat16",
        compute_capability=gpu,
        max_model_len=8192,
        tensor_parallel_size=tp,
        decode_context_parallel_size=dcp,
        kv_cache_dtype=kv_cache_dtype,
        enable_prefix_caching=prefix_caching,
    )
    limits = RequestLimits(
        max_in_flight_tokens=2 * max_num_batched_tokens, decode_context_parallel_size=dcp
    )
    layers = cache_layers(mixers, (len(mixers),), settings)
    return layers, plan(layers.layers, limits, hybrid_kv_cache_manager=hybrid)


def gib(layers_and_groups: tuple[CacheLayers, KVCachePlan], request_tokens: int) -> float:
    """GiB that one request takes, to two places."""
    return round(needed_bytes(layers_and_groups[1], request_tokens) / GIB, 2)


def test_kv_heads_are_copied_when_ranks_outnumber_them() -> None:
    """Eight KV heads over sixteen ranks: one each, so no less than over eight."""
    eight, sixteen = pool((LLAMA,) * 80, tp=8), pool((LLAMA,) * 80, tp=16)
    assert eight[1].bytes_per_block_by_stage == sixteen[1].bytes_per_block_by_stage


def test_latent_attention_is_whole_on_every_rank() -> None:
    """DeepSeek-V3: one request of 163,840 tokens takes 10.72 GiB on each GPU, one or eight."""
    assert gib(pool(DEEPSEEK_V3), 163840) == gib(pool(DEEPSEEK_V3, tp=8), 163840) == 10.72


def test_decode_context_parallelism_alone_divides_latent_attention() -> None:
    """8,784 bytes a token and GPU instead of 70,272."""
    _, whole = pool(DEEPSEEK_V3, tp=8)
    _, shared = pool(DEEPSEEK_V3, tp=8, dcp=8)
    assert needed_bytes(whole, 163840) == 163840 * 70272
    assert needed_bytes(shared, 163840) == 163840 * 8784


@pytest.mark.parametrize(
    ("kv_cache_dtype", "expected"), [("auto", 78324), ("fp8", 48068), ("fp8_ds_mla", 48068)]
)
def test_an_indexer_adds_its_keys(kv_cache_dtype: str, expected: int) -> None:
    """DeepSeek-V3.2: one group of 61 latent layers and 61 indexers, in blocks of 64."""
    layers, groups = pool(DEEPSEEK_V32, kv_cache_dtype=kv_cache_dtype)
    assert layers.block_size == 64
    assert len(groups.groups) == 1
    assert groups.bytes_per_block_by_stage == (64 * expected,)


def test_layers_that_reuse_a_choice_keep_no_keys() -> None:
    """GLM-5.2: an indexer's cache in 21 layers of 78."""
    _, groups = pool(GLM_5_2)
    assert groups.bytes_per_block_by_stage == (64 * (78 * 1152 + 21 * 132),)


def test_windows_cost_what_is_in_flight() -> None:
    """Gemma 3 27B at 131,072 tokens: 17.98 GiB, 12.35 with smaller batches, 62 without groups."""
    assert gib(pool(GEMMA_3_27B), 131072) == 17.98
    assert gib(pool(GEMMA_3_27B, max_num_batched_tokens=2048), 131072) == 12.35
    assert gib(pool(GEMMA_3_27B, hybrid=False), 131072) == 62.0


def test_without_groups_windows_and_chunks_cost_as_full_attention() -> None:
    """gpt-oss-20b 3.38 against 6.0 GiB; Llama 4 Scout at ten million tokens 120.6 against 480."""
    assert (gib(pool(GPT_OSS_20B), 131072), gib(pool(GPT_OSS_20B, hybrid=False), 131072)) == (
        3.38,
        6.0,
    )
    assert gib(pool(LLAMA_4_SCOUT, tp=4, hybrid=False), 10485760) == 480.0
    assert gib(pool(LLAMA_4_SCOUT, tp=4), 10485760) == pytest.approx(121, abs=1)


def test_a_state_costs_its_copies_however_short_the_request() -> None:
    """Nemotron-H 56B: 2.99 GiB for one token, 1.26 for 8,192 without prefix caching."""
    assert gib(pool(NEMOTRON_H_56B), 1) == 2.99
    assert gib(pool(NEMOTRON_H_56B), 8192) == 3.15
    assert gib(pool(NEMOTRON_H_56B, prefix_caching=False), 8192) == 1.26


@pytest.mark.parametrize(
    ("gpu", "prefix_caching", "expected"),
    [(HOPPER, True, 1088), (HOPPER, False, 1056), ((8, 0), True, 1056), ((10, 0), True, 1088)],
)
def test_blocks_of_a_hybrid_follow_its_kernels(
    gpu: tuple[int, int], expected: int, *, prefix_caching: bool
) -> None:
    """Qwen3.5-35B-A3B: multiples of 64 where FlashInfer leaves checkpoints inside a prefill."""
    layers, _ = pool(QWEN_3_5_35B, gpu=gpu, prefix_caching=prefix_caching)
    assert layers.block_size == expected


def test_layers_that_share_keys_and_values_keep_none() -> None:
    """Gemma 3n: 15 of 35 layers."""
    own = (LLAMA,) * 20
    with_sharers = (*own, *(SharedKeyValueAttention(LLAMA),) * 15)
    assert pool(own)[1] == pool(with_sharers)[1]


def test_attention_and_a_state_in_one_layer_make_two_groups() -> None:
    """Falcon-H1: 44 layers of each."""
    both = ParallelMixers(FullAttention(12, 2, 128, 128), Mamba2(24, 128, 1, 256, 4, 3072))
    _, groups = pool((both,) * 44)
    assert [group.layers[0].num_layers for group in groups.groups] == [44, 44]


def test_smaller_pages_get_longer_blocks() -> None:
    """Gemma 4 26B: full layers keep half the bytes a token, so their blocks hold 32 tokens."""
    window = SlidingWindowAttention(FullAttention(16, 8, 256, 256), 1024)
    full = FullAttention(16, 2, 512, 512)
    _, groups = pool((*(window,) * 5, full) * 5)
    block_sizes = {group.demand.tokens_per_block for group in groups.groups}
    assert block_sizes == {16, 32}
    assert groups.bytes_per_block_by_stage == (5 * 16 * 8192,)


def test_turboquant_leaves_the_ends_of_the_stack_alone() -> None:
    """Llama 3.3 70B at TP 4: four layers in bfloat16 beside 76 packed ones, in blocks of 32."""
    layers, groups = pool((LLAMA,) * 80, tp=4, kv_cache_dtype="turboquant_4bit_nc")
    assert layers.block_size == 32
    assert groups.bytes_per_block_by_stage == (32 * 2 * (76 * 134 + 4 * 512),)


@pytest.mark.parametrize(("asked", "held"), [(32, 32), (48, 32), (96, 64), (256, 64)])
def test_a_windows_blocks_are_no_larger_than_flashinfer_reads(asked: int, held: int) -> None:
    """On B200, whatever block size is asked for; FlashAttention reads any multiple of 16.

    Source: vLLM 0.33.0, layers/attention/attention.py, asked for Mistral 7B v0.1.
    """
    window = SlidingWindowAttention(FullAttention(32, 8, 128, 128), 4096)
    for capability, expected in (((10, 0), held), (HOPPER, asked)):
        settings = CacheSettings(
            compute_capability=capability,
            dtype="bfloat16",
            max_model_len=32768,
            tensor_parallel_size=2,
            block_size=asked,
        )
        (layer,) = cache_layers([window] * 32, [32], settings).layers
        assert isinstance(layer.spec, SlidingWindowSpec)
        assert layer.spec.pages.block_size == expected


def test_a_windows_blocks_before_pictures_are_of_64_on_blackwell() -> None:
    """Gemma's text and pictures take two kernels side by side, which read 64 tokens at once.

    Source: vLLM 0.33.0, the same rule, asked for Gemma 4 31B with blocks of 128.
    """
    window = SlidingWindowAttention(FullAttention(32, 16, 256, 256), 1024)
    settings = CacheSettings(
        compute_capability=(10, 0),
        dtype="bfloat16",
        max_model_len=32768,
        block_size=128,
        use_mm_prefix=True,
    )
    (layer,) = cache_layers([window] * 4, [4], settings).layers
    assert isinstance(layer.spec, SlidingWindowSpec)
    assert layer.spec.pages.block_size == 64
