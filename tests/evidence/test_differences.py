"""Where the run is not the scenario is said, and what of its terms is not printed."""

import json
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.units import GIB
from tests.evidence.asking import R1, check
from tests.evidence.test_check_run import R1_LOG


def note(result: dict[str, Any], kind: str) -> str | None:
    """The message of a note, if there is one of that kind."""
    found = [item["message"] for item in result["notes"] if item["kind"] == kind]
    return found[0] if found else None


def test_every_setting_that_differs_is_in_one_sentence() -> None:
    """Model, version, ranks and lengths; what is as the scenario has it is not said."""
    asked = {**R1, "model": "qwen3-32b", "tensor_parallel_size": 4}
    said = note(check(R1_LOG, **asked), "not_the_scenario")
    assert said == (
        "The run is not the scenario, and is compared as it ran: model "
        "meta-llama/Llama-3.3-70B-Instruct, not Qwen/Qwen3-32B; vLLM 0.26.0, not 0.33.0; TP 2, "
        "not 4; max_model_len 8,192, not 32,768."
    )


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("'gpu_memory_utilization': 0.85", "gpu_memory_utilization 0.85, not 0.92"),
        ("'kv_cache_dtype': 'fp8'", "kv_cache_dtype fp8, not bfloat16"),
        ("'pipeline_parallel_size': 2", "PP 2, not 1"),
        ("'quantization': 'fp8'", "quantization fp8, not none"),
        ("'enforce_eager': True", "enforce_eager on, not off"),
        ("'max_num_seqs': 64", "max_num_seqs 64, not 256"),
    ],
)
def test_a_default_of_the_engine_is_a_setting_of_the_scenario(setting: str, words: str) -> None:
    """What the scenario leaves open is what the engine would choose."""
    text = f"non-default args: {{{setting}, 'port': 8000}}\n"
    assert words in (note(check(text, **R1), "not_the_scenario") or "")


def test_the_checkpoints_own_form_is_a_setting_too() -> None:
    """The engine prints it of a checkpoint that was quantised before, under whatever path."""
    text = (
        "Initializing a V1 LLM engine (v0.19.0) with config: model='/models/llama-3.3-70b-instruct',"
        " dtype=torch.bfloat16, quantization=awq_marlin, enforce_eager=False, kv_cache_dtype=auto, x"
    )
    said = note(check(text, **R1), "not_the_scenario") or ""
    assert "quantization awq_marlin, not none" in said


def test_the_same_settings_are_no_difference() -> None:
    """The scenario's own log, and a scenario that was never asked about."""
    asked = {**R1, "max_model_len": 8192, "engine_version": "0.26.0"}
    assert note(check(R1_LOG, **asked), "not_the_scenario") is None
    assert note(check(R1_LOG), "not_the_scenario") is None
    assert note(check("", **R1), "not_the_scenario") is None


def test_terms_that_are_not_printed_are_said_to_be_derived() -> None:
    """Only their sum is known; a log that prints them has none."""
    result = check(R1_LOG, **R1)
    assert result["derived"] == ["non_torch_bytes", "activation_bytes"]
    said = note(result, "terms_not_printed") or ""
    left = sum(result["measured"][name] for name in result["derived"])
    assert f"{left / GIB:.2f} GiB" in said
    printed = R1_LOG + (
        "model weights take 65.74GiB; non_torch_memory takes 0.50GiB; PyTorch activation peak "
        "memory takes 1.05GiB; the rest of the memory reserved for KV Cache is 5.63GiB.\n"
    )
    result = check(printed, **R1)
    assert result["derived"] == []
    assert note(result, "terms_not_printed") is None


def test_a_pool_alone_proves_nothing_of_the_terms_before_it() -> None:
    """Far from what is predicted, weights may be another's: the pool is adopted as it is."""
    result = check("Available KV cache memory: 1.50 GiB\n", **R1)
    assert result["measured"] == {"available_kv_cache_bytes": round(1.5 * GIB)}
    assert result["derived"] == []


def test_another_question_is_asked_of_the_run() -> None:
    """What to watch in a run of TP 4 beside a scenario of TP 2: its ranks, and its own pool."""
    log = R1_LOG.replace("'tensor_parallel_size': 2", "'tensor_parallel_size': 4")
    run = check(log, **R1)
    assert run["adopted"] == {**run["request"], "measured": run["measured"]}
    watch = json.loads(answer(json.dumps({**R1, "ask": "watch", **run["adopted"]})))["result"]
    assert "4 ranks" in watch["series"][-1]["because"]
    assert check("", **R1)["adopted"] == {}
