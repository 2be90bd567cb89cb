"""The accelerators that an engine's figures are known for, with memory as their driver reports it.

"80 GB" on a box is neither 80 × 10⁹ nor 80 × 2³⁰ bytes: an A100 80GB offers 79.25 GiB.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

from pycore.data import rows
from pycore.errors import InvalidRequest

# An H100 SXM5 stands for a GPU of which only the memory is known.
ASSUMED_CAPABILITY: Final = (9, 0)
ASSUMED_MULTIPROCESSORS: Final = 132
# AMD's generations of CDNA, by the architecture that their compiler names.
# Source: vLLM 0.33.0, platforms/rocm.py, get_cdna_version.
CDNA_GENERATIONS: Final = {"gfx90a": 2, "gfx942": 3, "gfx950": 4}


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One kind of accelerator.

    ``total_bytes`` is its memory as CUDA or ROCm reports it; ``total_is_measured`` says whether
    that was read off a real one. ``compute_capability`` is None where it is not NVIDIA's, and
    ``is_linked`` is False where its kind has no link of its own, so that ranks talk over PCIe.
    """

    id: str
    name: str
    vendor: str
    total_bytes: int
    total_is_measured: bool
    total_range_bytes: tuple[int, int]
    compute_capability: tuple[int, int] | None
    accelerators_per_node: int | None
    is_linked: bool
    source: str
    multiprocessors: int
    """Streaming multiprocessors, or compute units, as torch counts them."""
    shares_host_memory: bool = False
    """Whether CPU and GPU have one memory: files read while loading may then count as taken."""
    small_batch_by_name: bool = False
    """Whether the engine gives it a small GPU's batches whatever its memory, knowing its name."""
    cdna_generation: int = 0
    """AMD's generation of CDNA; 0 for others."""
    is_assumed_generation: bool = False
    """Whether all but its memory is assumed."""


@cache
def catalogue() -> dict[str, dict[str, object]]:
    """Every accelerator's row, by id."""
    return {str(row["id"]): row for row in rows("accelerators")}


@cache
def find(accelerator_id: str) -> Accelerator:
    """The accelerator with that id; an error when it is unknown or cannot be sized."""
    row = catalogue().get(accelerator_id)
    known = [key for key, value in catalogue().items() if value["total_bytes"]]
    if row is None:
        raise InvalidRequest(
            "accelerator",
            "unknown_choice",
            f"no accelerator is called {accelerator_id!r}",
            known,
        )
    if not row["total_bytes"]:
        raise InvalidRequest(
            "accelerator",
            "engine_figures_unknown",
            f"{row['name']} cannot be sized: {row['unknown_reason']}",
            known,
        )
    return from_row(row)


def from_row(row: dict[str, object]) -> Accelerator:
    """An accelerator from its row."""
    total = row["total_bytes"]
    per_node = row["accelerators_per_node"]
    seen = row.get("total_range_bytes")
    multiprocessors = row["multiprocessors"]
    if not isinstance(total, int) or not isinstance(multiprocessors, int):
        raise TypeError(row["id"])
    low, high = seen if isinstance(seen, list) else (total, total)
    return Accelerator(
        id=str(row["id"]),
        name=str(row["name"]),
        vendor=str(row["vendor"]),
        total_bytes=total,
        total_is_measured=row["total_basis"] == "measured",
        total_range_bytes=(low, high),
        compute_capability=capability(str(row["compute_capability"] or "")),
        accelerators_per_node=per_node if isinstance(per_node, int) else None,
        is_linked=row.get("link_name") is not None,
        source=str(row["source"]),
        multiprocessors=multiprocessors,
        shares_host_memory=row["shares_host_memory"] is True,
        small_batch_by_name=row["small_batch_by_name"] is True,
        cdna_generation=CDNA_GENERATIONS.get(str(row["compute_capability"]), 0),
    )


def capability(text: str) -> tuple[int, int] | None:
    """A CUDA compute capability such as 8.0; None for other vendors' names."""
    major, dot, minor = text.partition(".")
    return (int(major), int(minor)) if dot and major.isdigit() and minor.isdigit() else None


def custom(total_bytes: int) -> Accelerator:
    """An accelerator of which only the memory is known: the rest is a recent NVIDIA GPU's."""
    return Accelerator(
        id="",
        name="an accelerator of your own",
        vendor="",
        total_bytes=total_bytes,
        total_is_measured=True,
        total_range_bytes=(total_bytes, total_bytes),
        compute_capability=ASSUMED_CAPABILITY,
        accelerators_per_node=None,
        is_linked=True,
        source="your own figure",
        multiprocessors=ASSUMED_MULTIPROCESSORS,
        is_assumed_generation=True,
    )
