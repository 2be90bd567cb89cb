"""The tools a build or a test run needs, set up once in .cache/ and node_modules/."""

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from console import BuildError, run, say
from diagnosis import installers_remedy
from places import BUILD, CACHE, NODE_MODULES, ROOT, VENV

try:
    import fcntl
except ImportError:  # Windows: two scripts at once are then the user's own affair
    fcntl = None  # type: ignore[assignment]  # the module is absent there

OLDEST_NODE = 20


@contextmanager
def only_one(name: str) -> Iterator[None]:
    """Hold a lock file, so that two scripts started together do not build over one another."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as handle:
        if fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                say("· waiting for another build.py that is at work here")
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def digest_of(*paths: Path) -> str:
    """Name the contents of files, to know whether they changed."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_fresh(stamp: Path, wanted: str) -> bool:
    """Whether a finished piece of work was made from just this."""
    return stamp.is_file() and stamp.read_text() == wanted


def find_program(name: str, remedy: str) -> str:
    """Find a program on the PATH."""
    found = shutil.which(name)
    if found is None:
        raise BuildError(f"{name} was not found on the PATH", remedy)
    return found


@cache
def node() -> str:
    """Node, new enough for Pyodide."""
    remedy = f"install Node.js {OLDEST_NODE} or newer, with npm, and open a new terminal"
    program = find_program("node", remedy)
    version = run([program, "--version"], title="looking for Node", remedy=remedy)
    if int(version.lstrip("v").split(".")[0]) < OLDEST_NODE:
        raise BuildError(f"Node {version} is too old", remedy)
    return program


def npm() -> str:
    """Find the npm client."""
    return find_program("npm", "install npm (it comes with Node.js) and open a new terminal")


def node_modules() -> None:
    """Install the pinned development packages, unless they are already there."""
    lock = ROOT / "package-lock.json"
    stamp = NODE_MODULES / ".napkin-stamp"
    wanted = digest_of(lock)
    if is_fresh(stamp, wanted):
        return
    run(
        [npm(), "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
        title="installing the JavaScript tools (npm ci)",
        remedy=installers_remedy,
    )
    stamp.write_text(wanted)


def venv_python() -> Path:
    """Name the virtual environment's own interpreter."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def virtual_environment(*requirements: str) -> Path:
    """Make .cache/venv with the pinned packages of these files; return its interpreter."""
    python = venv_python()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    marker = VENV / f".made-with-{version}"
    if not (python.exists() and marker.exists()):
        shutil.rmtree(VENV, ignore_errors=True)
        run(
            [sys.executable, "-m", "venv", VENV],
            title="making a virtual environment in .cache/venv",
            remedy="install Python's venv module (on Debian and Ubuntu: apt install python3-venv)",
        )
        marker.touch()
    for name in requirements:
        install_requirements(python, BUILD / name)
    return python


def install_requirements(python: Path, requirements: Path) -> None:
    """Install one file of pinned packages, unless it is already installed."""
    stamp = VENV / f".{requirements.stem}-stamp"
    wanted = digest_of(requirements)
    if is_fresh(stamp, wanted):
        return
    run(
        [python, "-m", "pip", "install", "--disable-pip-version-check", "-r", requirements],
        title=f"installing the Python packages of {requirements.name}",
        remedy=installers_remedy,
    )
    stamp.write_text(wanted)
