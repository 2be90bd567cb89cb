"""``python -m pycore``: every line answered, in order, whatever the lines hold."""

import json
import subprocess
import sys
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pycore
from pycore.__main__ import main

GOOD = {"model": "llama-3.1-8b-instruct", "accelerator": "h100-sxm-80gb"}
DEEP = 100_000


class Done(NamedTuple):
    """What a run of the program left."""

    code: int
    answers: list[dict[str, Any]]
    errors: str


def run(*lines: bytes) -> Done:
    """The program, fed with lines of any bytes."""
    done = subprocess.run(
        [sys.executable, "-m", "pycore"],
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        check=False,
        timeout=60,
    )
    answers = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return Done(done.returncode, answers, done.stderr.decode())


def request(**changes: object) -> bytes:
    """A line that asks for a good deployment, with some fields changed."""
    return json.dumps(GOOD | changes).encode()


HOSTILE = [
    b"{",
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b"\x00",
    b"null",
    b"[" * DEEP,
    b'{"config":' + b"[" * DEEP + b"]" * DEEP + b"}",
    b'{"a":' * 900 + b"1" + b"}" * 900,
    b'{"rope_scaling":' + b'{"a":' * 900 + b"1" + b"}" * 901,
    b'{"\\ud800":1}',
    b'{"model":"\\udfff"}',
    request(text="\ud800", ask="check_run"),
    request(engine_version="\ud800"),
    request(tensor_parallel_size=10**400),
    b'{"tensor_parallel_size":' + b"9" * 5000 + b"}",
    b'{"model":"a","model":"b"}',
    b'{"gpu_memory_utilization":NaN}',
    request(measured={"total_bytes": 0}),
    request(measured={"total_bytes": 1}),
    request(ask="check_run"),
    request(ask="frontier", measured={"available_kv_cache_bytes": 0}),
]


def test_hostile_lines_are_answered_in_order() -> None:
    """A good line after each bad one is answered still, and the program ends well."""
    lines = [part for line in HOSTILE for part in (line, request())]
    code, answers, errors = run(*lines)
    assert (code, errors) == (0, "")
    assert len(lines) == len(answers)
    assert all(reply["ok"] for reply in answers[1::2])
    for reply in answers[::2]:
        assert reply["ok"] or reply["failure"]["reason"] != "internal_error"


LINES = st.one_of(
    st.binary(min_size=1, max_size=60),
    st.text(min_size=1, max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=6,
    ).map(lambda value: json.dumps(value).encode()),
    st.sampled_from(HOSTILE),
).map(lambda line: line.replace(b"\n", b" "))


@settings(max_examples=12, deadline=None)
@given(st.lists(LINES.filter(lambda line: bool(line.strip())), min_size=1, max_size=40))
def test_any_lines_get_an_answer_each(lines: list[bytes]) -> None:
    """As many answers as lines; a mark after each shows that none changed places."""
    marks = [b'{"mark%d":1}' % number for number in range(len(lines))]
    code, answers, errors = run(*(part for pair in zip(lines, marks, strict=True) for part in pair))
    assert (code, errors) == (0, "")
    marked = [reply["failure"]["field"] for reply in answers[1::2]]
    assert [f"mark{number}" for number in range(len(lines))] == marked
    assert len(answers) == 2 * len(lines)


def test_a_reader_that_has_read_enough_ends_it_quietly() -> None:
    """As ``head`` does: no traceback for the answers that nobody wants."""
    with subprocess.Popen(
        [sys.executable, "-m", "pycore"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        with suppress(BrokenPipeError):
            program.stdin.write(request() + b"\n")
            program.stdin.close()
        assert program.stderr.read() == b""
        assert program.wait(60) == 1


def test_blank_lines_are_passed_over() -> None:
    """They ask nothing."""
    assert len(run(b"", b" \t", request(), b"\r").answers) == 1


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_names_the_command_that_was_called(
    flag: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The installed command does not tell of the module that it runs."""
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/napkin", flag])
    assert main() == 0
    assert capsys.readouterr().out.startswith("usage: napkin < requests.jsonl\n")
    monkeypatch.setattr(sys, "argv", ["/somewhere/pycore/__main__.py", flag])
    assert main() == 0
    assert "python -m pycore" in capsys.readouterr().out


def test_the_version_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the answers have it."""
    monkeypatch.setattr(sys, "argv", ["napkin", "--version"])
    assert main() == 0
    assert f"napkin {pycore.__version__}\n" == capsys.readouterr().out


def test_an_unknown_argument_is_no_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says how to ask, and fails."""
    monkeypatch.setattr(sys, "argv", ["napkin", "--frob"])
    assert main() == 2
    assert capsys.readouterr().err.startswith("usage: napkin")
