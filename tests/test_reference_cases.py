"""Published deployments that every user brings, with what was measured there.

Sources: public write-ups of Llama-3.3-70B on two A100 80GB (R1), of sizing from memory (R2) and
of Llama-3-70B on premises (R3); golden figures are vLLM 0.33.0's own.
"""

import json
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.units import GIB

R1 = {"model": "llama-3.3-70b-instruct", "accelerator": "a100-sxm-80gb", "tensor_parallel_size": 2}
MEASURED = {"measured": {"available_kv_cache_bytes": 6045166469}}


def result(**request: object) -> dict[str, Any]:
    """The result of one request."""
    found: dict[str, Any] = json.loads(answer(json.dumps(request)))["result"]
    return found


def test_r1_is_refused_at_its_full_length() -> None:
    """65.74 GiB of weights leave 5.63 GiB; 131,072 tokens need 20 GiB on each GPU."""
    r1 = result(**R1)
    assert r1["weights_bytes_per_rank"] == 70_588_581_120
    assert r1["kv_cache_bytes_per_token_per_rank"] == 163_840
    assert r1["needed_kv_cache_bytes"] == 20 * GIB
    assert (r1["verdict"], r1["starts"]) == ("refused", False)
    assert abs(r1["available_kv_cache_bytes"] / GIB - 5.63) <= 0.3
    message = r1["refusals"][0]["message"]
    assert "max seq len (131072), (20.0 GiB KV cache is needed" in message


def test_r1_prints_what_the_server_printed() -> None:
    """From the measured pool: 2306 blocks, 36,896 tokens, 4.50 requests of 8,192."""
    r1 = result(**R1, **MEASURED, max_model_len=8192)
    assert r1["num_gpu_blocks"] == 2306
    assert r1["kv_cache_size_tokens"] == 36_896
    assert f"{r1['kv_cache_max_concurrency']:.2f}" == "4.50"


def test_r1_one_block_is_held_back_since_033() -> None:
    """The write-up's version estimated 36,896; 0.33 holds one block of 16 back."""
    assert result(**R1, **MEASURED)["estimated_max_model_len"] == 36_880
    older = result(**R1, **MEASURED, engine_version="0.26.0")
    assert older["estimated_max_model_len"] == 36_896


def test_r1_does_not_close_at_a_utilisation_of_090() -> None:
    """71.33 GiB less 65.74 less 5.63 is below zero: the write-up ran the newer default."""
    r1 = result(**R1, gpu_memory_utilization=0.9)
    assert r1["requested_bytes"] - r1["weights_bytes_per_rank"] < 5.63 * GIB


@pytest.mark.parametrize(
    ("accelerator", "fewest"),
    [("h100-sxm-80gb", 2), ("h200-sxm-141gb", 1), ("b200-sxm", 1), ("a100-sxm-80gb", 2)],
)
def test_r2_gpus_for_70b_in_fp8(accelerator: str, fewest: int) -> None:
    """70B in fp8 with room for eight requests of 8,192 tokens, sized from memory."""
    request = {
        "model": "llama-3.3-70b-instruct",
        "accelerator": accelerator,
        "quantization": "fp8",
        "input_tokens": 4096,
        "output_tokens": 4096,
        "concurrency": 8,
        "max_model_len": 8192,
    }
    enough = [
        size
        for size in (1, 2, 4, 8)
        if (sized := result(**request, tensor_parallel_size=size))["starts"]
        and sized["max_concurrency_for_workload"] >= 8
    ]
    assert enough[0] == fewest


def test_r3_holds_far_fewer_sequences_than_was_reported() -> None:
    """At TP 4 "several hundred" requests of 8k were reported: fp8 KV holds about 144."""
    r3 = {
        "model": "meta-llama-3-70b-instruct",
        "accelerator": "a100-sxm-80gb",
        "kv_cache_dtype": "fp8",
        "gpu_memory_utilization": 0.95,
        "max_model_len": 8192,
        "engine_version": "0.10.0",
    }
    two = result(**r3, tensor_parallel_size=2, max_num_seqs=64)["max_concurrency_for_workload"]
    four = result(**r3, tensor_parallel_size=4)["max_concurrency_for_workload"]
    assert 10 <= two <= 15
    assert 120 <= four <= 150


def test_tensor_parallel_size_must_divide_the_heads() -> None:
    """TP 3 on 64 heads: a result, refused in vLLM's words, with the sizes that work."""
    odd = result(**{**R1, "tensor_parallel_size": 3})
    refusal = odd["refusals"][0]
    assert odd["verdict"] == "refused"
    assert refusal["kind"] == "indivisible_heads"
    assert refusal["message"] == (
        "Total number of attention heads (64) must be divisible by tensor parallel size (3)."
    )
    assert refusal["choices"] == [1, 2, 4, 8, 16, 32, 64]
    cures = [remedy["changes"] for remedy in refusal["remedies"]]
    assert {"tensor_parallel_size": 4} in cures


def test_eighty_gb_is_neither_decimal_nor_binary() -> None:
    """CUDA reports 79.25 GiB on an A100 80GB, 79.19 on an H100."""
    total = result(**R1)["total_bytes"]
    assert total not in {80 * 10**9, 80 * GIB}
    assert round(total / GIB, 2) == 79.25
