"""The frozen bundle: the part of the standard library in use and the core, compiled, in one file.

Stored in the zip and gzipped around it: Python's importer then inflates nothing, and the bundle is
small on the wire also where a host compresses no .zip.
"""

import gzip
import io
import json
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from console import run
from formula_texts import formula_texts_module
from places import BUILD, CACHE, ROOT
from pyodide_runtime import pyodide
from scenarios import frozen_requests
from toolbox import digest_of, is_fresh, node

EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Bundle:
    """The bundle as shipped, and what it is made of."""

    data: bytes
    modules: tuple[str, ...]


def own_sources() -> dict[str, str]:
    """Every file of the core that the bundle holds, by its path in it."""
    found = sorted(path for path in ROOT.glob("pycore/**/*") if path.suffix in {".py", ".jsonl"})
    sources = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in found}
    return sources | {"pycore/formula_texts.py": formula_texts_module()}


def freeze() -> Bundle:
    """Compile under Pyodide, unless nothing changed since the last time."""
    sources = own_sources()
    requests = frozen_requests()
    work = CACHE / "freeze"
    job = CACHE / "freeze.json"
    job.write_text(
        json.dumps(
            {"pyodide": str(pyodide()), "sources": sources, "requests": requests, "out": str(work)}
        )
    )
    stamp = CACHE / "freeze.stamp"
    wanted = digest_of(job, BUILD / "freeze.mjs", BUILD / "freezer.py")
    if not is_fresh(stamp, wanted):
        compile_modules(job, work)
        stamp.write_text(wanted)
    return pack(work, sources)


def compile_modules(job: Path, work: Path) -> None:
    """Run the core in Pyodide under Node; leave one .pyc for each module that took part."""
    shutil.rmtree(work, ignore_errors=True)
    run(
        [node(), BUILD / "freeze.mjs", job],
        title="running the core in Pyodide under Node, compiling what it uses",
        remedy="the error above is the core's own, or Pyodide's; `python3 build.py test` tells more",
    )


def pack(work: Path, sources: dict[str, str]) -> Bundle:
    """Put compiled modules and data into one zip, the same bytes every time."""
    members = {path.relative_to(work).as_posix(): path.read_bytes() for path in work.rglob("*.pyc")}
    members |= {path: text.encode() for path, text in sources.items() if path.endswith(".jsonl")}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), members[name])
    data = gzip.compress(buffer.getvalue(), compresslevel=9, mtime=0)
    return Bundle(data, tuple(sorted(members)))
