"""The command line: JSON Lines in, one answer a line out, in order."""

import sys

from pycore.bridge import answer

USAGE = """\
usage: python -m pycore < requests.jsonl

Reads one JSON request a line from standard input and writes one JSON answer a line.
A line that cannot be read gets a failure of its own; the rest go on.

example:
  printf '{"model":"llama-3.3-70b-instruct","accelerator":"a100-sxm-80gb",\
"tensor_parallel_size":2}\\n' | python -m pycore
"""


def main() -> int:
    """Answer every line of standard input."""
    if len(sys.argv) > 1:
        wants_help = sys.argv[1] in {"-h", "--help"}
        print(USAGE, end="", file=sys.stdout if wants_help else sys.stderr)
        return 0 if wants_help else 2
    for line in sys.stdin:
        if line.strip():
            print(answer(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
