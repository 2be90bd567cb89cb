"""docs/contract.md: the contract for people, written from the core's dataclasses.

``python3 .build/contract_doc.py`` writes it; a test fails while it is stale.
"""

import dataclasses
import json
import sys
from collections.abc import Mapping
from typing import Any

from places import ROOT

sys.path.insert(0, str(ROOT))

from contract_types import field_docs
from contract_words import ERRORS, REASONS, REFUSALS, RUN_NOTES, SIZE_NOTES, VERDICTS

from pycore.ask import AcceleratorEntry, Catalogue, ModelEntry, ModelRead
from pycore.decide.frontier import Frontier, Point
from pycore.decide.knobs import KnobRow, Knobs
from pycore.engine.kv.dtypes import KV_CACHE_DTYPES
from pycore.engine.refusals.refusal import Refusal, Remedy
from pycore.evidence.check_run import CheckRun, RecognisedFigure, RecognisedText
from pycore.evidence.compare import CheckRow
from pycore.evidence.errors.explanations import Explanation
from pycore.evidence.rules.rule import Contradiction
from pycore.evidence.watching.rules_text import Alert
from pycore.evidence.watching.watch import Series, Watch
from pycore.request import ASKS, QUANTIZATIONS
from pycore.scenario import Measured, Scenario
from pycore.sizing.contrast import PlainFormula
from pycore.sizing.ledger import Figure
from pycore.sizing.note import Note
from pycore.sizing.result import SizeResult, StageBar

TARGET = ROOT / "docs" / "contract.md"
HEADER = """\
# The contract

Written by `python3 .build/contract_doc.py` from the core's dataclasses; `python3 build.py test` fails while it is stale. Change those, not this.

One JSON request gives one JSON answer: in the page's worker, in `python -m pycore` (a line each, in UTF-8; blank lines are passed over), and in Python (`pycore.bridge.answer`). Keys are flat and the same in Python, JSON, the form and the link. `null`, or a key left out, means "as the engine would choose"; the answer says what was chosen. A GPU's figures are per GPU. Bytes are whole numbers, save `kv_cache_bytes_per_token_per_rank`: it is an average over a long request, and where blocks of several kinds do not divide evenly it has a fraction. `bounds` are of the same kind as their figures.

```
answer   {"ok": true, "schema": 1, "napkin_version": "…", "result": {…}}
     or  {"ok": false, "failure": {"field", "reason", "message", "choices"?}}
```

A failure is a request that cannot be read, and names the field: a key of the request, or a path that begins with one (`measured.total_bytes`, `config.hidden_size`, `rope_scaling.factor`); `request` where it is the whole. A deployment that would not start is a result: its verdict is `refused` or `does_not_fit`.
"""
OVERRIDES = """\
Any other key is a field of the model's config, changed: one that the config states (at its top, or in its part about text), or that Napkin looks for in it, such as one that transformers would complete. Numbers, flags, words, lists and objects are taken as the config would have them; an object is put in place of the whole one, and `null` is the config's own null. Where a config has another name for the same (`n_routed_experts` for `num_experts`), either is meant. A key of the tables above is always the request's own, also where a config has one of that name (`dtype`). A change on which no figure rests is noted (`overrides_without_effect`); a key that the model's config does not know is a failure (`unknown_field`). The numbers that any model may be asked to change are `architecture` in the result of size.
"""
NO_REMEDY = """\
Remedies are single changes, each tried: with it the engine starts, whatever else was refused. Every refusal gets the changes that its own rule suggests, the cheapest first, at most five, and no more once one of them takes more GPUs. An empty list means that none of those alone makes the engine start: two rules may need a change each, or the cure lies outside the request (another GPU, another version, another checkpoint).
"""


def contract_doc() -> str:
    """Return the whole file."""
    return "\n".join([HEADER, *request(), *failures(), *size(), *questions(), *evidence()])


def request() -> list[str]:
    """Write what may be asked."""
    return [
        "## Request\n",
        (
            f"`ask` is one of {quoted(ASKS)}. `kv_cache_dtype` is one of {quoted(KV_CACHE_DTYPES)}; "
            f"`quantization`, where it is given, one of {quoted(QUANTIZATIONS)}.\n"
        ),
        table(Scenario, with_default=True),
        "`schema` may be given too; it is 1.\n",
        "### measured\n",
        table(Measured),
        "### Fields of the config\n",
        OVERRIDES,
    ]


def failures() -> list[str]:
    """Write why a request is not read."""
    return ["## Reasons of a failure\n", words(REASONS)]


def size() -> list[str]:
    """Write the answer to ``size``."""
    return [
        "## Result of size\n",
        table(SizeResult),
        "### reason\n",
        "Its `kind`, and the numbers beside it:\n",
        words(VERDICTS),
        "### refusals\n",
        table(Refusal),
        "`kind` is one of:\n",
        words(REFUSALS),
        "### remedies\n",
        NO_REMEDY,
        table(Remedy),
        "### notes\n",
        table(Note),
        "`kind` is one of:\n",
        words(SIZE_NOTES),
        "### memory_by_stage\n",
        table(StageBar),
        "### plain_formula\n",
        table(PlainFormula),
        "### figures\n",
        table(Figure),
    ]


def questions() -> list[str]:
    """Write the answers to the questions beside it."""
    return [
        "## Result of knobs\n",
        table(Knobs),
        "### rows\n",
        table(KnobRow),
        "## Result of frontier\n",
        table(Frontier),
        "### points and here\n",
        table(Point),
        "## Result of model\n",
        table(ModelRead),
        "## Result of catalogue\n",
        table(Catalogue),
        "### models\n",
        table(ModelEntry),
        "### accelerators\n",
        table(AcceleratorEntry),
    ]


def evidence() -> list[str]:
    """Write the answers about a real run."""
    return [
        "## Result of check_run\n",
        "`text` must be given; an empty one is held against nothing, and still tells the anchors.\n",
        table(CheckRun),
        "### recognised\n",
        table(RecognisedText),
        "### figures of recognised\n",
        table(RecognisedFigure),
        "### rows of check_run\n",
        table(CheckRow),
        "### contradictions and findings\n",
        table(Contradiction),
        "### errors\n",
        table(Explanation),
        "`kind` is a refusal's, or one of:\n",
        words(ERRORS),
        "Remedies are those of a refusal; what is not in the request has no changes, and what could not be sized nulls.\n",
        "### notes of check_run\n",
        words(RUN_NOTES),
        "## Result of watch\n",
        table(Watch),
        "### series\n",
        table(Series),
        "### alerts\n",
        table(Alert),
    ]


def words(meanings: Mapping[Any, str]) -> str:
    """One row a word: what it means."""
    rows = [f"| `{word}` | {meaning} |" for word, meaning in meanings.items()]
    return "\n".join(["| | |\n|---|---|", *rows, ""])


def quoted(words: tuple[str, ...]) -> str:
    """Words as code, in a row."""
    return ", ".join(f"`{word}`" for word in words)


def table(owner: type, *, with_default: bool = False) -> str:
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
    TARGET.write_text(contract_doc(), "utf-8")


if __name__ == "__main__":
    write()
