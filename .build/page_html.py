"""dist/index.html: drawn with the first answers, strict about what it loads, small to start."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import Any

from console import BuildError

REFERENCE = re.compile(r'\b(href|src)="(static/[^"#?]+)"')
CHARSET = '<meta charset="utf-8">'
POLICY = {
    "default-src": "'none'",
    "script-src": "'self' 'wasm-unsafe-eval'",
    "worker-src": "'self'",
    # The two hosts are for one button, which fetches a model's config.json on the user's press.
    "connect-src": "'self' https://huggingface.co https://*.hf.co",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "manifest-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
}


def finish_page(
    drawn: str, *, names: Mapping[str, str], preload: list[str], assets: dict[str, Any]
) -> str:
    """Turn the drawn page into the one that is shipped."""
    page = REFERENCE.sub(lambda match: f'{match[1]}="{renamed(match[2], names)}"', drawn)
    policy = "; ".join(f"{name} {value}" for name, value in POLICY.items())
    links = "".join(f'<link rel="modulepreload" href="{href}">' for href in preload)
    page = insert_after(
        page, CHARSET, f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    )
    page = insert_before(page, "</head>", links)
    return insert_before(page, "</body>", data_block("assets", assets))


def renamed(reference: str, names: Mapping[str, str]) -> str:
    """Return the hashed name of a file that the page refers to."""
    found = names.get(reference.removeprefix("static/"))
    if found is None:
        raise BuildError(f"index.html refers to {reference}, which is not there", "mend index.html")
    return f"static/{found}"


def data_block(name: str, value: object) -> str:
    """Write a JSON block that no markup inside its strings can end."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{html.escape(name)}">{text}</script>\n'


def insert_after(page: str, anchor: str, text: str) -> str:
    """Insert once, after ``anchor``."""
    return insert_before(page, anchor, "", after=text)


def insert_before(page: str, anchor: str, text: str, after: str = "") -> str:
    """Insert once, before (and after) ``anchor``."""
    if page.count(anchor) != 1:
        raise BuildError(f"index.html must hold {anchor} once", "mend index.html")
    return page.replace(anchor, f"{text}{anchor}{after}")


def style_hash(text: str) -> str:
    """Return the CSP source that allows this very style."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
