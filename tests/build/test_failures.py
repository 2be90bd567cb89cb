"""Each thing that can go wrong on a user's machine says what to do."""

import ast
import http.client
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import diagnosis
import pytest
from chromium import find_chromium
from console import BuildError, run
from places import ROOT
from pyodide_runtime import check, fetch
from serve import serve_somewhere
from toolbox import install_requirements, node, npm

FULL_DEVICE = Path("/dev/full")
COMPILED = shutil.ignore_patterns("__pycache__")

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


@pytest.fixture
def nowhere() -> str:
    """Name a registry behind a port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
    return f"http://127.0.0.1:{port}/"


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let pip read no settings of this machine."""
    for name in os.environ:
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    return monkeypatch


def test_a_package_of_another_hash_is_refused(tmp_path: Path) -> None:
    """Whatever the registry or a proxy on the way made of it."""
    tarball = tmp_path / "pyodide.tgz"
    tarball.write_bytes(b"something else")
    with pytest.raises(BuildError, match="not the pinned package") as caught:
        check(tarball)
    assert str(tarball) in caught.value.remedy


@pytest.mark.parametrize(("name", "find"), [("node", node.__wrapped__), ("npm", npm)])
def test_a_missing_program_says_what_to_install(
    name: str, find: Callable[[], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Node or npm, on a machine that has neither."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=f"^{name} was not found on the PATH") as caught:
        find()
    assert "Node.js" in caught.value.remedy
    assert "new terminal" in caught.value.remedy


def test_npm_without_a_network_says_so(
    nowhere: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its own error is shown, and the network is what to look at."""
    monkeypatch.setenv("npm_config_registry", nowhere)
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_noproxy", "127.0.0.1")
    with pytest.raises(BuildError, match="ECONNREFUSED") as caught:
        fetch(tmp_path / "pyodide.tgz")
    assert caught.value.remedy == diagnosis.NETWORK


def test_pip_without_a_network_says_so(
    nowhere: str, alone: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Although its last line is that no distribution matches."""
    alone.setenv("PIP_INDEX_URL", nowhere)
    alone.setenv("PIP_RETRIES", "1")
    alone.setenv("NO_PROXY", "127.0.0.1")
    wanted = tmp_path / "nowhere.txt"
    wanted.write_text("napkin-tests-have-no-such-package==1\n")
    with pytest.raises(BuildError, match="No matching distribution found") as caught:
        install_requirements(Path(sys.executable), wanted)
    assert caught.value.remedy == diagnosis.NETWORK


def test_a_package_that_is_not_there_is_not_called_the_network(
    alone: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An index without the version, or a Python that it was not made for."""
    alone.setenv("PIP_NO_INDEX", "1")
    wanted = tmp_path / "absent.txt"
    wanted.write_text("napkin-tests-have-no-such-package==1\n")
    with pytest.raises(BuildError, match="No matching distribution found") as caught:
        install_requirements(Path(sys.executable), wanted)
    assert "does not have that version" in caught.value.remedy


def test_a_wheel_of_another_hash_is_not_called_the_network(
    alone: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was pinned is not what came."""
    alone.setenv("PIP_NO_INDEX", "1")
    wheel = tmp_path / "x-1-py3-none-any.whl"
    wheel.write_bytes(b"something else")
    wanted = tmp_path / "other.txt"
    wanted.write_text(f"{wheel} --hash=sha256:{'0' * 64}\n")
    with pytest.raises(BuildError, match="DO NOT MATCH THE HASHES") as caught:
        install_requirements(Path(sys.executable), wanted)
    assert "than the one pinned" in caught.value.remedy


def test_words_that_no_sign_fits_are_left_to_speak() -> None:
    """No guess at the network: the tool has said it."""
    assert diagnosis.installers_remedy("npm error code ELIFECYCLE") == diagnosis.UNKNOWN


@pytest.mark.skipif(not FULL_DEVICE.exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_named() -> None:
    """The system's own error tells the remedy."""
    with pytest.raises(OSError, match="No space left") as caught:
        FULL_DEVICE.write_text("x")
    assert diagnosis.file_systems_remedy(caught.value) == diagnosis.FULL_DISK


def test_a_cache_that_cannot_be_made_is_no_traceback(tmp_path: Path) -> None:
    """Something else is in its place: the script names it and says what to do."""
    shutil.copy(ROOT / "build.py", tmp_path)
    for folder in (".build", "pycore", "static", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=COMPILED)
    (tmp_path / ".cache").touch()
    build = [sys.executable, str(tmp_path / "build.py")]
    done = subprocess.run(build, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(tmp_path / ".cache") in done.stderr
    assert "what to do: what the script makes is in .cache/" in done.stderr


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
