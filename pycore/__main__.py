"""The command line: JSON Lines in, one answer a line out, in order."""

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Final

import pycore
from pycore.bridge import answer
from pycore.errors import Reason

USAGE: Final = """\
usage: {name} < requests.jsonl
       {name} --help | --version

Reads one JSON request a line from standard input and writes one JSON answer a line, both in
UTF-8. A line that cannot be read gets a failure of its own; the rest go on. Blank lines are
passed over.

example:
  printf '{{"model":"llama-3.3-70b-instruct","accelerator":"a100-sxm-80gb",\
"tensor_parallel_size":2}}\\n' | {name}
"""


def main() -> int:
    """Answer every line of standard input, or say how this program is used."""
    match sys.argv[1:]:
        case []:
            try:
                return answer_lines()
            except BrokenPipeError:
                # Whoever reads has read enough; Python's own last flush must not fail either.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                return 1
        case ["-V" | "--version"]:
            print("napkin", pycore.__version__)
            return 0
        case ["-h" | "--help"]:
            print(usage(), end="")
            return 0
        case _:
            print(usage(), end="", file=sys.stderr)
            return 2


def usage() -> str:
    """How this program is used, under the name that it was called by."""
    called = Path(sys.argv[0]).stem
    return USAGE.format(name="python -m pycore" if called == "__main__" else called)


def answer_lines() -> int:
    """Answer every line; bytes, since what is no UTF-8 must not stop the lines after it."""
    for line in sys.stdin.buffer:
        if line.strip():
            sys.stdout.buffer.write(answer_line(line).encode() + b"\n")
            sys.stdout.buffer.flush()
    return 0


def answer_line(line: bytes) -> str:
    """The answer to one line, whatever is wrong with the line or with Napkin."""
    try:
        return answer(line.decode())
    except UnicodeDecodeError as error:
        return failure("not_json", f"the request is not UTF-8: {error.reason}")
    except Exception as error:  # noqa: BLE001  # the lines after it must be answered
        traceback.print_exc()
        return failure("internal_error", f"Napkin itself failed: {error!r}")


def failure(reason: Reason, message: str) -> str:
    """A failure of the whole line."""
    told = {"field": "request", "reason": reason, "message": message}
    return json.dumps({"ok": False, "failure": told}, separators=(",", ":"))


if __name__ == "__main__":
    sys.exit(main())
