"""Names that carry the hash of what they name."""

import pytest
from console import BuildError
from hashed_names import Renaming, hashed_name, reachable


def rename(**files: str) -> Renaming:
    """Rename modules given by their stem."""
    renaming = Renaming({f"{name}.js": text.encode() for name, text in files.items()})
    for path in renaming.sources:
        renaming.rename(path)
    return renaming


def test_a_change_below_renames_everything_above() -> None:
    """So a cached module never meets one from another build."""
    before = rename(top='import { x } from "./low.js";', low="export const x = 1;")
    after = rename(top='import { x } from "./low.js";', low="export const x = 2;")
    assert before.names["low.js"] != after.names["low.js"]
    assert before.names["top.js"] != after.names["top.js"]


def test_an_import_is_rewritten_to_the_new_name() -> None:
    """Static, re-exporting and dynamic ones."""
    renaming = rename(
        top='import "./low.js";\nexport { x } from "./low.js";\nimport("./low.js");',
        low="export const x = 1;",
    )
    low = f"./{renaming.names['low.js']}"
    assert f'import "{low}";\nexport {{ x }} from "{low}";\nimport("{low}");' == (
        renaming.contents["top.js"].decode()
    )


def test_a_comment_is_left_alone() -> None:
    """JSDoc names types of modules that may well import this one."""
    text = '/** @type {import("./top.js").T} */\nexport const x = 1;'
    renaming = rename(top='import "./low.js";', low=text)
    assert text == renaming.contents["low.js"].decode()


def test_a_missing_module_fails_the_build() -> None:
    """Rather than the page."""
    with pytest.raises(BuildError, match="which is not there"):
        rename(top='import "./gone.js";')


def test_a_circle_fails_the_build() -> None:
    """A hash of a file cannot be in that file."""
    with pytest.raises(BuildError, match="circle"):
        rename(a='import "./b.js";', b='import "./a.js";')


def test_reachable_lists_each_module_once() -> None:
    """What the page preloads."""
    renaming = rename(a='import "./b.js"; import "./c.js";', b='import "./c.js";', c="")
    assert reachable(renaming, "a.js") == ["b.js", "c.js"]


def test_the_name_is_of_the_content() -> None:
    """The same bytes have the same name, wherever they were built."""
    assert hashed_name("a/b.css", b"x") == hashed_name("a/b.css", b"x")
    assert hashed_name("a/b.css", b"x") != hashed_name("a/b.css", b"y")
    assert hashed_name("a/b.css", b"x").startswith("a/b.")
