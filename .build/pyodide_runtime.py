"""The pinned Pyodide: fetched by the npm client, checked against its hash, unpacked once."""

import base64
import hashlib
import tarfile
from pathlib import Path

from console import BuildError, run
from diagnosis import UNKNOWN, installers_remedy
from places import CACHE
from toolbox import npm

VERSION = "314.0.7"
SHA512 = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
SHIPPED = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm")


def pyodide() -> Path:
    """Return the folder of the unpacked runtime, fetching it if it is not there yet."""
    folder = CACHE / f"pyodide-{VERSION}"
    if folder.is_dir():
        return folder
    tarball = CACHE / f"pyodide-{VERSION}.tgz"
    if not tarball.is_file():
        fetch(tarball)
    check(tarball)
    half_done = folder.with_suffix(".unpacking")
    with tarfile.open(tarball) as archive:
        # Python's own guard, from 3.11.4 on; before it the pinned hash has to do.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(half_done)
    (half_done / "package").rename(folder)
    half_done.rmdir()
    return folder


def fetch(tarball: Path) -> None:
    """Let npm fetch the package (6.5 MB) from wherever it is configured to."""
    run(
        [npm(), "pack", f"pyodide@{VERSION}", "--pack-destination", str(CACHE), "--loglevel=error"],
        title=f"fetching Pyodide {VERSION} (6.5 MB)",
        remedy=installers_remedy,
    )
    if not tarball.is_file():
        raise BuildError(f"npm pack left no {tarball.name}", UNKNOWN)


def check(tarball: Path) -> None:
    """Refuse a package that is not the one pinned."""
    found = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    if found != SHA512:
        raise BuildError(
            f"{tarball.name} is not the pinned package: sha512 {found}",
            f"delete {tarball} and run this again; if it stays so, the package or the pin is wrong",
        )
