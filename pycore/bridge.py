"""JSON text in, JSON text out: the one seam to the page, and the same for the command line.

``answer`` never raises: what cannot be read becomes a failure that names the field.
"""

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

import pycore
from pycore.ask import catalogue, model
from pycore.decide import frontier, knobs, remedies
from pycore.errors import InvalidRequest
from pycore.request import parse, read_scenario, too_deep
from pycore.scenario import Scenario
from pycore.sizing.size import size


def check_run(scenario: Scenario) -> object:
    """The answer to ``check_run``; its patterns are compiled when first asked for."""
    from pycore.evidence.check_run import check_run as held_against

    return held_against(scenario)


def watch(scenario: Scenario) -> object:
    """The answer to ``watch``."""
    from pycore.evidence.watching.watch import watch as settled

    return settled(scenario)


ANSWERS: Final[dict[str, Callable[[Scenario], object]]] = {
    "size": lambda scenario: remedies.with_remedies(scenario, size(scenario)),
    "knobs": knobs.knobs,
    "frontier": frontier.frontier,
    "model": model,
    "catalogue": catalogue,
    "check_run": check_run,
    "watch": watch,
}


def answer(text: str) -> str:
    """The answer to one request, as JSON text on one line that any encoding can take.

    Half of a surrogate pair, which JSON may hold and UTF-8 may not, goes back out as it came in:
    as an escape.
    """
    told = json.dumps(
        answer_object(text), default=as_object, ensure_ascii=False, separators=(",", ":")
    )
    return told.encode("utf-8", "backslashreplace").decode("utf-8")


def answer_object(text: str) -> dict[str, object]:
    """The answer to one request: a result, or a failure."""
    try:
        scenario = read_scenario(parse(text))
        result = ANSWERS[scenario.ask](scenario)
    except InvalidRequest as error:
        return {"ok": False, "failure": failure(error)}
    except RecursionError:
        return {"ok": False, "failure": failure(too_deep())}
    return {
        "ok": True,
        "schema": 1,
        "napkin_version": pycore.__version__,
        "result": result,
    }


def failure(error: InvalidRequest) -> dict[str, object]:
    """A failure as the contract has it; without choices where there are none."""
    told: dict[str, object] = {
        "field": error.field,
        "reason": error.reason,
        "message": error.message,
    }
    if error.choices:
        told["choices"] = list(error.choices)
    return told


def as_object(value: Any) -> dict[str, object]:
    """A dataclass as a JSON object; figures that were not asked for are left out."""
    found = {item.name: getattr(value, item.name) for item in fields(value)}
    if found.get("figures", ()) is None:
        del found["figures"]
    return found
