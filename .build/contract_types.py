"""static/contract.d.ts: the contract's types for the page, written from the core's dataclasses."""

import ast
import dataclasses
import importlib
import inspect
import textwrap
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from console import say
from places import STATIC

TARGET = STATIC / "contract.d.ts"
ROOTS = (
    ("pycore.scenario", "Scenario"),
    ("pycore.sizing.size", "SizeResult"),
    ("pycore.decide.knobs", "Knobs"),
    ("pycore.decide.frontier", "Frontier"),
    ("pycore.ask", "ModelRead"),
    ("pycore.ask", "Catalogue"),
    ("pycore.evidence.check_run", "CheckRun"),
    ("pycore.evidence.watching.watch", "Watch"),
)
HEADER = """\
// Written by `python3 build.py` from the core's dataclasses. Change those, not this.

/** A request: the fields of a scenario that are not as the engine would choose. */
export type Request = Partial<Scenario>;

export interface Failure {
  field: string;
  reason: string;
  message: string;
  choices?: string[];
}

export type Answer<Result> =
  | { ok: true; schema: number; napkin_version: string; result: Result }
  | { ok: false; failure: Failure };
"""
PLAIN = {int: "number", float: "number", str: "string", bool: "boolean", type(None): "null"}


def contract_types() -> str:
    """Return the whole file."""
    queue = [getattr(importlib.import_module(module), name) for module, name in ROOTS]
    written: dict[type, str] = {}
    while queue:
        owner = queue.pop(0)
        if owner not in written:
            found: list[type] = []
            written[owner] = interface(owner, found)
            queue.extend(found)
    return "\n".join([HEADER, *written.values()])


def interface(owner: type, found: list[type]) -> str:
    """Write one dataclass as an interface; note the dataclasses it mentions."""
    hints = typing.get_type_hints(owner)
    docs = field_docs(owner)
    lines = [f"/** {first_line(owner)} */", f"export interface {owner.__name__} {{"]
    for field in dataclasses.fields(owner):
        if field.name in docs:
            lines.append(f"  /** {docs[field.name]} */")
        lines.append(f"  {field.name}: {type_text(hints[field.name], found)};")
    return "\n".join([*lines, "}", ""])


def first_line(owner: type) -> str:
    """Return the summary of a class."""
    return (inspect.getdoc(owner) or "").split("\n")[0]


def field_docs(owner: type) -> dict[str, str]:
    """Read the string under each field of a dataclass."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    assert isinstance(tree, ast.ClassDef)
    docs: dict[str, str] = {}
    for field, doc in zip(tree.body, tree.body[1:], strict=False):
        match field, doc:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docs[name] = " ".join(text.split())
    return docs


def type_text(hint: Any, found: list[type]) -> str:
    """Write a Python type as TypeScript has it once it has been through JSON."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        found.append(hint)
        return hint.__name__
    return PLAIN.get(hint) or composite_text(typing.get_origin(hint), typing.get_args(hint), found)


def composite_text(origin: Any, arguments: tuple[Any, ...], found: list[type]) -> str:
    """Write a union, a set of words, a mapping or a list."""
    if origin is Literal:
        return " | ".join(f'"{each}"' for each in arguments)
    if origin in {typing.Union, types.UnionType}:
        return " | ".join(type_text(each, found) for each in arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"Record<{', '.join(type_text(each, found) for each in arguments)}>"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return sequence_text(arguments, found)
    return "unknown"


def sequence_text(arguments: tuple[Any, ...], found: list[type]) -> str:
    """Write a list, or a tuple of fixed length."""
    each = [type_text(argument, found) for argument in arguments if argument is not Ellipsis]
    if len(each) > 1:
        return f"[{', '.join(each)}]"
    return f"{each[0]}[]" if " " not in each[0] else f"({each[0]})[]"


def check_contract_types(target: Path = TARGET) -> None:
    """Bring static/contract.d.ts up to date, and say so if it was not."""
    text = contract_types()
    if not target.is_file() or target.read_text("utf-8") != text:
        target.write_text(text, "utf-8")
        say("· static/contract.d.ts was out of date and is written anew: commit it")
