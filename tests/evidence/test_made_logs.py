"""Logs made from figures come back with those figures, whatever happened to them on the way."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pycore.evidence.reading.feed import read_text
from pycore.units import GIB
from tests.evidence.made_logs import Run, messages
from tests.evidence.rendered import PREFIXES, Look, rendered
from tests.evidence.score_runs import missing
from tests.runs.records import RunRecord, records

VERSIONS = (
    "0.10.2",
    "0.11.0",
    "0.15.0",
    "0.19.0",
    "0.22.1",
    "0.26.0",
    "0.28.0",
    "0.31.0",
    "0.33.0",
)
SIZES = st.integers(1, 30_000).map(lambda hundredths: hundredths / 100)
LOOKS = st.builds(
    Look,
    colour=st.booleans(),
    prefix=st.sampled_from(PREFIXES),
    seed=st.integers(0, 1000) | st.none(),
    join=st.booleans(),
    carriage_returns=st.booleans(),
)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """A start of any version on any ranks, each rank with figures of its own."""
    version = draw(st.sampled_from(VERSIONS))
    tensor, stages = draw(st.sampled_from([(1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (8, 2)]))
    figures = ["loaded_weights_gib_per_rank", "available_kv_cache_gib", "cuda_graph_gib"]
    if int(version.split(".")[1]) > 26:
        figures += ["consumed_gib", "printed_peak_activation_gib"]
    else:
        figures += ["activation_gib", "non_torch_gib"]
    ranks = tensor * stages
    by_rank: dict[str, list[Any]] = {
        name: draw(st.lists(SIZES, min_size=ranks, max_size=ranks)) for name in figures
    }
    counts = {
        "total_gib": draw(SIZES),
        "kv_cache_size_tokens": draw(st.integers(1, 10**8)),
        "kv_cache_max_concurrency": draw(st.integers(0, 10**5)) / 100,
        "kv_cache_max_concurrency_at_tokens": draw(st.integers(1, 10**6)),
    }
    first = {name: values[0] for name, values in by_rank.items()}
    request = {
        "tensor_parallel_size": tensor,
        "pipeline_parallel_size": stages,
        "gpu_memory_utilization": draw(st.integers(10, 99)) / 100,
    }
    return Run(version, "org/some-model", request, {**first, **counts}, by_rank)


def nearly(size: float) -> Any:
    """A size in bytes, to half of the last digit that is printed."""
    return pytest.approx(size * GIB, abs=0.0051 * GIB)


@settings(max_examples=60)
@given(runs(), LOOKS)
def test_the_poorest_rank_decides_the_pool_and_the_fullest_the_weights(
    run: Run, look: Look
) -> None:
    """Ranks interleave, colours and prefixes come on top; the figures stay what they were."""
    findings = read_text(rendered(messages(run), look))
    assert findings.value("available_kv_cache_bytes") == nearly(
        min(run.by_rank["available_kv_cache_gib"])
    )
    assert findings.value("loaded_weights_bytes_per_rank") == nearly(
        max(run.by_rank["loaded_weights_gib_per_rank"])
    )
    assert findings.value("total_bytes") == nearly(run.measured["total_gib"])
    assert findings.value("kv_cache_size_tokens") == run.measured["kv_cache_size_tokens"]
    assert findings.value("kv_cache_max_concurrency") == pytest.approx(
        run.measured["kv_cache_max_concurrency"], abs=0.006
    )
    assert findings.setting("tensor_parallel_size") == run.request["tensor_parallel_size"]
    assert findings.setting("gpu_memory_utilization") == run.request["gpu_memory_utilization"]
    assert findings.setting("engine_version") == run.version


@settings(max_examples=40)
@given(runs(), LOOKS)
def test_every_rank_keeps_its_own_figures(run: Run, look: Look) -> None:
    """As many ranks speak as there are, each with its pool."""
    findings = read_text(rendered(messages(run), look))
    pools = sorted(reading.value for reading in findings.readings("available_kv_cache_bytes"))
    expected = sorted(run.by_rank["available_kv_cache_gib"])
    assert len(pools) == len(expected)
    for found, size in zip(pools, expected, strict=True):
        assert found == nearly(size)


@settings(max_examples=40)
@given(runs(), LOOKS, st.data())
def test_a_truncated_log_yields_no_figure_that_was_not_in_it(
    run: Run, look: Look, data: st.DataObject
) -> None:
    """Cut anywhere, a log says less, never something else."""
    text = rendered(messages(run), look)
    whole = read_text(text)
    cut = read_text(text[: data.draw(st.integers(0, len(text)))])
    for figure in cut.figures():
        known = {reading.value for reading in whole.readings(figure)}
        assert {reading.value for reading in cut.readings(figure)} <= known, figure


@settings(max_examples=25)
@given(st.lists(runs(), min_size=2, max_size=12), LOOKS)
def test_of_several_starts_the_last_one_counts(several: Sequence[Run], look: Look) -> None:
    """A pod that restarts logs one start after another."""
    text = "".join(rendered(messages(run), look) for run in several)
    findings, last = read_text(text), several[-1]
    assert findings.num_starts == len(several)
    assert findings.value("available_kv_cache_bytes") == nearly(
        min(last.by_rank["available_kv_cache_gib"])
    )
    assert findings.value("kv_cache_size_tokens") == last.measured["kv_cache_size_tokens"]


@pytest.mark.parametrize("record", records(), ids=lambda record: record.id)
def test_a_public_run_comes_back_from_its_log(record: RunRecord) -> None:
    """Every figure of every record, plain and as a container's log interleaves and colours it."""
    looks = (Look(), Look(colour=True, prefix="kubectl", seed=7, join=True))
    assert [line for look in looks for line in missing(record, look)] == []
