"""`build.py`: put dist/ together."""

import hashlib
import json
import shutil
from pathlib import Path

from console import BuildError, run, say, step
from contract_types import check_contract_types
from first_answers import first_answers
from freeze import Bundle, freeze
from hashed_names import Renaming, hashed_name, reachable
from licences import licence_files
from micropip_check import check_with_micropip
from page_html import finish_page
from places import CACHE, DIST, ROOT, STATIC
from plain_script import without_types
from pyodide_runtime import SHIPPED, pyodide
from toolbox import digest_of, is_fresh, node, node_modules, only_one, virtual_environment

NOT_SHIPPED = {"prerender.js", "sw.js"}
ENTRY = "main.js"
VERSION_PLACE = 'const VERSION = "development";'
FILES_PLACE = "const FILES = [];"


def build_site() -> None:
    """Build dist/, unless it is already made from just what is here."""
    with only_one("build"):
        virtual_environment("build-requirements.txt")
        node_modules()
        stamp = CACHE / "site.stamp"
        wanted = digest_of(*site_sources())
        if DIST.is_dir() and is_fresh(stamp, wanted):
            say("· dist/ is up to date")
            return
        stamp.unlink(missing_ok=True)
        check_contract_types()
        check_with_micropip()
        files = site_files(freeze())
        replace_dist(files)
        stamp.write_text(wanted)
        say(f"· dist/ is ready: {len(files)} files, {sum(map(len, files.values())):,} bytes")


def site_sources() -> list[Path]:
    """Everything that dist/ is made from."""
    sources = [ROOT / "build.py", ROOT / "index.html", ROOT / "package-lock.json"]
    for folder in (ROOT / "pycore", STATIC, ROOT / ".build"):
        sources += (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in sources if path.suffix != ".pyc" and path.is_file())


def site_files(bundle: Bundle) -> dict[str, bytes]:
    """Return the whole site, by path."""
    renaming = rename_static()
    files = {
        f"static/{renaming.names[path]}": data
        for path, data in renaming.contents.items()
        if not is_style(path)
    }
    runtime = runtime_files()
    bundle_name = "static/" + hashed_name("bundle.bin", bundle.data)
    files |= runtime | {bundle_name: bundle.data}
    assets = {
        "worker": f"static/{renaming.names['core.worker.js']}",
        "runtime": next(iter(runtime)).rpartition("/")[0] + "/",
        "bundle": bundle_name,
        "total_bytes": len(runtime[runtime_path("pyodide.asm.wasm")]) + len(bundle.data),
        "lock": {"info": lock_info(), "packages": {}},
    }
    preload = [f"static/{renaming.names[path]}" for path in reachable(renaming, ENTRY)]
    page = finish_page(
        draw_page(),
        names=renaming.names,
        styles={path: data.decode() for path, data in renaming.contents.items() if is_style(path)},
        preload=preload,
        assets=assets,
    )
    version = version_of(files, page)
    page = page.replace("</head>", f'<meta name="napkin-build" content="{version}">\n</head>', 1)
    precached = sorted(files)
    files |= {"sw.js": service_worker(version, precached), "index.html": page.encode()}
    return files | licence_files()


def shipped(path: Path) -> bytes:
    """Return a file of static/ as visitors get it."""
    return (
        without_types(path.read_text("utf-8")).encode()
        if path.suffix == ".js"
        else path.read_bytes()
    )


def is_style(path: str) -> bool:
    """Whether a file goes into the page itself."""
    return path.endswith(".css")


def rename_static() -> Renaming:
    """Read static/ and give every shipped file its hashed name."""
    found = {
        path.relative_to(STATIC).as_posix(): shipped(path)
        for path in sorted(STATIC.rglob("*"))
        if path.is_file() and not path.name.endswith(".d.ts")
    }
    renaming = Renaming({path: data for path, data in found.items() if path not in NOT_SHIPPED})
    for path in renaming.sources:
        renaming.rename(path)
    return renaming


def runtime_path(name: str) -> str:
    """Name one of Pyodide's files: they know each other by name, so their folder has the hash."""
    digest = digest_of(*(pyodide() / shipped for shipped in SHIPPED))[:10]
    return f"runtime-{digest}/{name}"


def runtime_files() -> dict[str, bytes]:
    """Return the files of Pyodide that visitors load."""
    return {runtime_path(name): (pyodide() / name).read_bytes() for name in SHIPPED}


def lock_info() -> object:
    """Pyodide's own description of its build, which the loader compares with the runtime."""
    return json.loads((pyodide() / "pyodide-lock.json").read_text())["info"]


def draw_page() -> str:
    """Draw the first answers into index.html with the page's own widgets."""
    answers = CACHE / "first-answers.json"
    with step("answering the page's first scenario"):
        answers.write_text(json.dumps(first_answers(), ensure_ascii=False, separators=(",", ":")))
    drawn = CACHE / "index.html"
    run(
        [
            *(node(), STATIC / "prerender.js", "--index", ROOT / "index.html"),
            *("--answers", answers, "--out", drawn),
        ],
        title="drawing the first page",
        remedy="the widgets and index.html must agree; the error above says where",
    )
    return drawn.read_text("utf-8")


def version_of(files: dict[str, bytes], page: str) -> str:
    """Name this build: any change to any file makes another."""
    digest = hashlib.sha256(page.encode())
    for path in sorted(files):
        digest.update(path.encode())
    return digest.hexdigest()[:16]


def service_worker(version: str, files: list[str]) -> bytes:
    """Tell the service worker its version and what to keep."""
    text = shipped(STATIC / "sw.js").decode()
    for place, value in (
        (VERSION_PLACE, f"const VERSION = {json.dumps(version)};"),
        (FILES_PLACE, f"const FILES = {json.dumps(files)};"),
    ):
        if text.count(place) != 1:
            raise BuildError(f"static/sw.js must hold `{place}` once", "mend static/sw.js")
        text = text.replace(place, value)
    return text.encode()


def replace_dist(files: dict[str, bytes]) -> None:
    """Write the site beside the old one, then put it in its place."""
    fresh = CACHE / "dist.new"
    shutil.rmtree(fresh, ignore_errors=True)
    for path, data in files.items():
        target = fresh / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    old = CACHE / "dist.old"
    shutil.rmtree(old, ignore_errors=True)
    if DIST.exists():
        DIST.rename(old)
    fresh.rename(DIST)
    shutil.rmtree(old, ignore_errors=True)
