"""dist/index.html: drawn with the first answers, strict about what it loads, small to start."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import Any

from console import BuildError

STYLESHEET = re.compile(r'<link rel="stylesheet" href="static/([^"]+)"( media="[^"]+")?>')
ENTRY = re.compile(r'<script type="module" src="[^"]+"></script>')
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
    drawn: str,
    *,
    names: Mapping[str, str],
    styles: Mapping[str, str],
    preload: list[str],
    assets: dict[str, Any],
) -> str:
    """Turn the drawn page into the one that is shipped.

    Nothing stands between the page's own bytes and its first paint: the styles go into it, and the
    scripts are asked for when it has been read.
    """
    page, allowed = inline_styles(drawn, styles)
    page = REFERENCE.sub(lambda match: f'{match[1]}="{renamed(match[2], names)}"', page)
    policy = "; ".join(
        f"{name} {value}" for name, value in (POLICY | {"style-src": allowed}).items()
    )
    script = one_match(ENTRY, page)
    page = page.replace(script, "", 1)
    links = "".join(f'<link rel="modulepreload" href="{href}">\n' for href in preload)
    page = insert_after(
        page, CHARSET, f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    )
    return insert_before(page, "</body>", f"{data_block('assets', assets)}{links}{script}\n")


def inline_styles(page: str, styles: Mapping[str, str]) -> tuple[str, str]:
    """Put each stylesheet where its link is; return the page and the policy that allows just them."""
    sources = ["'self'"]

    def inline(match: re.Match[str]) -> str:
        name, media = match.groups()
        if name not in styles:
            raise BuildError(f"index.html refers to {name}, which is not there", "mend index.html")
        sources.append(style_hash(styles[name]))
        return f"<style{media or ''}>{styles[name]}</style>"

    return STYLESHEET.sub(inline, page), " ".join(sources)


def one_match(pattern: re.Pattern[str], page: str) -> str:
    """Return the one place where a pattern matches."""
    found = pattern.findall(page)
    if len(found) != 1:
        raise BuildError(f"index.html must match {pattern.pattern} once", "mend index.html")
    return str(found[0])


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
