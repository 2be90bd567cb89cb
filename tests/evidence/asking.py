"""Asking ``check_run``, as the page does."""

import json
from typing import Any

from pycore.bridge import answer

R1 = {
    "model": "llama-3.3-70b-instruct",
    "accelerator": "a100-pcie-80gb",
    "tensor_parallel_size": 2,
    "max_model_len": 32768,
}


def check(text: str, **request: Any) -> dict[str, Any]:
    """The answer to ``check_run`` for a text."""
    found = json.loads(answer(json.dumps({"ask": "check_run", "text": text, **request})))
    assert found["ok"], found
    result: dict[str, Any] = found["result"]
    return result


def kinds(found: list[dict[str, Any]]) -> set[str]:
    """The kinds of contradictions, findings or errors."""
    return {item["kind"] for item in found}
