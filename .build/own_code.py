"""The page's own JavaScript and CSS: what we wrote and visitors load, as it stands."""

from pathlib import Path

from places import STATIC

NOT_SHIPPED = {"prerender.js"}
LARGEST_BYTES = 90_000


def own_code() -> list[Path]:
    """Return the files."""
    found = [*STATIC.rglob("*.js"), *STATIC.rglob("*.css")]
    return [path for path in found if path.name not in NOT_SHIPPED]


def own_code_bytes() -> int:
    """Return their size."""
    return sum(path.stat().st_size for path in own_code())
