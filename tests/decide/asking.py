"""Reference case R1, and questions put to the core as any caller puts them."""

import json
from typing import Any

from pycore.bridge import answer

R1 = {
    "model": "llama-3.3-70b-instruct",
    "accelerator": "a100-pcie-80gb",
    "tensor_parallel_size": 2,
    "max_model_len": 32768,
}


def result(request: dict[str, Any]) -> dict[str, Any]:
    """The result of one request."""
    found: dict[str, Any] = json.loads(answer(json.dumps(request)))["result"]
    return found
