"""The table of a quantisation that was resolved before, read back as a rule."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.module_names import Module, ModuleNames
from pycore.model.quantization.rule import Choose, Quantization, Rule
from pycore.model.quantization.weight_formats import WeightFormat

MODULES: Final = "napkin_modules"
"""The key of ``quantization_config`` that holds the table: of our own making."""
KEPT: Final = "kept"
"""The form of what stays in the model's dtype."""

Runs = tuple[tuple[int, str], ...]
"""From which layer on a module has which form."""


def ranges_text(layers: Iterable[int]) -> str:
    """Ascending layers as runs: 0-2,7."""
    runs: list[list[int]] = []
    for layer in layers:
        if runs and runs[-1][1] == layer - 1:
            runs[-1][1] = layer
        else:
            runs.append([layer, layer])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in runs)


def with_table(section: ConfigReader, quantization: Quantization) -> Quantization:
    """``quantization`` under the table of ``section``, where it has one."""
    table = section.section(MODULES)
    if table is None:
        return quantization
    runs = {name: read_runs(table, name, quantization) for name in table.fields}
    return replace(quantization, rule=table_rule(runs, quantization))


def read_runs(table: ConfigReader, name: str, quantization: Quantization) -> Runs:
    """The forms of one kind of matrix, by the layer that each run of them begins with."""
    forms = table.section(name)
    found: list[tuple[int, str]] = []
    for form, text in (forms.fields if forms else {}).items():
        if form != KEPT and form not in quantization.forms:
            raise table.invalid(name, form, f"one of {', '.join([KEPT, *quantization.forms])}")
        if not isinstance(text, str):
            raise table.invalid(name, text, "layers such as 0-2,7")
        for run in text.split(","):
            first = run.partition("-")[0]
            if first and not (first.isascii() and first.isdigit() and len(first) < 6):
                raise table.invalid(name, text, "layers such as 0-2,7")
            found.append((int(first or 0), form))
    return tuple(sorted(found))


def table_rule(runs: Mapping[str, Runs], quantization: Quantization) -> Rule:
    """The rule of a table: layers beyond it are kept as the last one is."""

    def rule(names: ModuleNames) -> Choose:
        def choose(module: Module) -> WeightFormat | None:
            own = f"{names.layers}.{module.layer}." if module.layer is not None else ""
            found = runs.get(module.name.removeprefix(own))
            if not found:
                return None
            place = bisect_right(found, (module.layer or 0, "\U0010ffff")) - 1
            form = quantization.forms.get(found[max(0, place)][1])
            return None if form is None else form[module.kind == "experts"]

        return choose

    return rule
