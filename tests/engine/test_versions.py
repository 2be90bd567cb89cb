"""Versions as people and logs write them."""

import pytest

from pycore.engine.versions import find_version, parse_version
from pycore.errors import InvalidRequest


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.33.0", (0, 33)),
        ("v0.19.1", (0, 19)),
        ("0.26", (0, 26)),
        ("0.11.1rc3.dev12+g1a2b3c4d5.d20251010.cu129", (0, 11)),
        ("0.10.1+gptoss", (0, 10)),
        ("0.10.2.post1", (0, 10)),
        ("v0.11.0-x86_64", (0, 11)),
    ],
)
def test_a_release_or_a_build_of_it_is_a_version(text: str, version: tuple[int, int]) -> None:
    """What follows the minor number is read, and decides nothing."""
    assert parse_version(text) == version
    assert find_version(text).version == version


@pytest.mark.parametrize(
    "text",
    ["", "v", "0", "0.33.banana", "0.33banana", "banana", "0.33.0 ", "0..33", "٠.٣٣", "0.99999"],
)
def test_what_is_no_version_is_refused(text: str) -> None:
    """Also where it begins as one."""
    with pytest.raises(InvalidRequest, match="is not a version"):
        find_version(text)


@pytest.mark.parametrize(
    ("text", "prints"),
    [
        ("0.19.1", "blocks"),
        ("0.20.0", "blocks"),
        ("v0.20.0+cu129", "blocks"),
        ("0.20.0rc1", "blocks"),
        ("0.20.1", "concurrency"),
        ("0.20", "concurrency"),
    ],
)
def test_a_build_of_a_release_prints_its_tokens_as_that_does(text: str, prints: str) -> None:
    """Only the first release of 0.20 has a figure of its own."""
    assert find_version(text).prints_tokens_of == prints


def test_versions_are_remembered_within_bounds() -> None:
    """Whatever a long-lived page is asked."""
    for number in range(200):
        find_version(f"0.33.{number}")
    assert find_version.cache_info().currsize <= 64
