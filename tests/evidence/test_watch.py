"""What a server's series settle at, and the alerts that say when they do not."""

import json
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.bridge import answer
from tests.evidence.asking import R1

LOAD_TEST = {**R1, "max_model_len": 8192, "input_tokens": 256, "output_tokens": 128}


def watch(**request: Any) -> dict[str, Any]:
    """The answer to ``watch``."""
    found = json.loads(answer(json.dumps({"ask": "watch", **request})))
    assert found["ok"], found
    result: dict[str, Any] = found["result"]
    return result


def series(result: dict[str, Any], name: str) -> dict[str, Any]:
    """One series by its name."""
    return next(item for item in result["series"] if item["name"] == name)


def test_what_fits_at_full_length_is_never_preempted() -> None:
    """R1's load test holds about 96 requests of 384 tokens."""
    calm = watch(**LOAD_TEST, concurrency=60)
    assert series(calm, "Preemptions")["settles_at"] == 0
    assert series(calm, "Waiting")["settles_at"] == 0
    assert series(calm, "Running")["settles_at"] == 60
    assert (
        0
        < series(calm, "KV cache usage")["settles_at"]
        < series(calm, "KV cache usage")["high"]
        < 1
    )


def test_more_than_fits_is_preempted() -> None:
    """116 were admitted where about 96 fit: that is why it preempted."""
    busy = watch(**LOAD_TEST, concurrency=116)
    assert series(busy, "Preemptions")["settles_at"] is None
    assert series(busy, "KV cache usage")["high"] == 1
    assert "throw" in series(busy, "Preemptions")["because"]


def test_what_fits_is_said_as_the_verdict_says_it() -> None:
    """A tenth of a request more than there is room for is a request thrown out."""
    for tokens in range(100, 4000, 177):
        asked = {**LOAD_TEST, "input_tokens": tokens, "concurrency": 2}
        sized = json.loads(answer(json.dumps(asked)))["result"]
        held = math.floor(sized["max_concurrency_for_workload"] * 10) / 10
        result = watch(**asked)
        assert f"; {held:.1f} fit at full length" in series(result, "Running")["because"]
        assert f"holds {held:.1f} requests" in result["alerts"][0]["description"]


@given(st.integers(1, 300), st.integers(1, 4000), st.integers(1, 4000))
def test_a_settled_server_is_within_its_bounds(
    concurrency: int, prompt: int, answer_tokens: int
) -> None:
    """A share is a share, nothing runs that was not asked for, and what does not run waits."""
    result = watch(
        **{**LOAD_TEST, "input_tokens": prompt, "output_tokens": answer_tokens},
        concurrency=concurrency,
    )
    usage, running, waiting = (
        series(result, name) for name in ("KV cache usage", "Running", "Waiting")
    )
    assert 0 <= usage["settles_at"] <= usage["high"] <= 1
    assert running["settles_at"] + waiting["settles_at"] == pytest.approx(concurrency, abs=0.2)


def test_the_alerts_catch_preemptions_and_a_split_that_failed() -> None:
    """The two that no stock dashboard has."""
    alerts = {alert["alert"]: alert for alert in watch(**LOAD_TEST, concurrency=60)["alerts"]}
    assert "vllm:num_preemptions_total" in alerts["VllmPreempting"]["expr"]
    uneven = alerts["TensorParallelRanksUneven"]["expr"]
    assert uneven.count("DCGM_FI_DEV_GPU_UTIL") == 2
    alone = watch(model="qwen3-8b", accelerator="l40s", max_model_len=8192)
    assert "TensorParallelRanksUneven" not in {alert["alert"] for alert in alone["alerts"]}


def test_the_rules_are_a_rule_file_of_all_alerts() -> None:
    """Each alert with an expression in quotes that JSON, and so YAML, reads back."""
    result = watch(**LOAD_TEST, concurrency=60)
    text = result["rules"]
    assert re.findall(r"- alert: (\w+)", text) == [item["alert"] for item in result["alerts"]]
    for line, alert in zip(re.findall(r"expr: (.*)", text), result["alerts"], strict=True):
        assert json.loads(line) == alert["expr"]
        assert alert["expr"].count("(") == alert["expr"].count(")")


def test_a_server_that_does_not_start_settles_at_nothing() -> None:
    """No series, no alerts."""
    result = watch(**{**R1, "max_model_len": 131_072})
    assert (result["starts"], result["series"], result["alerts"]) == (False, [], [])
