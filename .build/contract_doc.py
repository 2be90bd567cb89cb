"""docs/contract.md: the contract for people, written from the core's dataclasses."""

import dataclasses
import json
from pathlib import Path

from contract_types import field_docs

from pycore.engine.kv.dtypes import KV_CACHE_DTYPES
from pycore.engine.refusals.refusal import Refusal
from pycore.evidence.check_run import CheckRun, RecognisedText
from pycore.evidence.compare import CheckRow
from pycore.evidence.errors.explanations import Explanation
from pycore.evidence.rules.rule import Contradiction
from pycore.evidence.watching.rules_text import Alert
from pycore.evidence.watching.watch import Series, Watch
from pycore.request import ASKS, QUANTIZATIONS
from pycore.scenario import Measured, Scenario
from pycore.sizing.ledger import Figure
from pycore.sizing.result import SizeResult, StageBar

TARGET = Path(__file__).resolve().parent.parent / "docs" / "contract.md"
HEADER = """\
# The contract

Written by `python3 build.py` from the core's dataclasses. Change those, not this.

One JSON request gives one JSON answer: in the page's worker, in `python -m pycore` (a line each), and in Python (`pycore.bridge.answer`). Keys are flat and the same in Python, JSON, the form and the link. `null`, or a key left out, means "as the engine would choose"; the answer says what was chosen. Bytes are whole numbers; a GPU's figures are per GPU.

```
answer   {"ok": true, "schema": 1, "napkin_version": "…", "result": {…}}
     or  {"ok": false, "failure": {"field", "reason", "message", "choices"?}}
```

A failure is a request that cannot be read, and names the field. A deployment that would not start is a result: its verdict is `refused` or `does_not_fit`.
"""


def contract_doc() -> str:
    """Return the whole file."""
    return "\n".join(
        [
            HEADER,
            "## Request\n",
            (
                f"`ask` is one of {quoted(ASKS)}. `kv_cache_dtype` is one of {quoted(KV_CACHE_DTYPES)}; "
                f"`quantization`, where it is given, one of {quoted(QUANTIZATIONS)}. Any number of the "
                "config can be overridden by a key of its own name (`num_key_value_heads`, …).\n"
            ),
            table(Scenario, with_default=True),
            "### measured\n",
            table(Measured, with_default=False),
            "## Result of size\n",
            table(SizeResult, with_default=False),
            "### memory_by_stage\n",
            table(StageBar, with_default=False),
            "### refusals\n",
            table(Refusal, with_default=False),
            "### figures\n",
            table(Figure, with_default=False),
            "## Result of check_run\n",
            table(CheckRun, with_default=False),
            "### recognised\n",
            table(RecognisedText, with_default=False),
            "### rows\n",
            table(CheckRow, with_default=False),
            "### contradictions and findings\n",
            table(Contradiction, with_default=False),
            "### errors\n",
            table(Explanation, with_default=False),
            "## Result of watch\n",
            table(Watch, with_default=False),
            "### series\n",
            table(Series, with_default=False),
            "### alerts\n",
            table(Alert, with_default=False),
        ]
    )


def quoted(words: tuple[str, ...]) -> str:
    """Words as code, in a row."""
    return ", ".join(f"`{word}`" for word in words)


def table(owner: type, *, with_default: bool) -> str:
    """One row a field: its name, its default where a request may leave it out, what it is."""
    docs = field_docs(owner)
    head = "| field | default | |\n|---|---|---|" if with_default else "| field | |\n|---|---|"
    rows = [
        f"| `{field.name}` |{default_of(field) if with_default else ''} {docs.get(field.name, '')} |"
        for field in dataclasses.fields(owner)
        if field.name != "overrides"
    ]
    return "\n".join([head, *rows, ""])


def default_of(field: "dataclasses.Field[object]") -> str:
    """The default of a field as JSON has it, in a cell of its own."""
    value = field.default
    if value is dataclasses.MISSING or dataclasses.is_dataclass(value):
        return " `{}` |"
    return f" `{json.dumps(value)}` |"


def write() -> None:
    """Write the file where it stands."""
    TARGET.write_text(contract_doc())
