"""Numbers as engines print them: thousands with commas, GiB with two decimals."""

from typing import Final

from pycore.units import GIB, MIB

# Bounded, so that no text can make a pattern slow or a number unreadable.
NUMBER: Final = r"(-?\d[\d,]{0,20}(?:\.\d{1,12})?)"
BYTES_PER: Final = {"gib": GIB, "mib": MIB, "bytes": 1}


def parse_number(text: str) -> int | float:
    """A number as printed: whole without a point."""
    plain = text.replace(",", "")
    return float(plain) if "." in plain else int(plain)


def parse_bytes(text: str, unit: str) -> tuple[int, float]:
    """A size and half of its last printed digit, both in bytes.

    Engines round GiB to two decimals and then drop zeros, so "2.1" is as exact as "2.10".
    """
    scale = BYTES_PER[unit]
    value = round(parse_number(text) * scale)
    if scale == 1:
        return value, 0.0
    _, _, decimals = text.partition(".")
    digits = max(2, len(decimals)) if decimals else 0
    return value, scale * 0.5 / 10**digits


def counted(number: int, noun: str) -> str:
    """A number of things, with the noun in its right form."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def gib_text(num_bytes: float) -> str:
    """A size in GiB for a sentence: two decimals."""
    return f"{num_bytes / GIB:.2f} GiB"
