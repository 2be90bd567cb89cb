"""Alerts as a Prometheus rule file."""

import json
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert."""

    alert: str
    """Its name."""
    expr: str
    """The PromQL that fires it."""
    lasts: str
    """How long it must hold; Prometheus calls it ``for``."""
    severity: str
    """info, warning or critical."""
    summary: str
    """What is wrong, in a line."""
    description: str
    """Why that is wrong for this scenario."""


def rules_text(alerts: Sequence[Alert]) -> str:
    """The alerts as YAML; a JSON string is a YAML string, so quoting is JSON's."""
    lines = ["groups:", "  - name: napkin", "    rules:"]
    for alert in alerts:
        lines += [
            f"      - alert: {alert.alert}",
            f"        expr: {quoted(alert.expr)}",
            f"        for: {alert.lasts}",
            "        labels:",
            f"          severity: {alert.severity}",
            "        annotations:",
            f"          summary: {quoted(alert.summary)}",
            f"          description: {quoted(alert.description)}",
        ]
    return "\n".join([*lines, ""])


def quoted(text: str) -> str:
    """A string as YAML and JSON both have it."""
    return json.dumps(text, ensure_ascii=False)
