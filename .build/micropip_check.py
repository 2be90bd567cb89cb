"""The wheel, installed with micropip in a stock Pyodide: what a Python user in a browser would do."""

import json
import shutil
from pathlib import Path

from console import run
from diagnosis import installers_remedy
from places import BUILD, CACHE, ROOT
from pyodide_runtime import pyodide
from toolbox import digest_of, is_fresh, node, venv_python

REFERENCE_REQUEST = {
    "model": "llama-3.3-70b-instruct",
    "accelerator": "a100-sxm-80gb",
    "tensor_parallel_size": 2,
}
WEIGHTS_BYTES = 70_588_581_120
KV_CACHE_BYTES_PER_TOKEN = 163_840


def wheel_sources() -> list[Path]:
    """Everything that the wheel is made from."""
    core = [path for path in ROOT.glob("pycore/**/*") if path.is_file() and path.suffix != ".pyc"]
    return sorted([*core, ROOT / "pyproject.toml", ROOT / "README.md", ROOT / "LICENSE"])


def wheels() -> tuple[Path, Path]:
    """Return micropip's wheel and ours, fetching the one and building the other where needed."""
    return micropip_wheel(), own_wheel()


def micropip_wheel() -> Path:
    """Fetch micropip as pinned, through pip."""
    folder = CACHE / "micropip"
    found = sorted(folder.glob("micropip-*.whl"))
    if found:
        return found[0]
    run(
        [
            *(venv_python(), "-m", "pip", "download", "--disable-pip-version-check", "--no-deps"),
            *("--require-hashes", "--only-binary=:all:", "--python-version", "3.14"),
            *("--dest", folder, "-r", BUILD / "micropip-requirements.txt"),
        ],
        title="fetching micropip",
        remedy=installers_remedy,
    )
    return next(folder.glob("micropip-*.whl"))


def own_wheel() -> Path:
    """Build the core's wheel, unless its sources are unchanged."""
    folder = CACHE / "wheel"
    stamp = CACHE / "wheel.stamp"
    wanted = digest_of(*wheel_sources())
    if not is_fresh(stamp, wanted):
        shutil.rmtree(folder, ignore_errors=True)
        run(
            [
                *(venv_python(), "-m", "pip", "wheel", "--disable-pip-version-check"),
                *("--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT),
            ],
            title="building the wheel",
            remedy="pyproject.toml or the sources are broken; the lines above say where",
        )
        shutil.rmtree(ROOT / "build", ignore_errors=True)
        stamp.write_text(wanted)
    return next(folder.glob("*.whl"))


def check_with_micropip() -> None:
    """Install the wheel with micropip under Node and ask it the reference case."""
    micropip, wheel = wheels()
    stamp = CACHE / "micropip.stamp"
    wanted = digest_of(micropip, wheel, BUILD / "micropip_check.mjs")
    if is_fresh(stamp, wanted):
        return
    job = {
        "pyodide": str(pyodide()),
        "micropip": str(micropip),
        "wheel": str(wheel),
        "request": json.dumps(REFERENCE_REQUEST),
        "expected": {
            "weights_bytes_per_rank": WEIGHTS_BYTES,
            "kv_cache_bytes_per_token_per_rank": KV_CACHE_BYTES_PER_TOKEN,
        },
    }
    run(
        [node(), BUILD / "micropip_check.mjs", json.dumps(job)],
        title="installing the wheel with micropip in a stock Pyodide",
        remedy="the wheel must answer the reference case; the lines above say what it did",
    )
    stamp.write_text(wanted)
