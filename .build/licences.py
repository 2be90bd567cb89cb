"""dist/licenses/: the terms of everything that is shipped, with a page that lists them."""

from places import BUILD, ROOT
from pyodide_runtime import VERSION

FOLDER = BUILD / "licences"
SHIPPED = (
    ("Napkin", "Apache License 2.0", "napkin.txt", "the page, and its core in Python"),
    (
        f"Pyodide {VERSION}",
        "Mozilla Public License 2.0",
        "mpl-2.0.txt",
        'shipped unchanged; <a href="https://github.com/pyodide/pyodide">its source</a>',
    ),
    (
        "CPython 3.14 and its standard library",
        "Python Software Foundation License",
        "python.txt",
        "shipped as part of Pyodide; of the library, the modules in use, compiled",
    ),
    ("Libraries linked into Pyodide", "MIT, BSD, zlib and others", "linked-libraries.txt", ""),
)
PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Licences of what Napkin ships</title>
<h1>Licences of what Napkin ships</h1>
<ul>
{rows}
</ul>
<p><a href="../">Back to Napkin</a></p>
</html>
"""


def licence_files() -> dict[str, bytes]:
    """Return the texts and the page that lists them, by path."""
    rows = [
        f'<li><a href="{file}">{what}: {terms}</a>{f"<br>{note}" if note else ""}</li>'
        for what, terms, file, note in SHIPPED
    ]
    texts = {path.name: path.read_bytes() for path in sorted(FOLDER.glob("*.txt"))}
    texts |= {
        "napkin.txt": (ROOT / "LICENSE").read_bytes(),
        "index.html": PAGE.format(rows="\n".join(rows)).encode(),
    }
    return {f"licenses/{name}": data for name, data in texts.items()}
