"""The page's types, written from dataclasses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pytest
from contract_types import contract_types, interface, type_text


@dataclass(frozen=True)
class Part:
    """A part."""

    size_bytes: int


@dataclass(frozen=True)
class Whole:
    """A whole. With more to say.

    And more.
    """

    parts: tuple[Part, ...]
    """Its parts,
    all of them."""
    name: str | None = None


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (int, "number"),
        (float | None, "number | null"),
        (tuple[int, ...], "number[]"),
        (tuple[float, float], "[number, number]"),
        (list[str | None], "(string | null)[]"),
        (Mapping[str, tuple[int, int]], "Record<string, [number, number]>"),
        (Literal["fits", "tight"], '"fits" | "tight"'),
        (object, "unknown"),
    ],
)
def test_a_type_is_written_as_json_leaves_it(hint: object, expected: str) -> None:
    """Tuples become arrays, mappings become records."""
    assert expected == type_text(hint, [])


def test_a_dataclass_brings_its_documentation_and_the_ones_it_mentions() -> None:
    """What an editor shows beside a field is what the core says about it."""
    found: list[type] = []
    assert interface(Whole, found) == (
        "/** A whole. With more to say. */\n"
        "export interface Whole {\n"
        "  /** Its parts, all of them. */\n"
        "  parts: Part[];\n"
        "  name: string | null;\n"
        "}\n"
    )
    assert found == [Part]


def test_every_field_of_a_request_is_optional() -> None:
    """Null means as the engine would choose."""
    assert "export type Request = Partial<Scenario>;" in contract_types()
