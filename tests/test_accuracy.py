"""Napkin's figures against public runs of real servers: no worse than the baseline.

Each record is predicted with constants learnt without the records of its own model. What was
reached stands in ``tests/accuracy/baseline.json``, set by ``python3 build.py accuracy --baseline``
alone.
"""

from functools import cache

import pytest

from pycore.data import rows
from tests.accuracy import learn
from tests.accuracy.baseline import baseline, reached
from tests.accuracy.score import Evidence, Scored, evidence, folds, model_of
from tests.accuracy.targets import targets
from tests.runs.records import records

# A tenth more, and a tenth of a percent, is within what one new record moves.
NOISE_SHARE = 1.1
NOISE = 0.001


@cache
def found() -> Evidence:
    """What the project's own records can tell."""
    return evidence(records())


@cache
def scored() -> tuple[Scored, ...]:
    """Every usable record, its own model left out."""
    return tuple(folds(found(), model_of))


def test_enough_runs_are_used() -> None:
    """A benchmark of a few is none."""
    assert len(found().used) >= 75


@pytest.mark.parametrize("figure", sorted(baseline()))
def test_no_figure_gets_worse(figure: str) -> None:
    """Errors, and shares that miss, stay where they were."""
    assert reached(scored())[figure] <= baseline()[figure] * NOISE_SHARE + NOISE


@pytest.mark.parametrize("place", range(9))
def test_every_target_is_met(place: int) -> None:
    """The aims of the benchmark, those of reference case R1 among them."""
    target = targets(scored())[place]
    assert target.is_met, f"{target.title}: {target.shown}, aim {target.aim}"


def test_stored_constants_are_those_that_all_runs_teach() -> None:
    """``build.py accuracy --learn`` would write the constants that are there, give or take 3 %."""
    stored = {row["id"]: float(str(row["value"])) for row in rows("overheads")}
    for row in learn.learn(found().said):
        assert float(row["value"]) == pytest.approx(stored[row["id"]], rel=0.03), row["id"]


def test_no_constant_rests_on_one_run() -> None:
    """Each is spoken of by two observations at least."""
    learnt = [row for row in rows("overheads") if "num_observations" in row]
    assert [row["id"] for row in learnt if int(str(row["num_observations"])) < 2] == []
