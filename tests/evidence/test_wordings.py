"""Every wording in which an engine prints its memory, from vLLM 0.5 to 0.33 and two others.

The lines are interface text, as the versions named beside them print it.
"""

import pytest

from pycore.evidence.reading.feed import read_text
from pycore.units import GIB

WEIGHTS = "loaded_weights_bytes_per_rank"
POOL = "available_kv_cache_bytes"

SIZES = [
    ("0.5", "Loading model weights took 14.9888 GB", {WEIGHTS: 14.9888}),
    ("0.10", "Model loading took 27.6656 GiB and 12.345678 seconds", {WEIGHTS: 27.6656}),
    ("0.33", "Model loading took 65.74 GiB memory and 30.123456 seconds", {WEIGHTS: 65.74}),
    (
        "0.8 V0",
        (
            "model weights take 14.99GiB; non_torch_memory takes 0.12GiB; PyTorch activation peak "
            "memory takes 1.19GiB; the rest of the memory reserved for KV Cache is 54.93GiB."
        ),
        {WEIGHTS: 14.99, "non_torch_bytes": 0.12, "activation_bytes": 1.19, POOL: 54.93},
    ),
    (
        "0.7 V0",
        (
            "the current vLLM instance can use total_gpu_memory (79.14GiB) x gpu_memory_utilization "
            "(0.90) = 71.22GiB"
        ),
        {"total_bytes": 79.14, "requested_bytes": 71.22},
    ),
    (
        "0.6 V0",
        (
            "Memory profiling results: duration=2.50 seconds, total_gpu_memory=23.58GiB, "
            "initial_memory_usage=15.42GiB, peak_torch_memory=17.06GiB, "
            "memory_usage_post_profile=15.58GiB, non_torch_memory=0.35GiB, kv_cache_size=3.81GiB, "
            "gpu_memory_utilization=0.90"
        ),
        {
            "total_bytes": 23.58,
            "peak_torch_bytes": 17.06,
            "non_torch_bytes": 0.35,
            POOL: 3.81,
        },
    ),
    (
        "0.19 debug",
        (
            "Memory profiling takes 11.22 seconds. Total non KV cache memory: 37.95GiB; torch peak "
            "memory increase: 1.96GiB; non-torch forward increase memory: 2.1GiB; weights memory: "
            "33.88GiB."
        ),
        {
            "total_non_kv_cache_bytes": 37.95,
            "activation_bytes": 1.96,
            "non_torch_bytes": 2.1,
            WEIGHTS: 33.88,
        },
    ),
    (
        "0.33 debug",
        (
            "Memory profiling takes 9.81 seconds. Total non KV cache memory: 17.0GiB; torch peak "
            "memory increase: 1.4GiB; total consumed (from mem_get_info): 15.26GiB; weights memory: "
            "15.0GiB."
        ),
        {
            "total_non_kv_cache_bytes": 17.0,
            "torch_peak_increase_bytes": 1.4,
            "consumed_bytes": 15.26,
            WEIGHTS: 15.0,
        },
    ),
    ("0.10", "Available KV cache memory: 5.63 GiB", {POOL: 5.63}),
    ("0.22", "Available KV cache memory: -14.28 GiB", {POOL: -14.28}),
    (
        "0.25",
        (
            "Free memory on device (78.68/79.19 GiB) on startup. Desired GPU memory utilization is "
            "(0.95, 75.23 GiB). Actual usage is 14.99 GiB for weight, 1.89 GiB for peak activation, "
            "0.25 GiB for non-torch memory, and 0.91 GiB for CUDAGraph memory. Replace "
            "gpu_memory_utilization config with `--kv-cache-memory=61000000000` (56.81 GiB) to fit "
            "into requested memory, or `--kv-cache-memory=64700000000` (60.26 GiB) to fully utilize "
            "gpu memory. Current kv cache memory in use is 58.11 GiB."
        ),
        {
            "accelerator_free_bytes": 78.68,
            "total_bytes": 79.19,
            "requested_bytes": 75.23,
            WEIGHTS: 14.99,
            "printed_peak_activation_bytes": 1.89,
            "non_torch_bytes": 0.25,
            "cuda_graph_bytes": 0.91,
            POOL: 58.11,
        },
    ),
    (
        "0.27",
        (
            "Actual usage is 56.89 GiB for consumed memory (weights + non-torch), 0.76 GiB for peak "
            "activation, and 0.32 GiB for CUDAGraph memory."
        ),
        {
            "consumed_bytes": 56.89,
            "printed_peak_activation_bytes": 0.76,
            "cuda_graph_bytes": 0.32,
        },
    ),
    ("0.19", "Graph capturing finished in 20 secs, took 1.25 GiB", {"cuda_graph_bytes": 1.25}),
    (
        "0.22",
        "Estimated CUDA graph memory: 0.65 GiB total",
        {"cuda_graph_estimated_bytes": 0.65},
    ),
    (
        "0.31 V2",
        "Estimated MRV2 CUDA graph memory: 0.64 GiB total (0.31 GiB retained in the reusable pool)",
        {"cuda_graph_estimated_bytes": 0.64},
    ),
    (
        "0.25",
        (
            "CUDA graph pool memory: 0.24 GiB (actual), 0.58 GiB (estimated), difference: 0.34 GiB "
            "(142.2%)."
        ),
        {"cuda_graph_bytes": 0.24, "cuda_graph_estimated_bytes": 0.58},
    ),
    (
        "0.33",
        (
            "Initial free memory 94.05 GiB, reserved 19.85 GiB memory for KV Cache as specified by "
            "kv_cache_memory_bytes config and skipped memory profiling."
        ),
        {POOL: 19.85},
    ),
    (
        "0.33",
        (
            "ValueError: To serve at least one request with the model's max seq len (131072), (20.0 "
            "GiB KV cache is needed, which is larger than the available KV cache memory (5.63 GiB). "
            "Based on the available memory, the estimated maximum model length is 36880. Try"
        ),
        {"needed_kv_cache_bytes": 20.0, POOL: 5.63},
    ),
    (
        "SGLang 0.4",
        (
            "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.48 GB, mem "
            "usage=15.11 GB."
        ),
        {WEIGHTS: 15.11},
    ),
    (
        "SGLang 0.5",
        (
            "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 442750, K size: 27.02 GB, V size: "
            "27.02 GB"
        ),
        {POOL: 54.04},
    ),
    (
        "TensorRT-LLM 0.16",
        (
            "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 26.91 GiB for max tokens in paged KV "
            "cache (220480)."
        ),
        {POOL: 26.91},
    ),
]
COUNTS = [
    ("V0", "# GPU blocks: 1952, # CPU blocks: 2048", {"num_gpu_blocks": 1952}),
    ("0.8 V0", "# CUDA blocks: 5519, # CPU blocks: 9362", {"num_gpu_blocks": 5519}),
    ("0.10", "GPU KV cache size: 1,590,736 tokens", {"kv_cache_size_tokens": 1_590_736}),
    (
        "0.10",
        "Maximum concurrency for 8,192 tokens per request: 4.50x",
        {"kv_cache_max_concurrency": 4.5},
    ),
    (
        "0.8",
        "Maximum concurrency for 32768 tokens per request: 2.69x",
        {"kv_cache_max_concurrency": 2.69},
    ),
    (
        "0.33",
        "GPU KV cache size: 36,896 tokens, Maximum concurrency for 8,192 tokens per request: 4.50x",
        {"kv_cache_size_tokens": 36_896, "kv_cache_max_concurrency": 4.5},
    ),
    (
        "0.33",
        (
            "Setting attention block size to 1088 tokens to ensure that attention page size is >= "
            "mamba page size."
        ),
        {"block_size": 1088},
    ),
    ("0.33", "Setting kv cache block size to 64 for FLASHMLA backend(s).", {"block_size": 64}),
    (
        "0.8 V0",
        (
            "The model's max seq len (131072) is larger than the maximum number of tokens that can be "
            "stored in KV cache (37696). Try increasing"
        ),
        {"kv_cache_size_tokens": 37_696, "estimated_max_model_len": 37_696},
    ),
    (
        "SGLang 0.4",
        (
            "max_total_num_tokens=430913, chunked_prefill_size=8192, max_prefill_tokens=16384, "
            "max_running_requests=2049, context_len=4096, available_gpu_mem=6.51 GB"
        ),
        {"kv_cache_size_tokens": 430_913},
    ),
]


@pytest.mark.parametrize(("version", "line", "figures"), SIZES)
def test_a_size_is_read_to_its_last_digit(
    version: str, line: str, figures: dict[str, float]
) -> None:
    """What stands in the line, and no figure besides."""
    findings = read_text(line)
    assert set(figures) == {name for name in findings.figures() if name.endswith(("bytes", "rank"))}
    for figure, size in figures.items():
        assert findings.value(figure) == pytest.approx(size * GIB, abs=1), (version, figure)


@pytest.mark.parametrize(("version", "line", "figures"), COUNTS)
def test_a_count_is_read_whole(version: str, line: str, figures: dict[str, float]) -> None:
    """Blocks, tokens and requests."""
    findings = read_text(line)
    assert figures == {name: findings.value(name) for name in findings.figures()}, version


def test_exact_bytes_beat_the_same_size_rounded() -> None:
    """0.10 and 0.11 print the pool in bytes too, after they printed it in GiB."""
    text = (
        "Available KV cache memory: 55.15 GiB\n"
        "Current kv cache memory in use is 59212694937 bytes.\n"
    )
    assert read_text(text).value(POOL) == 59_212_694_937


def test_a_number_that_was_cut_is_not_a_smaller_one() -> None:
    """A line that ends within a figure yields nothing."""
    for line in (
        "Available KV cache memory: 5",
        "Model loading took 65.7",
        "GPU KV cache size: 36,8",
        "Maximum concurrency for 8,192 tokens per request: 4.",
    ):
        assert read_text(line).figures() == []


def test_what_a_cut_line_still_holds_is_read() -> None:
    """A terminal's width cuts the summary; the terms before the cut stand."""
    line = "Actual usage is 65.74 GiB for weight, 0.98 GiB for peak activation, 0.2 GiB for no"
    findings = read_text(line)
    assert findings.value(WEIGHTS) == round(65.74 * GIB)
    assert findings.value("non_torch_bytes") is None


def test_a_summary_wrapped_over_lines_is_read_term_by_term() -> None:
    """Notes quote it with a line to each term."""
    text = "Actual usage is\n8.8 GiB for weight,\n1.4 GiB for peak activation,\n0.02 GiB for non-torch memory"
    assert read_text(text).value("non_torch_bytes") == round(0.02 * GIB)


def test_sliding_and_full_pools_of_sglang_are_one_pool() -> None:
    """A hybrid model's pools are allocated one by one; the last line says what they hold."""
    text = (
        "KV Cache is allocated. #tokens: 48000, K size: 4.00 GB, V size: 4.00 GB\n"
        "KV Cache is allocated. #tokens: 148717, K size: 6.21 GB, V size: 6.21 GB\n"
        "max_total_num_tokens=148717, chunked_prefill_size=8192, context_len=65536, x=1\n"
    )
    findings = read_text(text)
    assert findings.value(POOL) == pytest.approx(20.42 * GIB, abs=4)
    assert findings.value("kv_cache_size_tokens") == 148_717


def test_two_utilisations_tell_the_estimate_for_graphs() -> None:
    """Since 0.21 the log says which utilisation would have given the same pool without it."""
    text = (
        "Free memory on device (78.84/80.0 GiB) on startup.\n"
        "CUDA graph memory profiling is enabled (default since v0.21.0). The current "
        "--gpu-memory-utilization=0.9200 is equivalent to --gpu-memory-utilization=0.9100 without "
        "CUDA graph memory profiling.\n"
    )
    findings = read_text(text)
    assert findings.value("cuda_graph_estimated_share") == pytest.approx(0.01)
    assert findings.setting("gpu_memory_utilization") == 0.92
