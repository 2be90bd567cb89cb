"""What the script says while it works: steps with their time, and failures with a remedy."""

import codecs
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from places import ROOT

HEARTBEAT_SECONDS = 10
SHOWN_LINES = 60
SHOWN_WIDTH = 400
CHUNK_BYTES = 4096


class BuildError(Exception):
    """A step that failed, with what the user can do about it."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def say(text: str) -> None:
    """Print at once, also into a pipe."""
    print(text, flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Say what starts and how long it took."""
    say(f"· {title}")
    started = time.monotonic()
    yield
    elapsed = time.monotonic() - started
    if elapsed > 1:
        say(f"  done in {elapsed:.1f} s")


def run(
    argv: Sequence[str | Path],
    *,
    title: str,
    remedy: str | Callable[[str], str],
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
) -> str:
    """Run a tool to its end, with a sign of life; return what it printed.

    What to do about a failure may depend on what the tool printed.
    """
    with step(title):
        code, lines = watch([str(word) for word in argv], cwd=cwd, env=env)
    if code != 0:
        remedy = remedy if isinstance(remedy, str) else remedy("\n".join(lines))
        tail = "\n".join(f"  | {line[:SHOWN_WIDTH]}" for line in lines[-SHOWN_LINES:])
        raise BuildError(f"{tail}\n{title}: {argv[0]} ended with code {code}", remedy)
    return "\n".join(lines)


def watch(
    argv: list[str], *, cwd: Path, env: Mapping[str, str] | None, echo: bool = False
) -> tuple[int, list[str]]:
    """Run a tool and collect its lines; every few seconds say that it still runs."""
    process = subprocess.Popen(
        argv, cwd=cwd, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL, errors="replace",
    )  # fmt: skip
    lines: list[str] = []
    finished = threading.Event()
    beat = threading.Thread(target=heartbeat, args=(finished, lines, echo), daemon=True)
    beat.start()
    try:
        assert process.stdout is not None
        if echo:
            lines = show_as_it_comes(process.stdout.fileno())
        else:
            lines.extend(line.rstrip() for line in process.stdout)
        return process.wait(), lines
    finally:
        finished.set()
        if process.poll() is None:
            process.terminate()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def show_as_it_comes(descriptor: int) -> list[str]:
    """Copy a tool's output to ours, unfinished lines too; return its lines."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    parts: list[str] = []
    while chunk := os.read(descriptor, CHUNK_BYTES):
        parts.append(decoder.decode(chunk))
        sys.stdout.write(parts[-1])
        sys.stdout.flush()
    return "".join(parts).splitlines()


def heartbeat(finished: threading.Event, lines: list[str], echo: bool) -> None:
    """Print the elapsed time and the latest line until finished."""
    elapsed = 0
    while not finished.wait(HEARTBEAT_SECONDS):
        elapsed += HEARTBEAT_SECONDS
        if not echo:
            latest = lines[-1][:90] if lines else ""
            say(f"  … {elapsed} s  {latest}")
