"""The record of how each figure came about: formula, inputs, source, and how far to trust it.

A formula is a plain function of keyword arguments with one return expression. Its text on the
page is that expression, taken from the function itself, so the two cannot drift. Where the
package was frozen without its source, the texts were taken when it was built.
"""

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

Basis = Literal["exact", "fitted", "assumed"]
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of an answer, open to be checked by hand."""

    name: str
    """The formula's name; where the result has a field of that name, its value."""
    value: int | float
    """What the formula gives."""
    unit: str
    """bytes, tokens, blocks, requests or heads."""
    formula: str
    """The expression, in the names of its inputs."""
    inputs: dict[str, object]
    """The numbers that went in."""
    summary: str
    """What it is, and why where that surprises."""
    source: str
    """Where the rule comes from."""
    basis: Basis
    """exact (arithmetic on published facts), fitted (a constant of real runs) or assumed."""


class Ledger:
    """Calls formulas, and when it is open writes down each call."""

    def __init__(self, *, is_open: bool) -> None:
        self.is_open = is_open
        self.figures: list[Figure] = []

    def exact(self, formula: Callable[P, T], *args: P.args, **inputs: P.kwargs) -> T:
        """The value of a formula that is arithmetic on published facts."""
        return self._call("exact", formula, *args, **inputs)

    def fitted(self, formula: Callable[P, T], *args: P.args, **inputs: P.kwargs) -> T:
        """The value of a formula with a constant that real runs were measured for."""
        return self._call("fitted", formula, *args, **inputs)

    def noted(self, basis: Basis, formula: Callable[P, T], *args: P.args, **inputs: P.kwargs) -> T:
        """The value of a formula whose inputs decide how far to trust it."""
        return self._call(basis, formula, *args, **inputs)

    def _call(self, basis: Basis, formula: Callable[P, T], *args: P.args, **inputs: P.kwargs) -> T:
        value = formula(*args, **inputs)
        if self.is_open and isinstance(value, int | float):
            summary, source = explanation(formula)
            name = formula.__name__
            self.figures.append(
                Figure(
                    name,
                    value,
                    unit_of(name),
                    formula_text(formula),
                    inputs,
                    summary,
                    source,
                    basis,
                )
            )
        return value


def unit_of(name: str) -> str:
    """The unit that a figure's name ends in."""
    for ending, unit in (
        ("_bytes_per_token_per_rank", "bytes"),
        ("_bytes_per_block", "bytes"),
        ("_bytes_per_rank", "bytes"),
        ("_bytes", "bytes"),
        ("_tokens", "tokens"),
        ("_model_len", "tokens"),
        ("_blocks", "blocks"),
        ("blocks_per_request", "blocks"),
        ("_concurrency", "requests"),
        ("_for_workload", "requests"),
        ("_heads_per_rank", "heads"),
    ):
        if name.endswith(ending):
            return unit
    raise ValueError(f"the name {name} says no unit")


def explanation(formula: Callable[..., object]) -> tuple[str, str]:
    """The first paragraphs of a formula's docstring, and what it cites as its source."""
    text, _, source = (formula.__doc__ or "").partition("Source:")
    return " ".join(text.split()), " ".join(source.split())


def formulas_in(source: str) -> dict[str, str]:
    """The return expression of every formula in a module's source, by function name."""
    found = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef) or not node.args.kwonlyargs:
            continue
        last = node.body[-1]
        if isinstance(last, ast.Return) and last.value is not None:
            found[node.name] = ast.unparse(last.value)
    return found


@cache
def texts_of(module: str) -> dict[str, str]:
    """The formulas of one module: as they were built in, else from its source."""
    try:
        from pycore import formula_texts  # type: ignore[attr-defined]  # only in a frozen build
    except ImportError:
        loader = sys.modules[module].__loader__
        source = loader.get_source(module)  # type: ignore[union-attr]  # every file loader has it
        return formulas_in(source or "")
    built: dict[str, dict[str, str]] = formula_texts.TEXTS
    return built.get(module, {})


def formula_text(formula: Callable[..., object]) -> str:
    """The expression that a formula returns."""
    return texts_of(formula.__module__)[formula.__name__]


def all_texts(package: Path) -> dict[str, dict[str, str]]:
    """Every module's formulas, for a build that leaves the source out."""
    texts = {}
    for path in sorted(package.rglob("*.py")):
        found = formulas_in(path.read_text())
        if found:
            relative = path.relative_to(package.parent).with_suffix("")
            texts[".".join(relative.parts)] = found
    return texts
