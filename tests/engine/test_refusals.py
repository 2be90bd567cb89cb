"""What the engine refuses before it has loaded a byte.

Source of the expected words: vLLM 0.33.0's own configuration and planning, asked for these builds.
"""

import json
from typing import Any

import pytest

from pycore.bridge import answer
from tests.golden.builds import read_lines


def refusals(model: str | None = None, **changes: Any) -> list[tuple[str, str]]:
    """Kind and words of everything that stands in the way."""
    request = {"model": model, "accelerator": "h100-sxm-80gb", "accelerators_per_node": 64}
    result = json.loads(answer(json.dumps(request | changes)))["result"]
    return [(refusal["kind"], refusal["message"]) for refusal in result["refusals"]]


NO_EXPERTS = (
    "indivisible_other",
    "Number of experts in the model must be greater than 0 when expert parallelism is enabled.",
)
PARTED_WINDOW = ("context_parallel", "AssertionError: DCP not support sliding window.")


@pytest.mark.parametrize(
    ("model", "refused"),
    [("llama-3.1-8b-instruct", True), ("granite-4.0-micro", True), ("qwen3-30b-a3b", False)],
)
def test_expert_parallelism_is_refused_where_there_are_no_experts(
    model: str, *, refused: bool
) -> None:
    """A dense model does not start with it."""
    found = refusals(model, tensor_parallel_size=2, enable_expert_parallel=True)
    assert refused == (NO_EXPERTS in found)
    assert NO_EXPERTS not in refusals(model, tensor_parallel_size=2)


def test_some_classes_want_an_expert_for_each_rank() -> None:
    """Mixtral's eight are cut for sixteen ranks; Qwen3's would not be."""
    few = refusals("qwen3-30b-a3b", num_experts=8, tensor_parallel_size=16)
    message = "Tensor parallel size 16 is greater than the number of experts 8."
    assert ("indivisible_other", message) in few
    assert not refusals("mixtral-8x22b-v0.1", tensor_parallel_size=16, max_model_len=8192)


def test_gpt_oss_copies_no_kv_heads() -> None:
    """Eight heads for sixteen ranks leave half of them none."""
    found = ("indivisible_kv_heads", "ZeroDivisionError: integer modulo by zero")
    assert found in refusals("gpt-oss-120b", tensor_parallel_size=16)
    assert found not in refusals("gpt-oss-120b", tensor_parallel_size=8)


def test_all_ranks_together_divide_the_experts_of_gpt_oss() -> None:
    """2,880 is divided by 64 and not by 128, whoever holds which experts."""
    shape: dict[str, Any] = {"tensor_parallel_size": 8, "enable_expert_parallel": True}
    assert not refusals("gpt-oss-120b", **shape, data_parallel_size=8)
    (found,) = refusals("gpt-oss-120b", **shape, data_parallel_size=16)
    assert found[0] == "indivisible_other"


def test_ranks_do_not_share_the_tokens_of_a_window() -> None:
    """MiMo-V2-Flash has four KV heads, so that two of eight ranks could share a request."""
    parted = {"tensor_parallel_size": 8, "decode_context_parallel_size": 2}
    assert PARTED_WINDOW in refusals("mimo-v2-flash", **parted)
    whole = refusals("mimo-v2-flash", **parted, disable_hybrid_kv_cache_manager=True)
    assert PARTED_WINDOW not in whole


def test_deepseek_v4_needs_the_hybrid_manager() -> None:
    """Its windows are of latent vectors, which the engine cannot keep whole."""
    off = {"tensor_parallel_size": 4, "disable_hybrid_kv_cache_manager": True}
    assert [kind for kind, _ in refusals("deepseek-v4-flash", **off)] == ["no_attention_backend"]


def test_gemma_3_overflows_in_float16() -> None:
    """Asked for it is refused; a T4, which has no bfloat16, serves it in float32 instead."""
    words = (
        "The model type 'gemma3' does not support float16. Reason: Numerical instability. Please "
        "use bfloat16 or float32 instead."
    )
    assert ("dtype_not_on_accelerator", words) in refusals("gemma-3-12b-it", dtype="float16")
    request = {"model": "gemma-3-12b-it", "accelerator": "t4", "tensor_parallel_size": 8}
    result = json.loads(answer(json.dumps(request)))["result"]
    assert result["chosen"]["dtype"] == "float32"


def test_a_cache_is_not_kept_in_the_other_half_precision_type() -> None:
    """``--kv-cache-dtype float16`` of a bfloat16 model; ``bfloat16`` is the same as auto."""
    message = (
        'kv_cache_dtype="float16" is incompatible with dtype="bfloat16". Please set '
        "`--kv-cache-dtype` to `auto` or `bfloat16`."
    )
    found = refusals("llama-3.1-8b-instruct", dtype="bfloat16", kv_cache_dtype="float16")
    assert ("no_attention_backend", message) in found
    assert not refusals(
        "llama-3.1-8b-instruct", dtype="bfloat16", kv_cache_dtype="bfloat16", max_model_len=8192
    )


@pytest.mark.parametrize(
    ("dtype", "refused"),
    [
        ("nvfp4", True),
        ("int8_per_token_head", True),
        ("bfloat16", True),
        ("fp8", False),
        ("fp8_e5m2", False),
    ],
)
def test_deepseek_v4_packs_its_vectors_in_fp8_alone(dtype: str, *, refused: bool) -> None:
    """Any fp8 will do; nothing else is read by its kernels."""
    found = refusals("deepseek-v4-flash", tensor_parallel_size=4, kv_cache_dtype=dtype)
    assert refused == any(kind == "no_attention_backend" for kind, _ in found)
    assert not any(kind == "unsupported_quantisation" for kind, _ in found)


def test_fp8_is_not_kept_for_triton_on_ampere() -> None:
    """gpt-oss has sinks, which only Triton's kernels serve on A100."""
    message = (
        "ValueError: FP8 KV cache is not supported by the Triton attention backend on A100 80GB "
        "SXM4 (compute capability 8.0); native FP8 (fp8e4nv) requires SM89+. Re-run with "
        "--kv-cache-dtype bfloat16."
    )
    found = refusals("gpt-oss-20b", kv_cache_dtype="fp8", accelerator="a100-sxm-80gb")
    assert found == [("no_attention_backend", message)]


def test_turboquant_shares_no_layout_with_flashinfer_on_blackwell() -> None:
    """The first and last layers stay in the model's type, and FlashInfer reads them on B200."""
    quantized: dict[str, Any] = {"kv_cache_dtype": "turboquant_4bit_nc", "max_model_len": 8192}
    assert not refusals("llama-3.1-8b-instruct", **quantized)
    found = refusals("llama-3.1-8b-instruct", **quantized, accelerator="b200-sxm")
    assert [kind for kind, _ in found] == ["no_attention_backend"]


def test_states_alone_leave_nothing_to_share_between_ranks() -> None:
    """The engine stumbles over a model without KV heads."""
    (mamba,) = (row["content"] for row in read_lines("configs") if row["config"] == "mamba2-2.7b")
    parted: dict[str, Any] = {"tensor_parallel_size": 2, "decode_context_parallel_size": 2}
    assert refusals(config=mamba, **parted) == [
        ("context_parallel", "ZeroDivisionError: integer division or modulo by zero")
    ]


def test_query_heads_come_in_equal_groups() -> None:
    """Seven key-value heads cannot serve 64 query heads, on any number of ranks.

    Source: vLLM 0.33.0, model_executor/layers/attention/attention.py, Attention.
    """
    message = "AssertionError: num_heads (64) is not divisible by num_kv_heads (7)"
    found = refusals("llama-3.3-70b-instruct", num_key_value_heads=7, max_model_len=8192)
    assert ("indivisible_kv_heads", message) in found
    assert not refusals("llama-3.3-70b-instruct", tensor_parallel_size=4, max_model_len=8192)


def test_falcon_keeps_its_own_type_in_the_cache() -> None:
    """Its class tells the attention of no cache, so ``--kv-cache-dtype`` changes nothing.

    Source: vLLM 0.33.0, model_executor/models/falcon.py, asked for these builds.
    """
    config = {
        "architectures": ["FalconForCausalLM"],
        "model_type": "falcon",
        "hidden_size": 8192,
        "num_attention_heads": 128,
        "num_kv_heads": 8,
        "num_hidden_layers": 60,
        "new_decoder_architecture": True,
        "vocab_size": 65024,
        "torch_dtype": "bfloat16",
    }
    request = {"config": config, "accelerator": "b200-sxm", "kv_cache_dtype": "fp8"}
    result = json.loads(answer(json.dumps(request)))["result"]
    assert result["kv_cache_bytes_per_block"] == 1966080


def test_what_quantises_nothing_asks_for_no_gpu() -> None:
    """nvfp4_per_token is of experts: a dense model starts with it on H100. Source: vLLM 0.33.0."""
    asked: dict[str, Any] = {"quantization": "nvfp4_per_token", "max_model_len": 8192}
    assert not refusals("llama-3.1-8b-instruct", **asked)
    (found,) = refusals("qwen3-30b-a3b", **asked)
    assert found[0] == "quantisation_not_on_accelerator"


@pytest.mark.parametrize(
    ("ranks", "choices"),
    [({"tensor_parallel_size": 3}, [1, 2, 4, 8]), ({"pipeline_parallel_size": 7}, [])],
)
def test_the_sizes_that_work_are_those_of_every_rule(
    ranks: dict[str, int], choices: list[int]
) -> None:
    """In gpt-oss none of eight KV heads is copied, and all ranks together divide its experts.

    Source: vLLM 0.33.0, model_executor/models/gpt_oss.py.
    """
    request = {"model": "gpt-oss-120b", "accelerator": "h100-sxm-80gb"} | ranks
    found = json.loads(answer(json.dumps(request)))["result"]["refusals"]
    assert found
    assert [refusal["choices"] for refusal in found] == [choices] * len(found)
