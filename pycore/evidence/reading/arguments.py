"""The settings that an engine prints of itself, and those of the command that started it.

vLLM prints its arguments three ways: ``non-default args: {…}``, ``args: Namespace(…)``, and the
engine's whole config as ``key=value`` pairs. Values may hold brackets and quotes of their own,
and the line may be cut anywhere, so it is read token by token and the last pair counts only when
something follows it.
Source: vLLM 0.33.0, entrypoints/common/startup.py and config/vllm.py (__str__); public logs of
0.6 to 0.31 for the older forms.
"""

import re
from collections.abc import Iterator
from typing import Final

from pycore.evidence.reading.readings import Findings, Setting
from pycore.evidence.reading.segments import Segment

TOKEN: Final = re.compile(
    r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[\[({]|[\])}]|[,:=]|[^\[\](){},:='\"\s]+"
)
LONGEST: Final = 30_000
# Where the same setting stands twice, the engine's own line beats what it was asked for.
ASKED: Final = 1
COMMAND: Final = 0
RESOLVED: Final = 2
ALIASES: Final = {
    "model_tag": "model",
    "model_path": "model",
    "max_seq_len": "max_model_len",
    "tp_size": "tensor_parallel_size",
    "pp_size": "pipeline_parallel_size",
    "dp_size": "data_parallel_size",
    "context_length": "max_model_len",
    "kv_cache_memory": "kv_cache_memory_bytes",
    "max_running_requests": "max_num_seqs",
    "cache_dtype": "kv_cache_dtype",
    "tensor_parallel": "tensor_parallel_size",
    "pipeline_parallel": "pipeline_parallel_size",
    "tp": "tensor_parallel_size",
    "pp": "pipeline_parallel_size",
    "dp": "data_parallel_size",
    "dcp": "decode_context_parallel_size",
    "q": "quantization",
}
# The config says how the checkpoint is quantised, not only what was asked for.
STATED: Final = {"quantization": "stated_quantization", "served_model_name": "served_model_name"}
OPENINGS: Final = (
    (re.compile(r"non-default args: \{"), ASKED, "vllm"),
    (re.compile(r"\bargs: Namespace\("), ASKED, "vllm"),
    (re.compile(r"server_args=ServerArgs\("), ASKED, "sglang"),
    (re.compile(r"LLM engine \(v([\w.+-]{1,60})\) with config: "), RESOLVED, "vllm"),
)
SERVE: Final = re.compile(r"(?:vllm serve|api_server|sglang\.launch_server)( [^\n]{1,8000})")
# A pod's or a compose file's arguments: one to a line, or a list of them.
ITEM: Final = re.compile(r"^\s{0,80}- ['\"]?(--[A-Za-z][\w-]{1,60}=[^\s'\"]{1,300})['\"]?\s{0,80}$")
LISTED: Final = re.compile(r"^\s{0,80}(?:args: \[(.{1,8000})\]|command: (--.{1,8000}))\s{0,80}$")
QUOTES: Final = re.compile(r"['\",]{1,4}")
FLAG: Final = re.compile(r"--?([A-Za-z][\w.-]{0,60})(?:[= ]+(?!-)('[^']*'|\"[^\"]*\"|[^\s'\"]+))?")
NO: Final = "no_"


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """The outermost ``key: value`` or ``key=value`` pairs of a printed dictionary or call."""
    depth, key, value, after = 0, "", "", False
    for match in TOKEN.finditer(text[:LONGEST]):
        word = match[0]
        if word in "[({" and len(word) == 1:
            depth += 1
            value += word if after else ""
        elif word in "])}" and len(word) == 1:
            depth -= 1
            if depth < 0:
                break
            value += word if after else ""
        elif word == "," and depth == 0:
            if after:
                yield key.strip("'\""), value
            key, value, after = "", "", False
        elif word in {":", "="} and depth == 0 and not after:
            after = True
        elif after:
            value += word
        else:
            key = word
    else:
        # The text ended before the dictionary did: what stood last may be cut.
        return
    if after:
        yield key.strip("'\""), value


def plain_value(text: str) -> object:
    """A printed value: None, true or false, a number, or a string without its quotes."""
    named: dict[str, object] = {"None": None, "True": True, "False": False}
    if text in named:
        return named[text]
    if re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    if re.fullmatch(r"-?\d{1,18}\.\d{1,18}(?:e-?\d{1,3})?", text):
        return float(text)
    return text.strip("'\"").removeprefix("torch.")


def read_arguments(segment: Segment, findings: Findings) -> bool:
    """Take the settings of a line that prints them; whether there were any."""
    for opening, rank, engine in OPENINGS:
        match = opening.search(segment.text)
        if not match:
            continue
        findings.engine = findings.engine or engine
        findings.kinds["settings"] += 1
        if rank == RESOLVED:
            put(findings, segment, "engine_version", match[1], RESOLVED)
        for key, text in pairs(segment.text[match.end() :]):
            name = ALIASES.get(key, key)
            if rank == RESOLVED:
                name = STATED.get(name, name)
            put(findings, segment, name, plain_value(text), rank)
        return True
    return False


def put(findings: Findings, segment: Segment, name: str, value: object, rank: int) -> None:
    """Keep a setting unless a more trusted line said it."""
    if value is None or value in ("", "auto", "<path>"):
        return
    settings = findings.start(segment.source).settings
    before = settings.get(name)
    if before is None or before.rank <= rank:
        settings[name] = Setting(value, segment.number, rank)


def read_command(segment: Segment, findings: Findings) -> bool:
    """Take the flags of a ``vllm serve`` line; whether there was one."""
    match = SERVE.search(segment.text)
    if not match or "--" not in match[1]:
        return False
    findings.engine = findings.engine or ("sglang" if "sglang" in match[0][:6] else "vllm")
    findings.kinds["command"] += 1
    first = match[1].split(maxsplit=1)[0]
    if "vllm serve" in match[0] and not first.startswith("-"):
        put(findings, segment, "model", first.strip("'\""), COMMAND)
    put_flags(findings, segment, match[1])
    return True


def read_manifest(segment: Segment, findings: Findings) -> bool:
    """Take the flags that a manifest gives the engine; whether there were any."""
    item = ITEM.match(segment.text)
    listed = LISTED.match(segment.text)
    if item:
        put_flags(findings, segment, item[1])
    elif listed:
        put_flags(findings, segment, QUOTES.sub(" ", listed[1] or listed[2]))
    else:
        return False
    findings.kinds["command"] += 1
    return True


def put_flags(findings: Findings, segment: Segment, text: str) -> None:
    """Keep the settings that flags name."""
    for flag in FLAG.finditer(text):
        name = flag[1].replace("-", "_")
        value: object = True if flag[2] is None else plain_value(flag[2])
        if name.startswith(NO):
            name, value = name.removeprefix(NO), False
        put(findings, segment, ALIASES.get(name, name), value, COMMAND)
