"""A plain Pyodide page: the runtime as published, micropip, and the wheel installed with it.

It is what the frozen bundle is measured against, and the proof that the wheel installs in a browser.
"""

import json
import shutil
from pathlib import Path

from micropip_check import wheels
from pyodide_runtime import pyodide

PUBLISHED = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide-lock.json",
    "python_stdlib.zip",
)
PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<link rel="icon" href="data:,">
<title>Plain Pyodide</title>
<p id="answer"></p>
<script type="module" src="main.js"></script>
</html>
"""
SCRIPT = """\
import { loadPyodide } from "./pyodide/pyodide.mjs";
const { micropip, wheel, request } = SETTINGS;
const python = await loadPyodide({ packageBaseUrl: new URL("pyodide/", document.baseURI).href });
await python.loadPackage(new URL(micropip, document.baseURI).href, { checkIntegrity: false });
const installer = python.pyimport("micropip");
await installer.install.callKwargs(new URL(wheel, document.baseURI).href, { deps: false });
const answer = python.pyimport("pycore.bridge").answer;
document.getElementById("answer").textContent = answer(request);
window.answeredAt = performance.now();
document.documentElement.dataset.core = "ready";
"""


def write_stock_page(folder: Path, request: str) -> None:
    """Write the page, the published runtime and both wheels into ``folder``."""
    runtime = folder / "pyodide"
    runtime.mkdir(parents=True)
    for name in PUBLISHED:
        shutil.copy(pyodide() / name, runtime / name)
    micropip, wheel = wheels()
    for path in (micropip, wheel):
        shutil.copy(path, folder / path.name)
    settings = {"micropip": micropip.name, "wheel": wheel.name, "request": request}
    (folder / "index.html").write_text(PAGE)
    (folder / "main.js").write_text(SCRIPT.replace("SETTINGS", json.dumps(settings)))
