"""Napkin's answers are the engine's own, case by case."""

import pytest

from pycore.bridge import answer
from tests.golden.builds import Build, builds
from tests.golden.compare import compare_build, compare_case


@pytest.mark.parametrize("build", list(builds()), ids=lambda build: build.label)
def test_every_figure_is_the_engines(build: Build) -> None:
    """Weights, block size, batch defaults, blocks, tokens, concurrency, lengths and refusals."""
    wrong = [figure for figure in compare_build(answer, build) if not figure.is_right]
    for case in build.cases:
        wrong += [figure for figure in compare_case(answer, build, case) if not figure.is_right]
    assert wrong == []
