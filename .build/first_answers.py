"""What the page shows before Python has started: the default scenario, answered here and now."""

import json
from typing import Any

from console import BuildError


def first_answers() -> dict[str, Any]:
    """Answer the page's first scenario with the same core that visitors get."""
    catalogue = ask({"ask": "catalogue"})
    request = catalogue["result"]["defaults"]
    return {
        "request": request,
        "size": ask(request | {"figures": True}),
        "knobs": ask(request | {"ask": "knobs"}),
        "frontier": ask(request | {"ask": "frontier"}),
        "catalogue": catalogue,
    }


def ask(request: dict[str, Any]) -> dict[str, Any]:
    """Ask the core; the default scenario must be answerable."""
    from pycore.bridge import answer

    answered: dict[str, Any] = json.loads(answer(json.dumps(request)))
    if not answered["ok"]:
        raise BuildError(
            f"the core cannot answer the page's first scenario: {answered['failure']}",
            "run `python3 build.py test`; the first scenario is the catalogue's `defaults`",
        )
    return answered
