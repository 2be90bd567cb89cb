"""Content-hashed file names, with every reference between the files rewritten to match.

A module's name covers its own text after its imports were renamed, so a change anywhere below a
module renames the module too, and a cached file can never meet one from another build.
"""

import hashlib
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from console import BuildError

BLOCK_COMMENT = re.compile(r"(/\*.*?\*/)", re.DOTALL)
IMPORT = re.compile(r"""((?:\bfrom|\bimport)\s*\(?\s*)(["'])(\.{1,2}/[^"']+)\2""")
CSS_URL = re.compile(r"""(@import\s+|url\(\s*)(["'])([^"':#]+)\2""")
JSON_PATH = re.compile(r"""("src"\s*:\s*)(")([^"':]+)\2""")
PATTERNS = {".js": IMPORT, ".css": CSS_URL, ".webmanifest": JSON_PATH}
HASH_LENGTH = 10


def short_hash(data: bytes) -> str:
    """A name for these bytes."""
    return hashlib.sha256(data).hexdigest()[:HASH_LENGTH]


def hashed_name(path: str, data: bytes) -> str:
    """``widgets/bars.js`` → ``widgets/bars.0a1b2c3d4e.js``."""
    stem, extension = posixpath.splitext(path)
    return f"{stem}.{short_hash(data)}{extension}"


@dataclass
class Renaming:
    """Files being renamed: each one's references first, then itself."""

    sources: Mapping[str, bytes]
    names: dict[str, str] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    imports: dict[str, list[str]] = field(default_factory=dict)
    under_way: list[str] = field(default_factory=list)

    def rename(self, path: str) -> str:
        """Give ``path`` its hashed name, once what it refers to has its own."""
        if path in self.names:
            return self.names[path]
        if path in self.under_way:
            loop = " → ".join([*self.under_way[self.under_way.index(path) :], path])
            raise BuildError(f"modules import each other in a circle: {loop}", "break the circle")
        self.under_way.append(path)
        data = self.rewritten(path)
        self.under_way.pop()
        self.contents[path] = data
        self.names[path] = hashed_name(path, data)
        return self.names[path]

    def rewritten(self, path: str) -> bytes:
        """Return the file with the new names of what it refers to."""
        data = self.sources[path]
        pattern = PATTERNS.get(posixpath.splitext(path)[1])
        if pattern is None:
            return data
        self.imports[path] = []
        parts = BLOCK_COMMENT.split(data.decode())
        replace = self.replacer(path)
        parts[::2] = [pattern.sub(replace, part) for part in parts[::2]]
        return "".join(parts).encode()

    def replacer(self, path: str) -> Callable[[re.Match[str]], str]:
        """Make the function that replaces one reference in ``path``."""
        folder = posixpath.dirname(path)

        def replace(match: re.Match[str]) -> str:
            before, quote, reference = match.groups()
            target = posixpath.normpath(posixpath.join(folder, reference))
            if target not in self.sources:
                raise BuildError(f"{path} refers to {reference}, which is not there", "mend it")
            self.imports[path].append(target)
            renamed = posixpath.relpath(self.rename(target), folder or ".")
            dotted = renamed if renamed.startswith(".") else f"./{renamed}"
            return f"{before}{quote}{dotted if reference.startswith('.') else renamed}{quote}"

        return replace


def reachable(renaming: Renaming, path: str) -> list[str]:
    """Every module that ``path`` imports, directly or not, without itself."""
    found: dict[str, None] = {}
    queue = list(renaming.imports.get(path, []))
    while queue:
        module = queue.pop(0)
        if module not in found:
            found[module] = None
            queue.extend(renaming.imports.get(module, []))
    return list(found)
