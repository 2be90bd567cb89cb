"""What the engine's own classes create for models of the catalogue, to the byte.

Source: vLLM 0.33.0's model classes, built without weights for an H100; parameters and buffers of
each pipeline stage. Quantised checkpoints are as they ship.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from pycore.bridge import answer

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "engine_bytes.jsonl").read_text().splitlines()
]


def test_enough_models_are_held_to_the_engine() -> None:
    """Sixty of the catalogue, on one GPU, on four, and in two, three or four stages."""
    assert len({row["model"] for row in ROWS}) >= 55


@pytest.mark.parametrize(
    "row",
    ROWS,
    ids=[
        f"{row['model']}-{row['tensor_parallel_size']}x{row['pipeline_parallel_size']}"
        for row in ROWS
    ],
)
def test_weights_are_as_the_engine_creates_them(row: dict[str, Any]) -> None:
    """Embedding, layers, towers and tables of every stage together."""
    request = {
        "model": row["model"],
        "accelerator": "h100-sxm-80gb",
        "tensor_parallel_size": row["tensor_parallel_size"],
        "pipeline_parallel_size": row["pipeline_parallel_size"],
    }
    result = json.loads(answer(json.dumps(request)))["result"]
    assert result["weights_bytes_by_stage"] == row["weights_bytes_by_stage"]
