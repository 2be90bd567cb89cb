"""What was reached when the baseline was last set: figures must not get worse beyond noise.

Only ``python3 build.py accuracy --baseline`` sets it: measuring alone never moves the bar.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.accuracy.score import FIGURES, Scored, errors, summary
from tests.accuracy.targets import inside, near

BASELINE: Final = Path(__file__).parent / "baseline.json"


def reached(all_scored: Sequence[Scored]) -> dict[str, float]:
    """The figures that are watched, all of them errors or shares that miss: less is better."""
    found = {}
    for figure in FIGURES:
        of_figure = summary(errors(all_scored, figure))
        if of_figure is not None:
            found[f"{figure}: median"] = of_figure.median
            found[f"{figure}: mean"] = of_figure.mean
    found["tokens: beyond 3 %"] = 1 - near(errors(all_scored, "tokens"))
    found["KV pool: outside its range"] = 1 - inside(all_scored)
    return {name: round(value, 5) for name, value in found.items()}


def write_baseline(all_scored: Sequence[Scored]) -> None:
    """Writes what was reached."""
    BASELINE.write_text(json.dumps(reached(all_scored), indent=1) + "\n", encoding="utf-8")


def baseline() -> dict[str, float]:
    """What was reached when it was last written."""
    found: dict[str, float] = json.loads(BASELINE.read_text(encoding="utf-8"))
    return found
