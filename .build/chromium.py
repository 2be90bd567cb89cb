"""A Chromium for the tests: the one named, the one there, Playwright's own, or the system's."""

import os
import shutil
import subprocess
from pathlib import Path

from console import BuildError, run, say

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REMEDY = (
    "install Chromium or Google Chrome, or set CHROMIUM to the path of one "
    "(on Debian and Ubuntu: apt install chromium)"
)
FIND_OWN = (
    "from playwright.sync_api import sync_playwright\n"
    "with sync_playwright() as p: print(p.chromium.executable_path)"
)


def find_chromium(python: Path) -> Path:
    """Find or install a Chromium: $CHROMIUM, the PATH, Playwright's own, Debian's package."""
    named = os.environ.get("CHROMIUM")
    if named:
        if not Path(named).is_file():
            raise BuildError(f"CHROMIUM is set to {named}, which is not there", REMEDY)
        return Path(named)
    return (
        on_the_path()
        or playwrights_own(python)
        or download_playwrights_own(python)
        or install_debian_package()
        or give_up()
    )


def on_the_path() -> Path | None:
    """Look where programs are."""
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return Path(found)
    return None


def playwrights_own(python: Path) -> Path | None:
    """Ask Playwright where its browser would be."""
    answer = subprocess.run(
        [python, "-c", FIND_OWN], capture_output=True, text=True, check=False
    ).stdout.strip()
    return Path(answer) if answer and Path(answer).is_file() else None


def download_playwrights_own(python: Path) -> Path | None:
    """Let Playwright download its browser, where its servers can be reached."""
    try:
        run(
            [python, "-m", "playwright", "install", "chromium"],
            title="no Chromium found: Playwright downloads its own",
            remedy=REMEDY,
        )
    except BuildError:
        say("  that did not work here")
        return None
    return playwrights_own(python)


def install_debian_package() -> Path | None:
    """Install the distribution's Chromium, as root on Debian and its like."""
    apt = shutil.which("apt-get")
    if apt is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        run([apt, "update", "-q"], title="apt-get update", remedy=REMEDY, env=quiet)
        run(
            [apt, "install", "-y", "-q", "--no-install-recommends", "chromium"],
            title="apt-get install chromium",
            remedy=REMEDY,
            env=quiet,
        )
    except BuildError:
        return None
    return on_the_path()


def give_up() -> Path:
    """Say what to install."""
    raise BuildError("no Chromium was found, and none could be installed", REMEDY)
