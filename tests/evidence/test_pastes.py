"""What people paste: the wordings and the shapes of public reports, each with its source."""

from typing import Any

import pytest

from tests.evidence.asking import R1, check, kinds

REFUSAL = (
    "(EngineCore pid=316) ValueError: To serve at least one request with the model's max seq len "
    "(100000), (4.26 GiB KV cache is needed, which is larger than the available KV cache memory "
    "(4.25 GiB). Based on the available memory, the estimated maximum model length is 99712. Try "
    "increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine."
)


def errors(text: str, **request: Any) -> list[dict[str, Any]]:
    """The errors of a text, beside R1."""
    found: list[dict[str, Any]] = check(text, **{**R1, **request})["errors"]
    return found


@pytest.mark.parametrize("width", range(80, 140))
def test_a_refusal_that_a_terminal_broke_is_whole(width: int) -> None:
    """In the middle of words: github.com/SergiioB/intel-arc-pro-b70-inference-cookbook/issues/4."""
    broken = "\n".join(REFUSAL[at : at + width] for at in range(0, len(REFUSAL), width))
    (error,) = errors(broken)
    assert error["kind"] == "kv_cache_too_small"
    assert error["remedies"][0]["changes"] == {"max_model_len": 99_712}


def test_a_refusal_that_a_writer_broke_is_whole() -> None:
    """Between words, and without its bracket: github.com/kaito-project/kaito/issues/2132."""
    text = (
        "ValueError: To serve at least one request with the model's max seq len (1048576),\n"
        "22.5 GiB KV cache is needed, which is larger than the available KV cache memory (17.39 "
        "GiB).\nBased on the available memory, the estimated maximum model length is 810208.\n"
    )
    (error,) = errors(text)
    assert "1,048,576 tokens takes 22.5 GiB" in error["why"]
    assert error["remedies"][0]["changes"] == {"max_model_len": 810_208}


def test_a_warm_up_that_was_broken_is_whole() -> None:
    """github.com/llm-d/llm-d/issues/787."""
    text = (
        "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 \n"
        "dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` \n"
    )
    (error,) = errors(text)
    assert error["kind"] == "warm_up_out_of_memory"
    assert error["remedies"]


def test_what_follows_a_whole_sentence_is_not_taken_into_it() -> None:
    """Another process's line below an error is read as its own."""
    text = "CUDA out of memory. Tried to allocate 2.00 GiB.\nAvailable KV cache memory: 5.63 GiB\n"
    result = check(text, **R1)
    assert kinds(result["errors"]) == {"out_of_memory"}
    assert "available_kv_cache_bytes" in {row["figure"] for row in result["rows"]}


def test_a_box_drawn_round_a_log_does_not_hide_it() -> None:
    """Kubectl in k9s: github.com/kubernetes-sigs/gateway-api-inference-extension/pull/550."""
    text = (
        "│ INFO 03-21 20:15:45 [worker.py:267] model weights take 12.55GiB; non_torch_memory takes "
        "0.16GiB; PyTorch activation peak memory takes 2.38GiB; the rest of the memory reserved for "
        "KV Cache is 56.18GiB.      │\n"
        "│ INFO 03-21 20:15:46 [executor_base.py:111] # cuda blocks: 7191, # CPU blocks: 512   │\n"
    )
    found = {row["figure"]: row["measured"] for row in check(text, **R1)["rows"]}
    assert found["num_gpu_blocks"] == 7191
    assert "activation_bytes" in found


def test_tokens_of_a_step_are_read_from_the_schedulers_line() -> None:
    """Every server with chunked prefill prints it: blog.huikang.dev/2025/12/28/vllm-logs.html."""
    text = (
        "(APIServer pid=90) INFO 11-28 11:45:51 [api_server.py:1977] vLLM API server version 0.11.2\n"
        "(APIServer pid=90) INFO 11-28 11:45:51 [utils.py:253] non-default args: {'model': "
        "'/kaggle/input/gpt-oss-120b/transformers/default/1', 'max_model_len': 98304}\n"
        "INFO 11-28 11:45:51 [scheduler.py:216] Chunked prefill is enabled with "
        "max_num_batched_tokens=2048.\n"
    )
    request = check(text, **R1)["request"]
    assert request["max_num_batched_tokens"] == 2048
    assert request["model"] == "gpt-oss-120b"


@pytest.mark.parametrize(
    ("name", "model"),
    [
        # github.com/livepeer/ai-runner/pull/230
        (
            "/models/models--meta-llama--Meta-Llama-3.1-8B-Instruct/snapshots/0e9e39f249a16976",
            "llama-3.1-8b-instruct",
        ),
        ("meta-llama/Meta-Llama-3-70B-Instruct", "meta-llama-3-70b-instruct"),
        ("models/Qwen3-32B", "qwen3-32b"),
        ("/mnt/share/weight/Qwen3-32B/", "qwen3-32b"),
        ("someone/Qwen3-32B", None),
    ],
)
def test_a_path_names_the_model_that_lies_there(name: str, model: str | None) -> None:
    """A cache's folder, an old name, a folder below; another owner's model is another model."""
    found = check(f"non-default args: {{'model': '{name}', 'port': 1}}\n", **R1)["request"]
    assert found.get("model") == model


def test_graphs_that_held_memory_tell_that_the_weights_were_there() -> None:
    """Two ranks, one error; its consequence beside it: github.com/vllm-project/vllm/issues/15105."""
    line = (
        "(VllmWorker rank={0} pid=29{0}) ERROR 03-19 07:27:53 [multiproc_executor.py:375] "
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.74 GiB. GPU {0} has a total "
        "capacity of 23.57 GiB of which 60{0}.88 MiB is free. Process 13328{0} has 22.97 GiB memory "
        "in use. Of the allocated memory 20.21 GiB is allocated by PyTorch, with 128.00 MiB "
        "allocated in private pools (e.g., CUDA Graphs), and 185.98 MiB is reserved by PyTorch but "
        "unallocated.\n"
    )
    result = check(line.format(1) + line.format(0), **R1)
    (error,) = result["errors"]
    assert "CUDA graphs held 128.00 MiB" in error["why"]
    assert "loaded" not in error["why"]
    # The GPU is the text's, not the scenario's.
    assert result["rows"][0]["figure"] == "total_bytes"


def test_a_vision_models_profile_ran_out() -> None:
    """github.com/vllm-project/vllm/issues/8879: the weights as printed, more GPUs sized anew."""
    text = (
        "INFO 09-27 11:18:22 model_runner.py:1025] Loading model weights took 19.9073 GB\n"
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "/vllm/worker/worker.py", line 223, in determine_num_available_blocks\n'
        "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.17 GiB. GPU 0 has a "
        "total capacity of 23.69 GiB of which 731.25 MiB is free. Including non-PyTorch memory, this "
        "process has 22.95 GiB memory in use. Of the allocated memory 21.47 GiB is allocated by "
        "PyTorch, and 1.17 GiB is reserved by PyTorch but unallocated.\n"
    )
    (error,) = errors(text, model="qwen2.5-vl-7b-instruct", tensor_parallel_size=1)
    assert "in the profiling run" in error["why"]
    assert "held 21.47 GiB; the weights are 19.91 GiB" in error["why"]
    assert all((remedy["num_accelerators"] or 1) <= 4 for remedy in error["remedies"])


def test_no_pool_is_no_matter_of_the_caches_elements() -> None:
    """github.com/vllm-project/vllm/issues/10439: compose's prefix, and a scenario that would fit."""
    text = (
        "vllm-1  | ERROR 11-18 18:07:28 engine.py:366] ValueError: No available memory for the cache "
        "blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"
    )
    result = check(text, **R1)
    (error,) = result["errors"]
    assert "another model, split or utilisation, or another process" in error["why"]
    changes = [set(remedy["changes"]) for remedy in error["remedies"]]
    assert {"kv_cache_dtype"} not in changes
    assert "scenario_assumed" in kinds(result["notes"])


def test_a_share_that_is_free_is_offered_where_the_weights_fit_into_it() -> None:
    """github.com/vllm-project/vllm/issues/20305 and 23192: 31 GiB free, and 7."""
    line = (
        "ValueError: Free memory on device ({}/{} GiB) on startup is less than desired GPU memory "
        "utilization (0.9, {} GiB). Decrease GPU memory utilization or reduce GPU memory used by "
        "other processes.\n"
    )
    small = {"model": "llama-3.1-8b-instruct", "tensor_parallel_size": 1}
    (error,) = errors(line.format("31.44", "47.38", "45.01"), **small)
    assert error["remedies"][0]["changes"]["gpu_memory_utilization"] == 0.66
    (error,) = errors(line.format("7.34", "139.72", "125.75"), **small)
    assert "do not fit into it" in error["why"]
    assert not error["remedies"][0]["changes"]


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        # github.com/gpustack/gpustack/issues/835
        (
            "RuntimeError: NCCL error: unhandled system error (run with",
            "collectives_failed",
            "joined",
        ),
        # github.com/vllm-project/vllm/issues/21661
        (
            "RuntimeError: NCCL error: unhandled cuda error (run with",
            "collectives_failed",
            "CUDA call",
        ),
        # github.com/vllm-project/vllm/issues/19204
        (
            "[0] ras/client_support.cc:160 NCCL WARN Call to bind failed: Address already in use",
            "collectives_failed",
            "port",
        ),
        (
            "NCCL error: remote process exited or there was a network error",
            "collectives_failed",
            "Another rank",
        ),
        # github.com/gpustack/gpustack/issues/835
        ("RuntimeError: Engine process failed to start. See stack", "engine_died", "ended"),
        # github.com/vllm-project/vllm/issues/20226
        ("Exception: WorkerProc initialization failed due to an", "engine_died", "ended"),
        # github.com/vllm-project/vllm/issues/26612
        ("ERROR 10-11 10:42:14 [core.py:708] EngineCore failed to start.", "engine_died", "ended"),
    ],
)
def test_an_errors_words_tell_its_cause(text: str, kind: str, words: str) -> None:
    """One library's errors are several, and a messenger is no cause."""
    (error,) = errors(text)
    assert error["kind"] == kind
    assert words in error["meaning"]


@pytest.mark.parametrize(
    "text",
    [
        # github.com/vllm-project/vllm/issues/28228: a page padded the lines behind the backslash
        (
            "CUDA_VISIBLE_DEVICES=0,1 \\\n    vllm serve Qwen/Qwen3-32B \\        \n"
            "  --max_model_len 16384 --tensor_parallel 4 \\   \n  --max-num-seqs 8\n"
        ),
        # kubernetes.io manifests, as github.com/vllm-project/vllm/issues/14025 quotes one
        (
            '    args: ["--model", "Qwen/Qwen3-32B", "--max-model-len", "16384", '
            '"--tensor-parallel-size", "4", "--max-num-seqs=8"]\n'
        ),
        (
            "    - --model=Qwen/Qwen3-32B\n    - --max-model-len=16384\n"
            "    - --tensor-parallel-size=4\n    - --max-num-seqs=8\n"
        ),
        (
            "    command: --model Qwen/Qwen3-32B --max-model-len 16384 --tensor-parallel-size 4 "
            "--max-num-seqs 8\n"
        ),
    ],
)
def test_what_an_engine_is_started_with_is_read(text: str) -> None:
    """A command, a pod's arguments, a compose file's."""
    assert check(text, **R1)["request"] == {
        "model": "qwen3-32b",
        "max_model_len": 16_384,
        "tensor_parallel_size": 4,
        "max_num_seqs": 8,
    }


def test_prose_about_a_flag_is_no_setting() -> None:
    """Advice in a thread is not what ran."""
    assert (
        check("- --max-model-len 4096 helped me\n- try --tensor-parallel-size=8\n", **R1)["request"]
        == {}
    )


def test_a_buffer_larger_than_the_gpu_is_no_matter_of_room() -> None:
    """github.com/gpustack/gpustack/issues/4963."""
    text = (
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 192.00 GiB. GPU 0 has a total "
        "capacity of 63.98 GiB of which 57.50 GiB is free. Of the allocated memory 4.83 GiB is "
        "allocated by PyTorch, and 143.32 MiB is reserved by PyTorch but unallocated.\n"
    )
    (error,) = errors(text)
    assert "larger than the whole GPU" in error["meaning"]
    assert "loaded" not in error["why"]
    assert all("tensor_parallel_size" not in remedy["changes"] for remedy in error["remedies"])


def test_two_engines_pools_are_not_one() -> None:
    """github.com/vllm-project/vllm/issues/21348: the last engine's, and nothing of its own rules."""
    text = (
        "Available KV cache memory: 8.11 GiB\n"
        "KV Cache is allocated. #tokens: 367404, K size: 8.23 GB, V size: 8.23 GB\n"
        "python3 -m sglang.launch_server --model /path/to/Qwen3-235B-A22B-FP8 --tp 4\n"
    )
    result = check(text, **R1)
    pool = next(r for r in result["rows"] if r["figure"] == "available_kv_cache_bytes")
    assert pool["measured"] == pytest.approx(2 * 8.23 * 2**30, rel=1e-6)
    assert result["request"]["tensor_parallel_size"] == 4
    assert set(result["measured"]) == {"available_kv_cache_bytes"}


def test_experts_that_ranks_do_not_divide_are_told() -> None:
    """github.com/vllm-project/vllm/issues/52435."""
    (error,) = errors(
        "AssertionError: n_physical_experts=256 must be divisible by ep_size=3. Adjust num"
    )
    assert error["kind"] == "indivisible_other"
    assert "256" in error["why"]


def test_a_run_that_the_scenario_would_refuse_is_another_one() -> None:
    """github.com/noonghunna/club-3090/issues/32: no model is named, and the length is not R1's."""
    text = (
        "INFO ... [gpu_worker.py:489] Available KV cache memory: 4.11 GiB\n"
        "INFO ... [kv_cache_utils.py:1778] GPU KV cache size: 326,112 tokens\n"
        "INFO ... [kv_cache_utils.py:1783] Maximum concurrency for 180,000 tokens per request: 1.34x\n"
    )
    notes = {note["kind"]: note["message"] for note in check(text, **R1)["notes"]}
    assert notes["scenario_assumed"] == (
        "The text names no model and no GPU: the scenario's are assumed."
    )
    assert "max_model_len (180000) is greater" in notes["refusal_expected"]
