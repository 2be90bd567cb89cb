"""What a build leaves in dist/."""

import gzip
import io
import re
import zipfile
from pathlib import Path, PurePosixPath

import pytest
from freeze import own_sources
from own_code import LARGEST_BYTES, own_code_bytes
from places import ROOT
from pyodide_runtime import SHIPPED

LARGEST_FIRST_VISIT_BYTES = 5_600_000
STANDARD_LIBRARY_IMPORT = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)


@pytest.fixture(scope="module")
def bundle(site: Path) -> zipfile.ZipFile:
    """Open the frozen bundle."""
    (found,) = site.glob("static/bundle.*.bin")
    return zipfile.ZipFile(io.BytesIO(gzip.decompress(found.read_bytes())))


def test_own_javascript_and_css_stay_small(site: Path) -> None:
    """A ceiling, so that what the page weighs is decided and not found out."""
    assert own_code_bytes(site) <= LARGEST_BYTES


def test_the_first_visit_stays_small(site: Path) -> None:
    """Everything that a first visit loads, as a server compresses it."""
    files = [path for path in site.rglob("*") if path.is_file() and "licenses" not in path.parts]
    sizes = [
        path.stat().st_size if path.suffix == ".bin" else len(gzip.compress(path.read_bytes(), 9))
        for path in files
    ]
    assert sum(sizes) <= LARGEST_FIRST_VISIT_BYTES


def test_the_bundle_holds_every_module_and_fact_of_the_core(bundle: zipfile.ZipFile) -> None:
    """Also a module that is only imported once something rare is asked."""
    held = set(bundle.namelist())
    for source in own_sources():
        if source.endswith("__main__.py"):
            continue
        wanted = source.replace(".py", ".pyc") if source.endswith(".py") else source
        assert wanted in held


def test_the_bundle_holds_no_source(bundle: zipfile.ZipFile) -> None:
    """A visitor's browser compiles no Python."""
    suffixes = {PurePosixPath(name).suffix for name in bundle.namelist()}
    assert suffixes == {".pyc", ".jsonl"}


def test_the_page_refers_only_to_files_that_are_there(site: Path) -> None:
    """Every href and src of ours, with no path that starts at the host's root."""
    html = (site / "index.html").read_text("utf-8")
    for reference in re.findall(r'\b(?:href|src)="([^"#?:]+)[^"]*"', html):
        assert not reference.startswith("/")
        assert (site / reference).exists(), reference


def test_the_licences_of_what_is_shipped_are_there_and_linked(site: Path) -> None:
    """From the page to the list, and from the list to each text."""
    assert 'href="licenses/"' in (site / "index.html").read_text("utf-8")
    listing = (site / "licenses/index.html").read_text("utf-8")
    texts = re.findall(r'href="([\w.-]+\.txt)"', listing)
    assert {path.name for path in site.glob("licenses/*.txt")} == set(texts)
    assert len(texts) >= 4


def test_pyodide_is_shipped_unchanged(site: Path) -> None:
    """Its licence asks that changes be told; there are none."""
    from pyodide_runtime import pyodide

    for name in SHIPPED:
        (shipped,) = site.glob(f"runtime-*/{name}")
        assert (pyodide() / name).read_bytes() == shipped.read_bytes()


def test_the_lock_file_names_no_registry() -> None:
    """The client asks whatever registry it is set up for."""
    assert '"resolved"' not in (ROOT / "package-lock.json").read_text("utf-8")
