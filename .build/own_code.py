"""The page's own JavaScript and CSS: what we wrote and visitors load, not minified."""

import re
from pathlib import Path

LARGEST_BYTES = 90_000
STYLE = re.compile(r"<style\b[^>]*>(.*?)</style>", re.DOTALL)
# The list of the site's files, which the build writes into the service worker, is no code.
FILE_LIST = re.compile(r"const FILES = \[.*?\];", re.DOTALL)


def own_code_bytes(site: Path) -> int:
    """Return the size of it in a built site, where the styles stand in the page."""
    scripts = [path.read_text("utf-8") for path in site.glob("static/**/*.js")]
    worker = FILE_LIST.sub("const FILES = [];", (site / "sw.js").read_text("utf-8"))
    styles = STYLE.findall((site / "index.html").read_text("utf-8"))
    return sum(len(text.encode()) for text in [*scripts, worker, *styles])
