"""What is claimed of models."""

import json
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.data import rows
from tests.golden.builds import read_lines

ROWS: tuple[dict[str, Any], ...] = rows("models")
COUNTS = list(read_lines("param_counts"))


def _model(row: dict[str, Any]) -> str:
    """The row's id, to name its test."""
    return str(row.get("model") or row["id"])


def _size(model: str) -> dict[str, Any]:
    """Napkin's answer for ``model`` on GPUs enough for nothing to depend on."""
    request = {"model": model, "accelerator": "h100-sxm-80gb"}
    reply: dict[str, Any] = json.loads(answer(json.dumps(request)))
    return reply


@pytest.mark.parametrize("row", ROWS, ids=_model)
def test_every_model_is_sized_or_refused_by_name(row: dict[str, Any]) -> None:
    """A row is no half-truth: an answer, or a failure that names what is missing."""
    reply = _size(row["id"])

    if reply["ok"]:
        assert reply["result"]["num_parameters"] > 0
    else:
        failure = reply["failure"]
        named = (row["name"], "quantised with", *row["config"]["architectures"])
        assert failure["reason"].startswith("unsupported")
        assert any(name in failure["message"] for name in named)


@pytest.mark.parametrize("row", COUNTS, ids=_model)
def test_parameters_are_counted_to_the_unit(row: dict[str, Any]) -> None:
    """Totals that transformers' own classes and the published checkpoints agree on.

    Source: the rows themselves, tests/golden/param_counts.jsonl.
    """
    result = _size(row["model"])["result"]

    assert row["num_parameters"] == result["num_parameters"]


def test_the_catalogue_is_wide() -> None:
    """At least a hundred and fifty models are sized, of every kind of attention."""
    sized = [row["id"] for row in ROWS if _size(row["id"])["ok"]]

    assert len(sized) >= 150


def test_a_name_that_promises_narrow_weights_keeps_it() -> None:
    """A row called fp8 or nvfp4 says how it is quantised, or it would be sized as bf16."""
    for row in ROWS:
        if any(word in row["id"] for word in ("fp8", "nvfp4", "awq", "gptq")):
            assert "quantization_config" in row["config"] or "hf_quant_config" in row, row["id"]


def test_every_row_says_what_it_is_a_copy_of() -> None:
    """The hub's id, and whether the file was published or put together."""
    for row in ROWS:
        assert row["config"]["model_type"], row["id"]
        assert row["hf_id"].count("/") == 1
        assert row["confidence"].startswith(("published file", "reconstructed")), row["id"]
