"""The library as `pip install .` leaves it, in an environment of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from micropip_check import REFERENCE_REQUEST, WEIGHTS_BYTES, own_wheel

LOOK = """
import pathlib, pycore
from pycore.data import rows
print((pathlib.Path(pycore.__file__).parent / "py.typed").exists(), len(rows("models")) > 40)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel, without any network, into an empty environment; return its programs."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    programs = folder / "bin"
    subprocess.run(
        [programs / "python", "-m", "pip", "install", "-q", "--no-index", own_wheel()],
        check=True,
        capture_output=True,
    )
    return programs


def test_the_napkin_command_answers_line_by_line(environment: Path, tmp_path: Path) -> None:
    """A bad line gets its own failure, and the rest go on."""
    lines = [json.dumps(REFERENCE_REQUEST), "not JSON", json.dumps({"ask": "catalogue"})]
    done = subprocess.run(
        [environment / "napkin"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["ok"] for answer in answers] == [True, False, True]
    assert answers[0]["result"]["weights_bytes_per_rank"] == WEIGHTS_BYTES


def test_the_package_is_typed_and_has_its_facts(environment: Path, tmp_path: Path) -> None:
    """A type checker finds py.typed; the catalogue is not empty."""
    found = subprocess.run(
        [environment / "python", "-c", LOOK],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert found.stdout.split() == ["True", "True"]
