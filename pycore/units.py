"""Exact whole-number arithmetic on bytes and tokens, and the binary units that people read."""

from typing import Final

KIB: Final = 1 << 10
MIB: Final = 1 << 20
GIB: Final = 1 << 30


def ceil_div(a: int, b: int) -> int:
    """The least whole number of ``b`` that holds ``a``: needs round up."""
    return -(-a // b)


def round_up(a: int, multiple: int) -> int:
    """``a`` rounded up to a whole number of ``multiple``."""
    return -(-a // multiple) * multiple


def gib(num_bytes: int) -> float:
    """``num_bytes`` in GiB, for text that quotes an engine's own message."""
    return num_bytes / GIB
