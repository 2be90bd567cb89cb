"""Figures of a real run, carried to a scenario that differs from the one they were read from."""

from dataclasses import fields
from typing import Any

import pytest

from pycore.decide.measured_terms import RESTS_ON, carried, still_measured, voided
from pycore.request import READERS, read_scenario
from pycore.scenario import Measured
from pycore.sizing.size import size
from tests.decide.asking import R1, result


def rows(**request: Any) -> dict[tuple[str, Any], dict[str, Any]]:
    """The knob rows of a request, by what they change."""
    found = result({**R1, **request, "ask": "knobs"})["rows"]
    return {(row["field"], row["value"]): row for row in found}


def test_every_measured_term_says_what_it_rests_on() -> None:
    """None is missing, and each cause is a field of a request."""
    assert {item.name for item in fields(Measured)} == RESTS_ON.keys()
    assert frozenset[str]().union(*RESTS_ON.values()) <= READERS.keys()


def test_measured_weights_do_not_follow_to_other_ranks() -> None:
    """What two GPUs hold of 70B is not what one would, nor four."""
    weights = {"weights_bytes_per_rank": 70_588_581_120}
    measured, computed = rows(measured=weights), rows()
    for change in (("tensor_parallel_size", 1), ("tensor_parallel_size", 4)):
        assert measured[change]["verdict"] == computed[change]["verdict"]
        there, expected = (found[change] for found in (measured, computed))
        assert there["longest_request_tokens"] == expected["longest_request_tokens"]
    assert measured["tensor_parallel_size", 4]["changes"]["measured"] == {
        item.name: None for item in fields(Measured)
    }


def test_a_measured_pool_follows_to_another_cache_dtype() -> None:
    """The same bytes hold twice the tokens."""
    pool = {"available_kv_cache_bytes": 6_045_166_469}
    row = rows(measured=pool)["kv_cache_dtype", "fp8"]
    assert row["changes"] == {"kv_cache_dtype": "fp8"}
    assert row["available_kv_cache_bytes"] == 6_045_166_469


def test_a_measured_pool_grows_with_the_budget() -> None:
    """Of 79.25 GiB, 3 % more is 2.38 GiB more."""
    scenario = read_scenario({**R1, "measured": {"available_kv_cache_bytes": 6_045_166_469}})
    here = size(scenario)
    larger = size(read_scenario({**R1, "gpu_memory_utilization": 0.95}))
    changes = carried(scenario, {"gpu_memory_utilization": 0.95})
    measured = changes["measured"]
    assert isinstance(measured, Measured)
    grown = larger.requested_bytes - here.requested_bytes
    assert measured.available_kv_cache_bytes == 6_045_166_469 + grown


@pytest.mark.parametrize(
    "changes", [{"enforce_eager": True}, {"max_num_seqs": 64}, {"max_num_batched_tokens": 8192}]
)
def test_what_the_estimates_missed_of_a_run_is_still_missed(changes: dict[str, Any]) -> None:
    """A pool that is 2 GiB short of its estimate stays 2 GiB short beside another batch."""
    computed, row = size(read_scenario(R1)), size(read_scenario({**R1, **changes}))
    assert computed.available_kv_cache_bytes is not None
    assert row.available_kv_cache_bytes is not None
    short = computed.available_kv_cache_bytes - 2 * 2**30
    scenario = read_scenario({**R1, "measured": {"available_kv_cache_bytes": short}})
    measured = carried(scenario, changes)["measured"]
    assert isinstance(measured, Measured)
    assert measured.available_kv_cache_bytes == row.available_kv_cache_bytes - 2 * 2**30


def test_a_share_that_is_typed_takes_a_measured_pool_with_it() -> None:
    """Whoever only drops terms, as the page does, must not keep a pool that would not move."""
    voids = result({"ask": "catalogue"})["voids"]
    assert voids["gpu_memory_utilization"] == ["available_kv_cache_bytes"]
    assert voids["tensor_parallel_size"] == list(voided("tensor_parallel_size"))


@pytest.mark.parametrize(
    ("field", "terms"),
    [
        ("max_num_seqs", {"activation_bytes", "cuda_graph_bytes", "available_kv_cache_bytes"}),
        ("num_hidden_layers", set(RESTS_ON) - {"non_torch_bytes", "total_bytes"}),
        ("max_model_len", set()),
        ("concurrency", set()),
    ],
)
def test_a_change_voids_what_rests_on_it(field: str, terms: set[str]) -> None:
    """A number of the architecture stands for the whole config."""
    assert set(voided(field)) == terms
    whole = Measured(*range(1, 7))
    left = still_measured(whole, [field])
    gone = {item.name for item in fields(Measured) if getattr(left, item.name) is None}
    assert gone == terms
