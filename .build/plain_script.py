"""JavaScript as it is shipped: the types, which only the checker reads, stay behind.

Everything else is left as it was written, comments that explain included.
"""

import re

DOC_COMMENT = re.compile(r"[ \t]*/\*\*.*?\*/[ \t]*\n?", re.DOTALL)
TAG = re.compile(
    r"(?:^|\s)[\s*]*@(?:import|param|property|returns|template|type|typedef)\b.*", re.DOTALL
)
CHECKED = "// @ts-check\n"


def without_types(text: str) -> str:
    """Return a module without its type annotations."""
    return DOC_COMMENT.sub(shortened, text.removeprefix(CHECKED))


def shortened(match: re.Match[str]) -> str:
    """Return a comment up to its first type, or nothing where it held nothing else."""
    whole = match[0]
    body = whole.strip()[len("/**") : -len("*/")]
    prose = TAG.sub("", body).rstrip()
    if prose == body.rstrip():
        return whole
    indent = whole[: len(whole) - len(whole.lstrip(" \t"))]
    ending = "\n" if whole.endswith("\n") else ""
    if prose.strip(" *\n\t"):
        closing = f"\n{indent} */" if "\n" in prose else " */"
        return f"{indent}/**{prose}{closing}{ending}"
    before = match.string[: match.start()]
    has_line_of_its_own = ending and (not before or before.endswith("\n"))
    return "" if has_line_of_its_own else ending or indent
