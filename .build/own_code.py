"""The page's own JavaScript and CSS: what we wrote and visitors load, not minified."""

import re
from pathlib import Path

LARGEST_BYTES = 90_000
STYLE = re.compile(r"<style\b[^>]*>(.*?)</style>", re.DOTALL)


def own_code_bytes(site: Path) -> int:
    """Return the size of it in a built site, where the styles stand in the page."""
    scripts = [*site.glob("static/**/*.js"), site / "sw.js"]
    styles = STYLE.findall((site / "index.html").read_text("utf-8"))
    return sum(path.stat().st_size for path in scripts) + sum(len(text.encode()) for text in styles)
