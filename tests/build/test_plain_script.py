"""What is left out of a module when it is shipped, and what is not."""

import pytest
from plain_script import without_types


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("// @ts-check\nlet x;\n", "let x;\n"),
        ('/** @import { A } from "./a.d.ts" */\nlet x;\n', "let x;\n"),
        ("  /** @type {number} */\n  let x;\n", "  let x;\n"),
        ("const x = /** @type {A} */ (y);\n", "const x = (y);\n"),
        ("const f = (/** @type {number} */ n) => n;\n", "const f = (n) => n;\n"),
        ("let x; /** @type {A} */\nlet y;\n", "let x;\nlet y;\n"),
        ("/** A sum. @param {number} a @returns {number} */\n", "/** A sum. */\n"),
        ("/**\n * @typedef {object} A\n * @property {number} a\n */\nlet x;\n", "let x;\n"),
        (
            "/**\n * Count them.\n * @param {A} a\n */\nlet x;\n",
            "/**\n * Count them.\n */\nlet x;\n",
        ),
    ],
)
def test_types_stay_behind(written: str, expected: str) -> None:
    """Of a comment that also explains, the explanation is kept."""
    assert expected == without_types(written)


@pytest.mark.parametrize(
    "text",
    [
        "/** Why this is so. */\nlet x;\n",
        "/* @type */\nlet x;\n",
        "// @type\nlet x;\n",
        "/**\n * Two lines,\n * and an address: a@type.example.\n */\n",
        'const x = "/* @type */";\n',
    ],
)
def test_everything_else_is_left_as_it_was_written(text: str) -> None:
    """Code, explanations and what only looks like a type."""
    assert text == without_types(text)
