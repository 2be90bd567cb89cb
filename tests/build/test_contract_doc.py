"""docs/contract.md says what the code does now."""

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args

import pytest
from contract_doc import TARGET, contract_doc
from contract_types import field_docs
from contract_words import ERRORS, REASONS, REFUSALS, RUN_NOTES, SIZE_NOTES

from pycore import ask
from pycore.decide import frontier, knobs
from pycore.engine.refusals import refusal
from pycore.errors import Reason
from pycore.evidence import check_run, compare
from pycore.evidence.errors import explanations
from pycore.evidence.reading.readings import OtherErrorKind
from pycore.evidence.rules import rule
from pycore.evidence.watching import rules_text, watch
from pycore.sizing import contrast, ledger, note, result

OWNERS = (
    result.SizeResult,
    result.StageBar,
    refusal.Refusal,
    refusal.Remedy,
    note.Note,
    contrast.PlainFormula,
    ledger.Figure,
    knobs.Knobs,
    knobs.KnobRow,
    frontier.Frontier,
    frontier.Point,
    ask.ModelRead,
    ask.Catalogue,
    ask.ModelEntry,
    ask.AcceleratorEntry,
    check_run.CheckRun,
    check_run.RecognisedText,
    check_run.RecognisedFigure,
    compare.CheckRow,
    rule.Contradiction,
    explanations.Explanation,
    watch.Watch,
    watch.Series,
    rules_text.Alert,
)


def test_the_contract_for_people_is_the_contract_of_the_code() -> None:
    """The file is what the dataclasses say today; `python3 .build/contract_doc.py` writes it."""
    assert contract_doc() == TARGET.read_text("utf-8")


@pytest.mark.parametrize(
    ("kinds", "meanings"),
    [
        (refusal.RefusalKind, REFUSALS),
        (note.SizeNoteKind, SIZE_NOTES),
        (note.RunNoteKind, RUN_NOTES),
        (OtherErrorKind, ERRORS),
        (Reason, REASONS),
    ],
    ids=("refusals", "notes", "notes of a run", "errors", "reasons"),
)
def test_every_word_has_a_meaning(kinds: Any, meanings: Mapping[str, str]) -> None:
    """A kind that the core may say is one that people can look up, and the other way round."""
    assert set(get_args(kinds)) == set(meanings)


@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: str(owner.__name__))
def test_every_field_of_a_result_is_explained(owner: Any) -> None:
    """Field by field, in the code and so in the file."""
    assert {field.name for field in dataclasses.fields(owner)} == set(field_docs(owner))
    text = TARGET.read_text("utf-8")
    for field in dataclasses.fields(owner):
        assert f"| `{field.name}` |" in text
