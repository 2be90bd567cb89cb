"""Prints which figures of each run come back when its log is made, pasted and recognised.

``python3 -m tests.evidence.score_runs [PATH]``: PATH is a file of run records (the project's own by
default). The exit status says whether all of them did.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pycore.bridge import answer
from tests.evidence.made_logs import messages, run_of
from tests.evidence.rendered import PREFIXES, Look, rendered
from tests.runs.records import RUNS, RunRecord, bytes_name, records

GIB = 1 << 30
RECOGNISED_SETTINGS = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "gpu_memory_utilization",
    "max_num_seqs",
    "max_num_batched_tokens",
)


def looks() -> Iterator[Look]:
    """The ways in which every log is tried."""
    yield Look()
    for seed, prefix in enumerate(PREFIXES):
        yield Look(colour=True, prefix=prefix, seed=seed, join=seed % 2 == 1)


def recognised(text: str) -> dict[str, Any]:
    """The answer to ``check_run`` for a text alone."""
    found: dict[str, Any] = json.loads(answer(json.dumps({"ask": "check_run", "text": text})))
    return found["result"] if found["ok"] else {"rows": [], "failure": found["failure"]}


def missing(record: RunRecord, look: Look) -> Iterator[str]:
    """Every figure of the record that does not come back as it was."""
    result = recognised(rendered(messages(run_of(record)), look))
    if "failure" in result:
        yield f"failure: {result['failure']}"
        return
    rows = {row["figure"]: row["measured"] for row in result["rows"]}
    rows["accelerator_free_bytes"] = result["request"].get("accelerator_free_bytes")
    for name, expected in record.measured.items():
        figure = bytes_name(name)
        if name == "kv_cache_max_concurrency_at_tokens":
            continue
        if not agrees(figure, rows.get(figure), expected):
            yield f"{figure}: {expected} came back as {rows.get(figure)}"
    settings = result["recognised"]["settings"]
    for name in RECOGNISED_SETTINGS:
        asked = record.request.get(name)
        if asked is not None and record.engine == "vllm" and settings.get(name) != asked:
            yield f"{name}: {asked} came back as {settings.get(name)}"


def agrees(figure: str, found: Any, expected: float) -> bool:
    """Whether a figure came back to the digits that its log prints."""
    if found is None:
        return figure == "accelerator_free_bytes"
    if figure.endswith(("_bytes", "_bytes_per_rank")):
        return bool(abs(found - expected * GIB) <= 0.0051 * GIB)
    return bool(abs(found - expected) <= 0.0051)


def main() -> int:
    """Score every record of the file in every look."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    failed = 0
    found = records(path)
    for record in found:
        lost = {line for look in looks() for line in missing(record, look)}
        failed += bool(lost)
        for line in sorted(lost):
            print(f"{record.id}: {line}")
    print(f"{len(found) - failed} of {len(found)} records come back whole")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
