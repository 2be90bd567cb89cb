"""Numbers of a config that a request changes."""

import json
from typing import Any

import pytest

from pycore.bridge import answer


def kinds_of_notes(**request: Any) -> list[str]:
    """The kinds of all that an answer notes."""
    text = json.dumps({"accelerator": "h100-sxm-80gb"} | request)
    return [note["kind"] for note in json.loads(answer(text))["result"]["notes"]]


@pytest.mark.parametrize(
    ("model", "changes", "idle"),
    [
        # Nemotron-H's layers stand in hybrid_override_pattern.
        ("nemotron-h-56b-base-8k", {"num_hidden_layers": 10}, True),
        # A dense model has no experts, and how fast positions rotate decides no byte.
        ("llama-3.3-70b-instruct", {"num_experts": 9}, True),
        ("llama-3.3-70b-instruct", {"rope_theta": 40}, True),
        ("llama-3.3-70b-instruct", {"num_hidden_layers": 40}, False),
        # What the config says already changes nothing, and was not asked to.
        ("llama-3.3-70b-instruct", {"num_hidden_layers": 80}, False),
        ("qwen3-30b-a3b", {"num_experts": 64, "vocab_size": 64000}, False),
    ],
)
def test_a_change_without_effect_is_said(
    model: str, changes: dict[str, int], *, idle: bool
) -> None:
    """A number that was pushed and moves nothing is no silent one."""
    assert ("overrides_without_effect" in kinds_of_notes(model=model, **changes)) == idle
