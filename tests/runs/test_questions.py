"""Questions that users asked in public, each with the scenario that it is and what Napkin says.

``questions.jsonl``: a question a line, with its source; ``request`` asks it, ``expects`` says what
the answer holds: a figure within a range, its ratio to or difference from that of ``than``, or
words. ``cannot`` says why Napkin does not answer one; what it can say all the same is still tested.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from pycore.bridge import answer

QUESTIONS = [
    json.loads(line)
    for line in (Path(__file__).parent / "questions.jsonl").read_text("utf-8").splitlines()
]
UNANSWERED = {"q23", "q25", "q29", "q30", "q34", "q40", "q50", "q63"}


def result(request: dict[str, Any]) -> dict[str, Any]:
    """The result of a request; rows of a check by their figure."""
    found = json.loads(answer(json.dumps(request)))
    assert found["ok"], found
    told: dict[str, Any] = found["result"]
    if "rows" in told:
        told["rows"] = {row["figure"]: row for row in told["rows"]}
    return told


def at(told: Any, path: str) -> Any:
    """The value at a dotted path."""
    for key in path.split("."):
        told = told[key]
    return told


def hold(told: dict[str, Any], other: dict[str, Any] | None, expected: dict[str, Any]) -> None:
    """Hold one expectation against an answer."""
    if "says" in expected:
        text = json.dumps(told[expected["in"]], ensure_ascii=False)
        for words in expected["says"]:
            assert words in text
        return
    if "equals" in expected:
        assert at(told, expected["figure"]) == expected["equals"]
        return
    if "figure" in expected:
        value = at(told, expected["figure"])
    else:
        assert other is not None
        path = expected.get("ratio") or expected["difference"]
        here, there = at(told, path), at(other, path)
        value = here / there if "ratio" in expected else here - there
    assert expected["low"] <= value <= expected["high"]


@pytest.mark.parametrize(
    "question",
    [question for question in QUESTIONS if question.get("expects")],
    ids=lambda question: question["id"],
)
def test_a_question_is_answered(question: dict[str, Any]) -> None:
    """Every figure and every word that its answer must hold."""
    told = result(question["request"])
    other = result(question["than"]) if "than" in question else None
    for expected in question["expects"]:
        hold(told, other, expected)


def test_every_question_is_answered_or_says_why_not() -> None:
    """All 33; those that Napkin cannot answer are named here."""
    assert len({question["id"] for question in QUESTIONS}) == 33
    assert {question["id"] for question in QUESTIONS if "cannot" in question} == UNANSWERED
    for question in QUESTIONS:
        assert question["source"].startswith("https://")
        assert question.get("expects") or question.get("cannot")
