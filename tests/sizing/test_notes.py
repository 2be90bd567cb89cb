"""What a reader is told before trusting the figures."""

import json
from typing import Any

from pycore.bridge import answer
from pycore.data import rows
from pycore.sizing.notes import RECONSTRUCTED

R1 = {"model": "llama-3.3-70b-instruct", "accelerator": "a100-pcie-80gb", "tensor_parallel_size": 2}


def kinds(**request: Any) -> set[str]:
    """The kinds of all that an answer notes."""
    result = json.loads(answer(json.dumps({**R1, **request})))["result"]
    return {note["kind"] for note in result["notes"]}


def test_a_pool_that_holds_the_longest_request_by_a_hair_is_said_to() -> None:
    """The estimate's low end lies below max_model_len; far from it, or measured, nothing is."""
    pool = {"available_kv_cache_bytes": 6_045_166_469}
    assert "may_be_refused" in kinds(max_model_len=34_000)
    assert "may_be_refused" not in kinds(max_model_len=8192)
    assert "may_be_refused" not in kinds(max_model_len=34_000, measured=pool)
    assert "may_be_refused" not in kinds(max_model_len="auto")


def test_a_refused_length_is_not_said_to_be_in_doubt() -> None:
    """The refusal says it already."""
    assert "may_be_refused" not in kinds(max_model_len=131_072)


def test_a_config_that_was_put_together_is_said_to_be() -> None:
    """59 of the catalogue's are; one that is pasted, or was published, is not."""
    row = next(row for row in rows("models") if row["id"] == R1["model"])
    assert "reconstructed_config" in kinds()
    assert "reconstructed_config" not in kinds(model=None, config=row["config"])
    assert "reconstructed_config" not in kinds(model="llama-3.1-70b-instruct")


def test_every_reconstructed_config_says_what_was_checked_of_it() -> None:
    """The note ends with it."""
    reconstructed = [str(row["confidence"]) for row in rows("models")]
    assert all(
        confidence.partition("; ")[2]
        for confidence in reconstructed
        if confidence.startswith(RECONSTRUCTED)
    )


def test_older_layouts_of_compressed_caches_are_said_to_differ() -> None:
    """DeepSeek-V4 before vLLM 0.33; other models' layouts are the same or follow the version."""
    v4 = {"model": "deepseek-v4-flash", "accelerator": "h200-sxm-141gb"}
    assert "older_cache_layout" in kinds(**v4, engine_version="0.22.0")
    assert "older_cache_layout" not in kinds(**v4)
    assert "older_cache_layout" not in kinds(engine_version="0.22.0")
