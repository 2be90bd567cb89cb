"""Facts, no logic: one JSON Lines file per kind of fact, every row with its source."""

import json
from functools import cache
from typing import Protocol, cast


class _DataLoader(Protocol):
    """What both the file system's loader and zipimport's can do."""

    def get_data(self, path: str, /) -> bytes: ...


@cache
def rows(name: str) -> tuple[dict[str, object], ...]:
    """Every row of ``<name>.jsonl``, in the file's order.

    The bytes come from the loader that imported this package, so the same line works from a
    source tree, an installed wheel and a zip; importlib.resources would too, but costs the
    browser tens of milliseconds and a larger bundle.
    """
    loader = cast("_DataLoader", __spec__.loader)
    text = loader.get_data(f"{__path__[0]}/{name}.jsonl").decode()
    return tuple(json.loads(line) for line in text.splitlines())
