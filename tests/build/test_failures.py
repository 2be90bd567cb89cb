"""Each thing that can go wrong on a user's machine says what to do."""

import ast
import http.client
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import find_chromium
from console import BuildError, run
from places import ROOT
from pyodide_runtime import check
from serve import serve_somewhere
from toolbox import find_program

OLD_PYTHON = """
import runpy, sys
sys.version_info, sys.version = (3, 8, 0), "3.8.0 (old)"
try:
    runpy.run_path({path!r}, run_name="__main__")
except SystemExit as stop:
    print(stop)
"""


@pytest.fixture
def taken_port() -> Iterator[int]:
    """Hold a port."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        yield holder.getsockname()[1]


def test_a_package_of_another_hash_is_refused(tmp_path: Path) -> None:
    """Whatever the registry or a proxy on the way made of it."""
    tarball = tmp_path / "pyodide.tgz"
    tarball.write_bytes(b"something else")
    with pytest.raises(BuildError, match="not the pinned package") as caught:
        check(tarball)
    assert str(tarball) in caught.value.remedy


def test_a_missing_program_says_what_to_install() -> None:
    """Node or npm, on a machine that has neither."""
    with pytest.raises(BuildError, match="no-such-program was not found") as caught:
        find_program("no-such-program", "install it")
    assert caught.value.remedy == "install it"


def test_a_failing_tool_shows_its_last_lines(tmp_path: Path) -> None:
    """The tool's own words come before ours."""
    script = tmp_path / "fail.sh"
    script.write_text("echo the reason; exit 3\n")
    with pytest.raises(BuildError, match="the reason\nfailing: sh ended with code 3"):
        run(["sh", script], title="failing", remedy="mend it")


def test_a_chromium_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A wrong $CHROMIUM is the user's to mend; no other is taken silently."""
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "chromium"))
    with pytest.raises(BuildError, match="which is not there") as caught:
        find_chromium(tmp_path / "python")
    assert "apt install chromium" in caught.value.remedy


def test_a_taken_port_gives_way_to_a_free_one(
    site: Path, taken_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The address that is printed is the one that works."""
    server = serve_somewhere(taken_port)
    assert server.server_port != taken_port
    assert f"port {taken_port} cannot be used" in capsys.readouterr().out
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    connection.close()
    server.stop()


def test_an_old_python_is_told_so_rather_than_shown_a_syntax_error() -> None:
    """The one file that it reads has nothing newer in it than it knows."""
    ast.parse((ROOT / "build.py").read_text("utf-8"), feature_version=(3, 6))
    first = run(
        [sys.executable, "-c", OLD_PYTHON.format(path=str(ROOT / "build.py"))],
        title="as an old Python",
        remedy="",
    )
    assert "needs Python 3.11 or newer; this is 3.8.0" in first
