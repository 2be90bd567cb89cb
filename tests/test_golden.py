"""Napkin's answers are the engine's own, case by case."""

import pytest

from pycore.bridge import answer
from tests.golden.builds import Build, builds
from tests.golden.compare import compare_build, compare_case, is_refused_by_name

# The files whose models this version sizes; the others grow into it.
SCOPE = "uniform"


@pytest.mark.parametrize("build", list(builds(SCOPE)), ids=lambda build: build.label)
def test_every_figure_is_the_engines(build: Build) -> None:
    """Weights, block size, batch defaults, blocks, tokens, concurrency, lengths and refusals."""
    wrong = [figure for figure in compare_build(answer, build) if not figure.is_right]
    for case in build.cases:
        wrong += [figure for figure in compare_case(answer, build, case) if not figure.is_right]
    assert wrong == []


@pytest.mark.parametrize("build", list(builds("later")), ids=lambda build: build.label)
def test_a_model_beyond_the_scope_is_refused_by_name_or_right(build: Build) -> None:
    """Never sized by the wrong formula: no figure, or the engine's figure."""
    wrong = [figure for figure in compare_build(answer, build) if not figure.is_right]

    assert [figure for figure in wrong if not is_refused_by_name(figure)] == []
