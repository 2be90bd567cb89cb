"""Every error that a user may paste: told apart, explained with its numbers, and cured.

The lines are the engines' and the tools' own words, as interface text.
"""

from typing import Any

import pytest

from pycore.evidence.errors import container as container_errors
from pycore.evidence.errors import memory as memory_errors
from pycore.evidence.errors import shape as shape_errors
from pycore.evidence.reading.sightings import WORDINGS
from tests.evidence.asking import R1, check

# kind, the line, and words that its explanation must hold.
ERRORS = [
    (
        "free_memory_too_small",
        (
            "ValueError: Free memory on device cuda:0 (21.37/23.72 GiB) on startup is less than "
            "desired GPU memory utilization (0.95, 22.54 GiB). Decrease GPU memory utilization or "
            "reduce GPU memory used by other processes."
        ),
        ["2.35 GiB are held", "share that fits is 0.9", "65.74 GiB of weights do not"],
    ),
    (
        "no_memory_for_kv_cache",
        (
            "ValueError: No available memory for the cache blocks. Try increasing "
            "`gpu_memory_utilization` when initializing the engine"
        ),
        ["GiB"],
    ),
    (
        "kv_cache_too_small",
        (
            "ValueError: To serve at least one request with the model's max seq len (131072), (20.0 GiB "
            "KV cache is needed, which is larger than the available KV cache memory (5.63 GiB). Based "
            "on the available memory, the estimated maximum model length is 36880. Try"
        ),
        ["131,072 tokens takes 20.0 GiB", "160.0 KiB a token", "36,880"],
    ),
    (
        "kv_cache_too_small",
        (
            "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens "
            "that can be stored in KV cache (37696). Try increasing"
        ),
        ["37,696"],
    ),
    ("kv_cache_too_small", "ValueError: Cannot auto-fit max_model_len: not enough GPU memory", []),
    (
        "weights_exceed_budget",
        "ERROR 07-01 12:00:00 [m.py:1] Failed to load model - not enough GPU memory. Try lowering",
        ["GiB of weights"],
    ),
    (
        "warm_up_out_of_memory",
        (
            "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy "
            "requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization`"
        ),
        ["1024 × 128,256 × 4 bytes = 0.49 GiB"],
    ),
    (
        "out_of_memory",
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 786.00 MiB. GPU 0 has a "
            "total capacity of 79.11 GiB of which 140.75 MiB is free."
        ),
        ["786.00 MiB", "140.75 MiB of 79.11 GiB"],
    ),
    (
        "memory_released_while_profiling",
        (
            "AssertionError: Error in memory profiling. Initial free memory 30.1 GiB, current free "
            "memory 45.6 GiB. This happens when other processes"
        ),
        ["15.50 GiB"],
    ),
    (
        "too_many_accelerators",
        "ValueError: World size (8) is larger than the number of available GPUs (4) in this node.",
        ["8 ranks", "sees 4"],
    ),
    (
        "too_many_accelerators",
        "world size (2) is larger than the number of available GPUs (1)",
        ["2 ranks", "sees 1"],
    ),
    (
        "indivisible_heads",
        (
            "  Value error, Total number of attention heads (28) must be divisible by tensor parallel "
            "size (8). [type=value_error]"
        ),
        ["28 heads over 8", "1, 2, 4, 7, 14, 28"],
    ),
    (
        "indivisible_kv_heads",
        "    assert self.total_num_kv_heads % tp_size == 0\nAssertionError",
        [],
    ),
    ("indivisible_other", "AssertionError: 10 is not divisible by 4", ["10", "4 ranks"]),
    (
        "indivisible_other",
        (
            "AssertionError: If tensor parallel world size does not divide num_groups, then num_groups "
            "must equal 1."
        ),
        [],
    ),
    (
        "unaligned_quantised_shard",
        (
            "ValueError: The input size is not aligned with the quantized weight shape. This can be "
            "caused by too large tensor parallel size."
        ),
        [],
    ),
    (
        "unaligned_quantised_shard",
        (
            "ValueError: Weight output_size_per_partition = 96 is not divisible by  min_thread_n = 64. "
            "Consider reducing tensor_parallel_size"
        ),
        ["96", "64"],
    ),
    (
        "unaligned_quantised_shard",
        (
            "ValueError: Weight input_size_per_partition = 1848 is not divisible by weight quantization "
            "block_k = 128."
        ),
        ["1848", "128"],
    ),
    (
        "unaligned_quantised_shard",
        (
            "ValueError: The output_size of gate's and up's weight = 192 is not divisible by weight "
            "quantization block_n = 128."
        ),
        ["192", "128"],
    ),
    (
        "unaligned_quantised_shard",
        (
            "ValueError: Weight input_size_per_partition=3696 for layer 'x' is not divisible by "
            "group_size=128. This happens when"
        ),
        [],
    ),
    (
        "indivisible_other",
        "ValueError: Tensor parallel size 16 is greater than the number of experts 8.",
        ["TP 16 against 8 experts"],
    ),
    ("context_parallel", "ValueError: tp_size=8 must be divisible by dcp_size=3.", []),
    (
        "context_parallel",
        "ValueError: Decode context parallelism for GQA/MQA requires `--tensor-parallel-size` (4) to",
        [],
    ),
    (
        "pipeline_parallel",
        "NotImplementedError: Pipeline parallelism is not supported for this model. Supported",
        [],
    ),
    (
        "max_model_len_above_model",
        (
            "ValueError: User-specified max_model_len (200000) is greater than the derived "
            "max_model_len (max_position_embeddings=131072.0 or model_max_length=None in model's"
        ),
        ["200,000", "131,072"],
    ),
    (
        "batched_tokens_too_small",
        (
            "ValueError: max_num_batched_tokens (512) must be greater than or equal to max_num_seqs "
            "(1024)."
        ),
        ["512 tokens a step, 1024 sequences"],
    ),
    (
        "batched_tokens_too_small",
        "ValueError: max_num_batched_tokens (2048) is smaller than max_model_len (8192). This",
        ["2048", "8192"],
    ),
    (
        "quantisation_not_on_accelerator",
        (
            "ValueError: The quantization method fp8 is not supported for the current GPU. Minimum "
            "capability: 89. Current capability: 80."
        ),
        ["8.9", "8.0"],
    ),
    (
        "dtype_not_on_accelerator",
        (
            "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. "
            "Your Tesla T4 GPU has compute capability 7.5. You can use float16 instead"
        ),
        ["Tesla T4 has 7.5"],
    ),
    ("no_attention_backend", "ValueError: No valid attention backend found for cuda with X", []),
    (
        "unsupported_architecture",
        "ValueError: Model architectures ['FooForCausalLM'] are not supported for now.",
        ["FooForCausalLM"],
    ),
    (
        "disk_full",
        "RuntimeError: Data processing error: Internal Writer Error: Background writer channel closed",
        ["131.", "GiB of weights"],
    ),
    (
        "disk_full",
        "OSError: [Errno 28] No space left on device: '/home/vllm/.cache/huggingface'",
        ["GiB"],
    ),
    (
        "disk_full",
        "Warning  Evicted  kubelet  The node was low on resource: ephemeral-storage. Threshold",
        ["GiB"],
    ),
    ("out_of_host_memory", "      Reason:       OOMKilled", ["131."]),
    ("out_of_host_memory", "      Exit Code:    137", ["2 workers"]),
    ("out_of_host_memory", "container exited with code 137", ["2 workers"]),
    (
        "shared_memory",
        "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-AbCdEf (size 9637888)",
        ["64 MiB", "9.2 MiB"],
    ),
    ("shared_memory", "Bus error (core dumped)", ["64 MiB"]),
    (
        "shared_memory",
        "RuntimeError: unable to open shared memory object </torch_1_2_3> in read-write mode",
        ["64 MiB"],
    ),
    (
        "accelerators_not_allocatable",
        "Warning  FailedScheduling  0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
        ["3 nodes"],
    ),
    ("no_accelerator", "RuntimeError: No CUDA GPUs are available", []),
    ("no_accelerator", "RuntimeError: Failed to infer device type", []),
    ("probe_failed", "Warning  Unhealthy  Startup probe failed: connection refused", ["GiB"]),
    ("gated_model", "OSError: You are trying to access a gated repo.", []),
    ("collectives_failed", "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:268", ["NCCL_DEBUG"]),
    (
        "driver_too_old",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12040). Please",
        ["CUDA 12.4"],
    ),
    (
        "no_kernel_for_accelerator",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        [],
    ),
    (
        "kernel_too_large",
        (
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 66560, "
            "Hardware limit: 65536. Reducing block sizes or `num_stages` may help."
        ),
        ["66,560", "65,536"],
    ),
    (
        "illegal_memory_access",
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        ["fault of the code"],
    ),
    (
        "sglang_pool_too_small",
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        [],
    ),
    (
        "preempted",
        "WARNING [scheduler.py:1057] Sequence group 0 is preempted by PreemptionMode.SWAP mode",
        [],
    ),
    ("engine_died", "RuntimeError: Engine core initialization failed. See root cause above.", []),
]


def first_error(text: str, **request: Any) -> dict[str, Any]:
    """The first error of a text, explained for R1."""
    errors = check(text, **{**R1, **request})["errors"]
    assert errors, text
    found: dict[str, Any] = errors[0]
    return found


@pytest.mark.parametrize(("kind", "line", "words"), ERRORS)
def test_an_error_is_told_and_explained(kind: str, line: str, words: list[str]) -> None:
    """Its kind, what it means, and why with its own numbers."""
    error = first_error(line)
    assert error["kind"] == kind
    assert error["meaning"]
    for word in words:
        assert word in f"{error['meaning']} {error['why']}"


def test_every_kind_has_a_line_above() -> None:
    """No wording without an example, and no example without someone who explains it."""
    told = {*memory_errors.TELLERS, *shape_errors.TELLERS, *container_errors.TELLERS}
    assert {kind for kind, _, _ in ERRORS} == {item.kind for item in WORDINGS} == told


@pytest.mark.parametrize(("kind", "line", "words"), ERRORS)
def test_an_error_has_a_cure(kind: str, line: str, words: list[str]) -> None:
    """A change that lets it start, or what to do elsewhere; the engine's own death has neither."""
    error = first_error(line)
    if kind in {"engine_died", "indivisible_kv_heads"}:
        return
    assert error["remedies"], kind
    assert all(remedy["label"] for remedy in error["remedies"])


def test_the_cheapest_cure_of_a_small_pool_is_what_fits() -> None:
    """R1: 36,880 tokens, then less need of the pool; with the run's own terms each is sized."""
    text = (
        "vLLM API server version 0.33.0\n"
        "Model loading took 65.74 GiB memory and 30.1 seconds\n"
        "Available KV cache memory: 5.63 GiB\n"
        "ValueError: To serve at least one request with the model's max seq len (131072), (20.0 GiB "
        "KV cache is needed, which is larger than the available KV cache memory (5.63 GiB). Based "
        "on the available memory, the estimated maximum model length is 36880. Try\n"
    )
    remedies = first_error(text)["remedies"]
    assert remedies[0]["changes"] == {"max_model_len": 36_880}
    assert remedies[0]["longest_request_tokens"] == 36_880
    assert all(remedy["verdict"] in {"fits", "tight"} for remedy in remedies)


def test_an_allocation_that_failed_is_told_by_where_it_failed() -> None:
    """In the profile fewer tokens help, after the pool a smaller share of the GPU."""
    failure = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 786.00 MiB.\n"
    loaded = "Model loading took 65.74 GiB memory and 30.1 seconds\n"
    laid_out = loaded + "Available KV cache memory: 5.63 GiB\n"
    captured = laid_out + "Graph capturing finished in 20 secs, took 1.25 GiB\n"
    words = {
        failure: "at a time that the text does not tell",
        loaded + failure: "profiling run",
        laid_out + failure: "CUDA graphs were captured",
        captured + failure: "warm-up",
        captured + "Application startup complete.\n" + failure: "while serving",
    }
    for text, word in words.items():
        assert word in first_error(text)["why"]
    assert changed(loaded + failure)[:2] == ["max_num_batched_tokens", "max_num_seqs"]
    assert changed(laid_out + failure)[0] == "gpu_memory_utilization"


FULL = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 786.00 MiB. GPU 0 has a total "
    "capacity of 79.11 GiB of which 140.75 MiB is free. Including non-PyTorch memory, this process "
    "has 78.96 GiB memory in use. Of the allocated memory 77.21 GiB is allocated by PyTorch, and "
    "275.38 MiB is reserved by PyTorch but unallocated.\n"
)


def test_what_was_allocated_tells_whether_the_weights_were_there() -> None:
    """77.21 GiB are more than the weights: no raise of the utilisation is a cure of that."""
    error = first_error(FULL, max_model_len=8192)
    assert "after the weights were loaded" in error["why"]
    assert "77.21 GiB; the weights that Napkin sizes are 65.74 GiB" in error["why"]
    fields = [field for remedy in error["remedies"] for field in remedy["changes"]]
    assert fields == [
        "gpu_memory_utilization",
        "max_num_seqs",
        "max_num_batched_tokens",
        "tensor_parallel_size",
    ]
    assert error["remedies"][0]["changes"]["gpu_memory_utilization"] < 0.92
    # Where the longest request does not fit anyway, less is said to be not enough.
    refused = first_error(FULL, max_model_len=32768)["remedies"]
    assert [field for remedy in refused for field in remedy["changes"]] == fields
    assert {remedy["verdict"] for remedy in refused[:-1]} == {"refused"}
    assert refused[-1]["verdict"] in {"fits", "tight"}
    loading = FULL.replace("77.21", "43.07").replace("78.96", "44.10")
    error = first_error(loading, max_model_len=8192)
    assert "while the weights were loaded" in error["why"]
    assert "34.87 GiB were held by other processes" in error["why"]
    fields = [field for remedy in error["remedies"] for field in remedy["changes"]]
    assert fields == ["quantization", "tensor_parallel_size"]


FRAME = (
    '(EngineCore pid=7) ERROR 07-01 12:00:00 [core.py:708]   File "gpu_worker.py", line 1, in {}\n'
)


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        (["load_model", "load_weights"], "while the weights were loaded"),
        (["determine_available_memory", "profile_run", "_dummy_sampler_run"], "profiling run"),
        (["initialize_from_config", "initialize_kv_cache"], "while the KV cache was laid out"),
        (["compile_or_warm_up_model", "capture_model"], "CUDA graphs were captured"),
        (["compile_or_warm_up_model", "kernel_warmup"], "in the warm-up"),
        (["run_busy_loop", "_process_engine_step", "execute_model"], "while serving"),
        (["profile_num_available_blocks", "execute_model"], "profiling run"),
    ],
)
def test_a_traceback_tells_when_memory_ran_out(frames: list[str], words: str) -> None:
    """By the frames of the process that failed, whatever others print between them."""
    other = FRAME.replace("pid=7", "pid=8").format("load_model")
    text = "Traceback (most recent call last):\n" + "".join(
        FRAME.format(frame) + other for frame in frames
    )
    error = first_error(text + "(EngineCore pid=7) " + FULL)
    assert words in error["why"]


def test_the_traceback_below_a_headline_tells_when() -> None:
    """Reports open with the error, and quote the log after it."""
    text = FULL + FRAME.format("profile_run") + "(EngineCore pid=7) " + FULL
    errors = check(text, **R1)["errors"]
    assert len(errors) == 1
    assert "in the profiling run" in errors[0]["why"]


@pytest.mark.parametrize(
    "line",
    [
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB (GPU 0; "
            "23.69 GiB total capacity; 20.33 GiB already allocated; 126.81 MiB free; 20.40 GiB "
            "reserved in total by PyTorch)"
        ),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 "
            "has a total capacty of 23.69 GiB of which 126.81 MiB is free. Process 4183 has 23.50 "
            "GiB memory in use. Of the allocated memory 20.33 GiB is allocated by PyTorch"
        ),
    ],
)
def test_older_words_for_an_allocation_are_read(line: str) -> None:
    """PyTorch 1.13 and 2.1."""
    why = first_error(line)["why"]
    assert "224.00 MiB were asked for" in why
    assert "126.81 MiB of 23.69 GiB were free" in why
    assert "held 20.33 GiB" in why


def test_the_engines_own_advice_comes_first_and_new_gpus_last() -> None:
    """A refusal names the length that fits; it is a cure whatever the scenario beside it is."""
    text = (
        "ValueError: To serve at least one request with the model's max seq len (131072), (40.0 GiB "
        "KV cache is needed, which is larger than the available KV cache memory (5.63 GiB). Based "
        "on the available memory, the estimated maximum model length is 18448. Try"
    )
    for request in ({}, {"model": "qwen3-32b", "tensor_parallel_size": 1}, {"model": "phi-4"}):
        remedies = first_error(text, **request)["remedies"]
        assert remedies[0]["changes"] == {"max_model_len": 18_448}
        grown = [
            set(remedy["changes"]) & {"tensor_parallel_size", "pipeline_parallel_size"} != set()
            for remedy in remedies
        ]
        assert grown == sorted(grown)
        assert sum(grown) <= 1


def changed(text: str) -> list[str]:
    """The fields that the cures of a text's first error change, cheapest first."""
    remedies = first_error(text, max_model_len=8192)["remedies"]
    return [field for remedy in remedies for field in remedy["changes"]]


def test_the_cause_is_read_before_the_messenger() -> None:
    """The engine's death is printed after, or before, what killed it."""
    text = (
        "RuntimeError: Engine core initialization failed. See root cause above.\n"
        "AssertionError: 10 is not divisible by 4\n"
    )
    errors = check(text, **R1)["errors"]
    assert [error["kind"] for error in errors] == ["indivisible_other", "engine_died"]
    assert [error["is_consequence"] for error in errors] == [False, True]
    assert "line 2" in errors[1]["why"]


def test_an_error_that_every_rank_prints_is_one_error() -> None:
    """And its traceback repeats it."""
    line = "(Worker_TP{} pid={}) ERROR 07-01 12:00:00 [w.py:1] AssertionError: 10 is not divisible by 4\n"
    text = "".join(line.format(rank, 100 + rank) for rank in range(8))
    assert len(check(text, **R1)["errors"]) == 1


def test_an_error_of_an_earlier_start_is_past() -> None:
    """A pod that came up in the end has no error; one that never did has."""
    start = "INFO 07-01 12:00:00 [a.py:1] vLLM API server version 0.26.0\n"
    failed = start + "RuntimeError: No CUDA GPUs are available\n"
    came_up = failed + start + "ValueError: Cannot auto-fit max_model_len: not enough\n"
    assert [error["kind"] for error in check(came_up, **R1)["errors"]] == ["kv_cache_too_small"]
    assert [error["kind"] for error in check(failed + start, **R1)["errors"]] == ["no_accelerator"]


def test_r1s_errors_are_explained_in_their_order() -> None:
    """GPUs of the pod, disk, host memory, and then the pool."""
    text = (
        "world size (2) is larger than the number of available GPUs (1)\n"
        "Background writer channel closed\n"
        "Last State: Terminated\n  Reason: OOMKilled\n"
        "(20.0 GiB KV cache is needed) To serve at least one request with the model's max seq len "
        "(131072), (20.0 GiB KV cache is needed, which is larger than the available KV cache memory "
        "(5.63 GiB). Based on the available memory, the estimated maximum model length is 36896.\n"
    )
    errors = check(text, **R1)["errors"]
    assert [error["kind"] for error in errors] == [
        "too_many_accelerators",
        "disk_full",
        "out_of_host_memory",
        "kv_cache_too_small",
    ]
    assert "nvidia.com/gpu: 2" in errors[0]["remedies"][0]["label"]


def test_a_download_has_the_checkpoints_form_whatever_is_loaded() -> None:
    """fp8 weights of a bfloat16 checkpoint are made once all of it is on the disk."""
    error = first_error("No space left on device", quantization="fp8")
    assert "131.42 GiB" in error["why"]
    assert "160Gi" in error["remedies"][0]["label"]


def test_no_size_is_made_up_where_no_model_is_known() -> None:
    """Neither of the volume nor of the memory limit."""
    errors = check("No space left on device\n  Reason: OOMKilled\n")["errors"]
    labels = [remedy["label"] for error in errors for remedy in error["remedies"]]
    assert len(errors) == 2
    assert not any("Gi" in label for label in labels), labels


def test_weights_that_do_not_load_need_smaller_ones_or_more_gpus() -> None:
    """Neither the utilisation nor the cache has a part in it."""
    line = (
        "ERROR 07-01 12:00:00 [m.py:1] Failed to load model - not enough GPU memory. Try lowering"
    )
    fields = [set(remedy["changes"]) for remedy in first_error(line)["remedies"]]
    assert fields == [{"quantization"}, {"tensor_parallel_size"}]
