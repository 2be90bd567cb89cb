"""What the engine takes besides weights and cache: by version, shape and what is profiled."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.bridge import answer
from pycore.engine.cuda_graphs import num_capture_sizes, num_cuda_graphs
from pycore.engine.overheads import learnt, learnt_anew
from pycore.engine.versions import VERSIONS, find_version
from pycore.units import GIB

LLAMA = {"model": "llama-3.1-8b-instruct", "accelerator": "a100-sxm-80gb", "max_model_len": 8192}
H100 = {**LLAMA, "accelerator": "h100-sxm-80gb"}
GPT_OSS = {
    "model": "gpt-oss-20b",
    "accelerator": "h100-sxm-80gb",
    "tensor_parallel_size": 2,
    "max_model_len": 8192,
    "engine_version": "0.19.0",
}


def sized(**request: object) -> dict[str, Any]:
    """The result of one request."""
    found: dict[str, Any] = json.loads(answer(json.dumps(request)))["result"]
    return found


def figures(**request: object) -> dict[str, Any]:
    """Every figure of one request's arithmetic, by name."""
    found = sized(**request, figures=True)["figures"]
    return {figure["name"]: figure["value"] for figure in found}


def left(result: dict[str, Any]) -> int:
    """The budget less its printed terms, as the engine computes the pool."""
    return int(
        result["requested_bytes"]
        - result["loaded_weights_bytes_per_rank"]
        - result["activation_bytes"]
        - result["non_torch_bytes"]
    )


@given(st.integers(min_value=1, max_value=512))
def test_capture_sizes_are_counted_as_they_are_listed(largest: int) -> None:
    """1, 2, 4, every 8th below 256, every 16th from there."""
    sizes = [1, 2, 4, *range(8, 256, 8), *range(256, 513, 16)]
    assert num_capture_sizes(largest) == sum(size <= largest for size in sizes)


def test_graphs_are_those_that_logs_print() -> None:
    """51 and 51 for 1,024 sequences; 51 and 35 for 256; 35 and 19 for 128."""
    assert num_cuda_graphs(1024, 8192) == 51 + 51
    assert num_cuda_graphs(256, 2048) == 51 + 35
    assert num_cuda_graphs(128, 2048) == 35 + 19


@pytest.mark.parametrize("facts", VERSIONS, ids=lambda facts: f"0.{facts.version[1]}")
def test_the_pool_is_what_the_terms_leave(facts: Any) -> None:
    """The identity closes to the byte, with graphs in the budget or beyond it."""
    result = sized(**LLAMA, engine_version=f"0.{facts.version[1]}.0")
    gap = left(result) - result["available_kv_cache_bytes"]
    assert gap in {0, result["cuda_graph_bytes"]}


@pytest.mark.parametrize(
    ("version", "counted"),
    [
        ("0.19.0", False),
        ("0.20.2", True),
        ("0.22.1", True),
        ("0.23.0", False),
        ("0.28.0", False),
        ("0.29.0", True),
        ("0.33.0", True),
    ],
)
def test_graphs_leave_the_budget_with_the_runner(version: str, *, counted: bool) -> None:
    """V1 counts them from 0.20 on; V2, which serves Llama from 0.23 on, only from 0.29 on."""
    result = sized(**LLAMA, engine_version=version)
    assert (left(result) != result["available_kv_cache_bytes"]) is counted


@pytest.mark.parametrize("version", ["0.23.0", "0.28.0"])
def test_moe_models_stay_with_the_older_runner_longer(version: str) -> None:
    """Qwen3-30B-A3B: V1, whose estimate for graphs is counted, until V2 serves all."""
    result = sized(
        model="qwen3-30b-a3b",
        accelerator="h100-sxm-80gb",
        engine_version=version,
        max_model_len=8192,
    )
    assert left(result) - result["available_kv_cache_bytes"] == result["cuda_graph_bytes"]


def test_eager_starts_have_neither_graphs_nor_copies() -> None:
    """Nothing is captured and nothing compiled."""
    assert sized(**LLAMA, enforce_eager=True)["cuda_graph_bytes"] == 0
    assert "embedding_copy_bytes" not in figures(**LLAMA, enforce_eager=True)


@pytest.mark.parametrize("size", [2, 4, 8])
def test_the_sampler_does_not_shrink_with_tp_and_the_copy_does(size: int) -> None:
    """Logits are whole on every rank; the embedding is divided."""
    request = {**H100, "engine_version": "0.19.0"}
    one, more = figures(**request), figures(**request, tensor_parallel_size=size)
    assert more["sampler_bytes"] == one["sampler_bytes"]
    batch = 8192 * 4096 * 2
    assert more["embedding_copy_bytes"] - batch == (one["embedding_copy_bytes"] - batch) // size


def test_sorting_logits_took_far_more() -> None:
    """Qwen3-14B on one H100 by version: 5.64 GiB at 0.16, 2.23 GiB at 0.17, as its logs print."""
    request = {"model": "qwen3-14b", "accelerator": "h100-sxm-80gb", "max_model_len": 8192}
    peaks = [
        sized(**request, engine_version=version)["activation_bytes"] / GIB
        for version in ("0.16.0", "0.17.0")
    ]
    assert peaks == pytest.approx([5.64, 2.23], abs=0.05)


def test_fewer_sequences_need_less_for_sampling() -> None:
    """The sampler has a row for every sequence."""
    request = {**H100, "engine_version": "0.19.0"}
    peaks = [sized(**request, max_num_seqs=n)["activation_bytes"] for n in (64, 256, 1024)]
    assert peaks == sorted(peaks)
    assert peaks[0] < peaks[2]


def test_pictures_are_profiled_unless_only_text_is_served() -> None:
    """Gemma 3's tower and the tokens of its pictures are there throughout."""
    request = {"model": "gemma-3-4b-it", "accelerator": "h100-sxm-80gb", "engine_version": "0.19.0"}
    both = sized(**request)["activation_bytes"]
    text = sized(**request, language_model_only=True)["activation_bytes"]
    assert both / GIB == pytest.approx(3.89, abs=0.05)
    assert text < both


def test_defaults_follow_the_version() -> None:
    """0.92 from 0.20 on; one block kept back from 0.29 on; 16,384 tokens from 0.28 on."""
    assert [find_version(f"0.{n}.0").default_gpu_memory_utilization for n in (19, 20)] == [
        0.9,
        0.92,
    ]
    assert [find_version(f"0.{n}.0").blocks_held_back for n in (28, 29)] == [0, 1]
    large = {"model": "qwen3-8b", "accelerator": "b200-sxm", "max_model_len": 8192}
    batches = [
        sized(**large, engine_version=version)["chosen"]["max_num_batched_tokens"]
        for version in ("0.27.0", "0.28.0")
    ]
    assert batches == [8192, 16384]


def test_older_versions_print_the_tokens_of_blocks() -> None:
    """gpt-oss-20b has two groups: half its blocks' tokens, not concurrency times length."""
    old, new = sized(**GPT_OSS), sized(**{**GPT_OSS, "engine_version": "0.20.2"})
    assert old["kv_cache_size_tokens"] == old["num_gpu_blocks"] // 2 * 16
    held = new["kv_cache_max_concurrency"] * new["max_model_len"]
    assert new["kv_cache_size_tokens"] == int(held)


def test_a_start_that_died_warming_up_is_warned_of() -> None:
    """gpt-oss-20b on two H100 with vLLM 0.19: died at 0.95, started at 0.90."""
    kinds = [
        {note["kind"] for note in sized(**GPT_OSS, gpu_memory_utilization=share)["notes"]}
        for share in (0.95, 0.90)
    ]
    assert "warm_up_outside_budget" in kinds[0]
    assert "warm_up_outside_budget" not in kinds[1]


@pytest.mark.parametrize(("size", "starts"), [(1, True), (2, False)])
def test_ranks_take_memory_before_the_engine_looks(size: int, *, starts: bool) -> None:
    """0.995 of an H100 is free for one rank; with several, NCCL has already taken more."""
    result = sized(**H100, tensor_parallel_size=size, gpu_memory_utilization=0.995)
    kinds = [refusal["kind"] for refusal in result["refusals"]]
    assert result["starts"] is starts
    assert kinds == ([] if starts else ["free_memory_too_small"])


@given(st.sampled_from([f"0.{n}.0" for n in range(10, 34)]), st.sampled_from([1, 2, 4]))
def test_every_estimate_lies_within_its_range(version: str, size: int) -> None:
    """Low, value, high: for every estimated figure of every version."""
    result = sized(**LLAMA, engine_version=version, tensor_parallel_size=size)
    assert "available_kv_cache_bytes" in result["bounds"]
    for figure, (low, high) in result["bounds"].items():
        assert low <= result[figure] <= high, figure


def test_measured_terms_replace_the_estimates() -> None:
    """With every term measured the pool has no range left."""
    measured = {"activation_bytes": GIB, "cuda_graph_bytes": GIB, "non_torch_bytes": GIB}
    result = sized(**LLAMA, measured=measured)
    assert "available_kv_cache_bytes" not in result["bounds"]
    assert (
        result["requested_bytes"] - result["loaded_weights_bytes_per_rank"] - 3 * GIB
        == (result["available_kv_cache_bytes"])
    )


def test_constants_learnt_anew_hold_only_meanwhile() -> None:
    """A refit with runs left out must leave no trace."""
    before = learnt("base_bytes")
    with learnt_anew({"base_bytes": 0.0}):
        assert learnt("base_bytes") == 0
    assert learnt("base_bytes") == before
