"""How the modules of the core may import each other: one way, and the standard library alone."""

import ast
import graphlib
import sys
from pathlib import Path

import pycore

ROOT = Path(pycore.__file__).parent

# From what everything may use to what nothing may use.
ROOMS = (
    "units", "dtypes", "errors", "data", "scenario", "model", "hardware", "engine", "sizing", "decide",
    "request", "evidence", "ask", "bridge", "__init__", "__main__",
)  # fmt: skip

# Two questions load their part of the core when they are first asked; the ledger finds the texts
# of formulas that only a frozen build has.
LATE = {"bridge": 2, "sizing.ledger": 1}


def name_of(path: Path) -> str:
    """A module's name below the core: ``model.layers``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


TREES = {name_of(path): ast.parse(path.read_text("utf-8")) for path in ROOT.rglob("*.py")}


def imported(tree: ast.AST) -> set[str]:
    """Every module that a tree imports, with its whole name."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(
                full if (full := f"{node.module}.{alias.name}").removeprefix("pycore.") in TREES
                else node.module
                for alias in node.names
            )  # fmt: skip
    return found


def own(tree: ast.AST) -> set[str]:
    """The core's own modules among them."""
    names = {name.removeprefix("pycore.") for name in imported(tree) if name.startswith("pycore.")}
    return names & TREES.keys()


def room(module: str) -> str:
    """The room that a module is in."""
    return module.split(".", maxsplit=1)[0]


def test_rooms_import_one_way() -> None:
    """A room uses itself and those before it."""
    wrong = [
        f"{module} imports {other}"
        for module, tree in TREES.items()
        for other in own(tree)
        if ROOMS.index(room(other)) > ROOMS.index(room(module))
    ]
    assert wrong == []


def test_no_modules_import_each_other() -> None:
    """Every module can be read after those that it uses."""
    order = graphlib.TopologicalSorter({module: own(tree) for module, tree in TREES.items()})
    order.prepare()


def test_the_core_needs_the_standard_library_alone() -> None:
    """Nothing to install, so that the page can carry all of it."""
    roots = {name.split(".")[0] for tree in TREES.values() for name in imported(tree)}
    assert roots - set(sys.stdlib_module_names) <= {"pycore"}


def test_modules_say_what_they_use_at_the_top() -> None:
    """An import inside a function hides a circle, unless it is there to load later."""
    late = {
        module: count
        for module, tree in TREES.items()
        if (count := sum(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree))
            - sum(isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body))
    }  # fmt: skip
    assert late == LATE
