"""Which changes cure a refusal."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

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


REFUSED = st.sampled_from(
    [
        {"max_model_len": 131072},
        {"tensor_parallel_size": 3},
        {"tensor_parallel_size": 1},
        {"max_model_len": 200_000},
        {"accelerators_per_node": 1},
        {"accelerator_free_bytes": 70 * 10**9, "max_model_len": 1024},
        {"max_num_batched_tokens": 16, "max_num_seqs": 64},
        {"decode_context_parallel_size": 2},
        {"accelerator": "t4", "dtype": "bfloat16"},
    ]
)


@given(REFUSED)
def test_every_remedy_starts(change: dict[str, Any]) -> None:
    """A remedy is offered only when the changed scenario starts."""
    refused = result({**R1, **change})
    assert not refused["starts"]
    for remedy in refused["refusals"][0]["remedies"]:
        there = result({**R1, **change, **remedy["changes"]})
        assert there["starts"]
        assert there["verdict"] == remedy["verdict"]


def test_a_refusal_of_the_pool_offers_the_length_that_fits() -> None:
    """The first cure of R1 at full length is the longest length that starts."""
    refused = result({**R1, "max_model_len": None})
    remedy = refused["refusals"][0]["remedies"][0]
    assert remedy["changes"] == {"max_model_len": refused["estimated_max_model_len"]}
