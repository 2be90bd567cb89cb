"""What every row of the data files keeps to."""

import re
import zipfile
from collections import Counter
from pathlib import Path
from subprocess import run
from sys import executable

import pytest

import pycore
from pycore.data import rows

NAMES = ("accelerators", "models")


@pytest.mark.parametrize("name", NAMES)
def test_ids_are_unique(name: str) -> None:
    """An id in a request means one thing."""
    counts = Counter(row["id"] for row in rows(name))

    assert [identifier for identifier, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("name", NAMES)
def test_ids_can_stand_in_a_link(name: str) -> None:
    """Lower case, digits and a few signs: nothing that a URL would escape."""
    odd = [row["id"] for row in rows(name) if not re.fullmatch(r"[a-z0-9._-]+", str(row["id"]))]

    assert odd == []


@pytest.mark.parametrize("name", NAMES)
def test_every_row_says_where_it_comes_from(name: str) -> None:
    """A figure without a source cannot be checked by the reader."""
    assert [row["id"] for row in rows(name) if not row["source"]] == []


def test_rows_are_read_once() -> None:
    """The second reader gets the same objects: parsing costs the browser milliseconds."""
    assert rows("models") is rows("models")


def test_rows_are_found_inside_a_zip(tmp_path: Path) -> None:
    """The browser imports pycore from a zip, where there is no file to open."""
    package = Path(pycore.__file__).parent
    bundle = tmp_path / "bundle.zip"
    with zipfile.ZipFile(bundle, "w") as archive:
        for path in (package / "__init__.py", *sorted((package / "data").iterdir())):
            if path.is_file():
                archive.write(path, path.relative_to(package.parent))
    script = f"import sys; sys.path[0] = {str(bundle)!r}\n"
    script += "import pycore.data; print(len(pycore.data.rows('models')))"

    done = run([executable, "-c", script], capture_output=True, text=True, check=True)

    assert len(rows("models")) == int(done.stdout)


def test_every_constant_says_how_many_observations_it_rests_on_or_that_it_is_assumed() -> None:
    """A range that was chosen says how; nothing stands in the code without a source."""
    for row in rows("overheads"):
        assert row["source"], row["id"]
        chosen = str(row["source"]).startswith("chosen so that")
        assert chosen or "num_observations" in row or row["basis"] == "assumed", row["id"]
