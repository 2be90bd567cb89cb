"""Runs inside Pyodide at build time: finds the modules in use and compiles them.

A visitor's browser then compiles no Python at all, which is most of what a plain start costs.
"""

import importlib
import importlib.util
import io
import json
import marshal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

OWN = "/napkin/"
PYC_HEADER = importlib.util.MAGIC_NUMBER + bytes(12)  # no flags, no time, no size: never stale


def run(requests_text: str) -> None:
    """Answer the requests, so that every module that this takes gets imported."""
    from pycore.bridge import answer

    for request in json.loads(requests_text):
        answer(request)
    import_the_rest()
    touch_what_errors_need()


def import_the_rest() -> None:
    """Import every module of the core, also one that no request happened to reach."""
    for path in sorted(Path(OWN).rglob("*.py")):
        name = ".".join(path.relative_to(OWN).with_suffix("").parts).removesuffix(".__init__")
        if not name.endswith("__main__"):
            importlib.import_module(name)


def touch_what_errors_need() -> None:
    """Format a traceback: a crash in the browser must still be able to say what happened."""
    try:
        json.loads("{")
    except ValueError:
        traceback.print_exc(file=io.StringIO())


def compile_all() -> dict[str, bytes]:
    """Compile every imported module that has a source: path in the bundle → .pyc."""
    return dict(compile_modules(list(sys.modules.values())))


def compile_modules(modules: list[ModuleType]) -> Iterator[tuple[str, bytes]]:
    """Compile the sources; ours keep docstrings and assertions, the library's lose them."""
    for module in modules:
        spec = getattr(module, "__spec__", None)
        loader = getattr(spec, "loader", None)
        if spec is None or spec.name in {"freezer", "__main__"}:
            continue
        if loader is None or not hasattr(loader, "get_source"):
            continue
        source = loader.get_source(spec.name)
        if source is None:
            continue
        path = spec.name.replace(".", "/") + ("/__init__" if hasattr(module, "__path__") else "")
        ours = str(spec.origin).startswith(OWN)
        code = compile(source, f"{path}.py", "exec", dont_inherit=True, optimize=0 if ours else 2)
        yield f"{path}.pyc", PYC_HEADER + marshal.dumps(code)
