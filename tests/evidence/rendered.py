"""Messages as they reach a clipboard: coloured, stamped, prefixed, quoted, interleaved, cut."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.evidence.made_logs import Message

COLOURS = {"INFO": "\033[32m", "DEBUG": "\033[37m", "WARNING": "\033[33m", "ERROR": "\033[31m"}
PREFIXES = ("", "kubectl", "compose", "containerd", "journald", "docker_json", "loki")


@dataclass(frozen=True, slots=True)
class Look:
    """How a log looks."""

    colour: bool = False
    prefix: str = ""
    seed: int | None = None
    """Interleaves processes and unrelated lines where it is given."""
    join: bool = False
    """Runs two processes' messages together on one line now and then."""
    carriage_returns: bool = False


def rendered(messages: Sequence[Message], look: Look) -> str:
    """The log as text."""
    ordered = list(messages)
    chance = random.Random(look.seed)
    if look.seed is not None:
        ordered = interleaved(ordered, chance)
    lines = [line_of(message, look) for message in ordered]
    if look.seed is not None:
        lines = with_noise(lines, chance)
    if look.join and look.seed is not None:
        lines = joined(lines, chance)
    lines = [prefixed(line, look.prefix, number) for number, line in enumerate(lines)]
    return ("\r\n" if look.carriage_returns else "\n").join(lines) + "\n"


def interleaved(messages: list[Message], chance: random.Random) -> list[Message]:
    """Messages of different processes in any order that keeps each process's own.

    A start's first lines stay first: nothing else runs before them.
    """
    fixed = [message for message in messages if message.process in {"APIServer", ""}]
    queues: dict[str, list[Message]] = {}
    for message in messages:
        if message not in fixed:
            queues.setdefault(message.process, []).append(message)
    mixed = []
    while queues:
        process = chance.choice(sorted(queues))
        mixed.append(queues[process].pop(0))
        if not queues[process]:
            del queues[process]
    return fixed + mixed


def line_of(message: Message, look: Look) -> str:
    """A message with its logger's header."""
    if not message.file:
        return message.text
    name, _, ranks = message.process.partition(" ")
    process = f"({name}{' ' + ranks if ranks else ''} pid={pid_of(message.process)})"
    if message.process.startswith("VllmWorkerProcess"):
        process = f"(VllmWorkerProcess pid={pid_of(message.process)})"
    stamp, file, level = "07-01 12:00:00", f"[{message.file}]", message.level
    if look.colour:
        process = f"\033[0;36m{process}\033[0;0m"
        stamp, file = f"\033[90m{stamp}\033[0m", f"\033[90m{file}\033[0m"
        level = f"{COLOURS[level]}{level}\033[0m"
    head = f"{process} " if message.process else ""
    return f"{head}{level} {stamp} {file} {message.text}"


def pid_of(process: str) -> int:
    """A pid for each process name."""
    return 100 + sum(process.encode())


def with_noise(lines: list[str], chance: random.Random) -> list[str]:
    """Lines that say nothing, between those that do."""
    noise = (
        "Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:03<00:03,  1.6s/it]",
        'INFO:     10.0.0.7:51234 - "GET /health HTTP/1.1" 200 OK',
        "(APIServer pid=1) INFO 07-01 12:00:00 [launcher.py:44] Route: /tokenize, Methods: POST",
        "",
        "  warnings.warn(",
    )
    mixed = []
    for line in lines:
        mixed += chance.choices(noise, k=chance.randrange(3))
        mixed.append(line)
    return mixed


def joined(lines: list[str], chance: random.Random) -> list[str]:
    """Two lines on one now and then, as processes that share a pipe write them."""
    mixed: list[str] = []
    for line in lines:
        if mixed and line.startswith("(") and mixed[-1].startswith("(") and chance.random() < 0.3:
            mixed[-1] += line
        else:
            mixed.append(line)
    return mixed


def prefixed(line: str, prefix: str, number: int) -> str:
    """A line as a tool hands it on."""
    stamp = f"2026-07-01T12:00:{number % 60:02d}.123456789Z"
    match prefix:
        case "kubectl":
            return f"[pod/vllm-7d9f-abcde/vllm] {stamp} {line}"
        case "compose":
            return f"vllm-1  | {line}"
        case "containerd":
            return f"{stamp} stderr F {line}"
        case "journald":
            return f"Jul 01 12:00:00 gpu-node-1 docker[4242]: {line}"
        case "docker_json":
            return json.dumps({"log": line + "\n", "stream": "stderr", "time": stamp})
        case "loki":
            return json.dumps({"stream": {"pod": "vllm-0"}, "values": [[str(number), line]]})
        case _:
            return line
