"""What a failed tool or a failed write comes from, told by its own words, and what to do about it.

The first sign that fits counts: a full disk breaks a download too, and an unreachable registry
ends, with pip, in "No matching distribution found".
"""

import errno
import sys

NETWORK = "check the network (a proxy belongs into the tool's own settings) and run this again"
FULL_DISK = "free some space on the disk that holds this checkout and the tools' caches"
NOT_WRITABLE = "make the path named above writable for you, or work in a checkout of your own"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

# Words of npm and pip in lower case. Source: npm 11, its error codes; pip 24 and 26, their messages.
SIGNS = (
    (("code enospc", "no space left on device", "disk quota exceeded"), FULL_DISK),
    (
        ("code eacces", "code eperm", "code erofs", "permission denied", "read-only file system"),
        NOT_WRITABLE,
    ),
    (
        ("certificate_verify_failed", "self_signed_cert", "unable_to_get_issuer_cert", "sslerror"),
        (
            "the registry's certificate is not trusted: name your proxy's own in the tool's settings "
            "(npm: cafile; pip: cert), or check the clock"
        ),
    ),
    (
        (
            *("code econnrefused", "code econnreset", "code etimedout", "code enotfound"),
            *("code eai_again", "code enetunreach", "code ehostunreach", "code err_socket_timeout"),
            *("connection refused", "connection aborted", "name resolution", "read timed out"),
            *("newconnectionerror", "connecttimeouterror", "readtimeouterror", "proxyerror"),
            "max retries exceeded",
        ),
        NETWORK,
    ),
    (
        ("code eintegrity", "do not match the hashes"),
        (
            "the registry handed out another package than the one pinned: empty the tool's cache "
            "(npm cache clean --force; pip cache purge), or set another registry"
        ),
    ),
    (
        ("code e401", "code e403", "401 client error", "403 client error"),
        "the registry wants to know who you are: log in to it in the tool's own settings",
    ),
    (
        ("code e404", "no matching distribution found", "404 client error"),
        (
            "the registry that the tool is set to does not have that version (pip: for Python "
            f"{PYTHON}): set the public one, or use another Python"
        ),
    ),
    (
        ("code eusage",),
        "package.json and package-lock.json disagree: restore both as they are in git",
    ),
    (("no module named pip",), "delete .cache/venv and run this again"),
)
UNKNOWN = "the tool's own words above say what failed: mend that and run this again"


def installers_remedy(output: str) -> str:
    """What to do about a failure of npm or pip."""
    words = output.lower()
    return next((todo for signs, todo in SIGNS if any(sign in words for sign in signs)), UNKNOWN)


def file_systems_remedy(error: OSError) -> str:
    """What to do where a file cannot be read or written."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return FULL_DISK
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return NOT_WRITABLE
        case _:
            return "what the script makes is in .cache/ and dist/: delete both and run this again"
