"""An allocation that failed: what PyTorch says of the GPU's memory with it.

Source: c10/cuda/CUDACachingAllocator.cpp of PyTorch 1.13 to 2.9; "capacty" is 2.1's own.
"""

import re
from dataclasses import dataclass
from typing import Final

from pycore.evidence.reading.numbers import NUMBER, parse_number
from pycore.units import GIB, KIB, MIB

SIZE: Final = rf"{NUMBER} (bytes|KiB|MiB|GiB)"
UNITS: Final = {"bytes": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB}
# Up to PyTorch 2.0 all stands in one pair of brackets, with the size first.
WANTED: Final = re.compile(rf"Tried to allocate {SIZE}")
TOTAL: Final = re.compile(rf"total capaci?ty of {SIZE}|{SIZE} total capacity")
FREE: Final = re.compile(rf"of which {SIZE} is free|{SIZE} free;")
IN_USE: Final = re.compile(rf"this process has {SIZE} memory in use")
OTHERS: Final = re.compile(rf"Process \d{{1,9}} has {SIZE} memory in use")
ALLOCATED: Final = re.compile(rf"{SIZE} is allocated by PyTorch|{SIZE} already allocated")
POOLS: Final = re.compile(rf"{SIZE} allocated in private pools")
UNUSED: Final = re.compile(rf"{SIZE} is reserved by PyTorch but unallocated")


@dataclass(frozen=True, slots=True)
class Allocation:
    """The GPU's memory at the moment [bytes]; None is what the line does not tell."""

    wanted: int | None
    total: int | None
    free: int | None
    in_use: int | None
    """All that this process holds."""
    allocated: int | None
    """What its tensors take."""
    unused: int | None
    """What its allocator holds in pieces that no tensor fits into."""
    others: int
    """What other processes hold."""
    pools: int
    """What it holds in pools of their own: those of CUDA graphs."""

    @property
    def exceeds_gpu(self) -> bool:
        """Whether one buffer was to be larger than the whole GPU."""
        return self.wanted is not None and self.total is not None and self.wanted > self.total


def allocation_of(words: str) -> Allocation:
    """The memory that an error's own words tell."""
    in_use = first(IN_USE, words)
    listed = [size_of(match) for match in OTHERS.finditer(words)]
    if in_use is None and len(listed) == 1:
        # Inside a container PyTorch does not know its own process, and lists it with the others.
        in_use, listed = listed[0], []
    return Allocation(
        wanted=first(WANTED, words),
        total=first(TOTAL, words),
        free=first(FREE, words),
        in_use=in_use,
        allocated=first(ALLOCATED, words),
        unused=first(UNUSED, words),
        others=sum(listed),
        pools=first(POOLS, words) or 0,
    )


def first(pattern: re.Pattern[str], words: str) -> int | None:
    """The first size that a pattern finds [bytes]."""
    match = pattern.search(words)
    return None if match is None else size_of(match)


def size_of(match: re.Match[str]) -> int:
    """A size in bytes, whichever of its wordings matched."""
    number, unit = (group for group in match.groups() if group is not None)
    return round(parse_number(number) * UNITS[unit])
