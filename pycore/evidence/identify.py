"""What a printed name means in the catalogue: a model's, a GPU's, or the size of its memory.

Nothing is guessed: a name that fits no entry, or several that differ, stays a name.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from pycore.evidence.reading.readings import Reading
from pycore.hardware import accelerators
from pycore.model.catalogue import catalogue as models

# Words of a driver's name for a GPU, and the entry of the catalogue; the first that fits counts.
# Source: nvidia-smi and torch.cuda.get_device_name as public logs quote them.
ACCELERATORS: Final = (
    (("a100", "80gb", "pcie"), "a100-pcie-80gb"),
    (("a100", "80gb"), "a100-sxm-80gb"),
    (("a100", "40gb", "pcie"), "a100-pcie-40gb"),
    (("a100", "pcie", "40gb"), "a100-pcie-40gb"),
    (("a100", "40gb"), "a100-sxm-40gb"),
    (("h100", "nvl"), "h100-nvl-94gb"),
    (("h100", "80gb", "hbm3"), "h100-sxm-80gb"),
    (("h100", "pcie"), "h100-pcie-80gb"),
    (("h100", "sxm"), "h100-sxm-80gb"),
    (("gh200", "144g"), "gh200-144gb"),
    (("gh200", "480gb"), "gh200-96gb"),
    (("h200", "nvl"), "h200-nvl-141gb"),
    (("h200",), "h200-sxm-141gb"),
    (("h20", "3e"), "h20-141gb"),
    (("h20",), "h20-96gb"),
    (("gb300",), "gb300"),
    (("b300",), "b300-sxm"),
    (("gb200",), "gb200"),
    (("b200",), "b200-sxm"),
    (("gb10",), "dgx-spark-gb10"),
    (("l40s",), "l40s"),
    (("l40",), "l40"),
    (("l20",), "l20"),
    (("l4",), "l4"),
    (("a10g",), "a10g"),
    (("a10",), "a10"),
    (("a16",), "a16"),
    (("a30",), "a30"),
    (("a40",), "a40"),
    (("tesla", "t4"), "t4"),
    (("v100", "32gb"), "v100-sxm-32gb"),
    (("v100", "16gb"), "v100-sxm-16gb"),
    (("rtx", "pro", "6000"), "rtx-pro-6000"),
    (("rtx", "6000", "ada"), "rtx-6000-ada"),
    (("rtx", "a6000"), "rtx-a6000"),
    (("rtx", "a5000"), "rtx-a5000"),
    (("rtx", "3090"), "rtx-3090"),
    (("rtx", "4090"), "rtx-4090"),
    (("rtx", "5090"), "rtx-5090"),
    (("thor",), "jetson-thor"),
    (("mi210",), "mi210"),
    (("mi300x",), "mi300x"),
    (("mi325x",), "mi325x"),
    (("mi350x",), "mi350x"),
    (("mi355x",), "mi355x"),
)
# Words beside which the same name means another card, or a slice of one.
OTHER_CARDS: Final = frozenset({"ti", "d", "super", "laptop", "mig", "grid"})
# Meta's repositories lost their prefix; the hub redirects, and caches and paths keep it.
RENAMED: Final = ("meta-llama-3", "llama-3")
# Folders that models are kept in: what begins with one is a path, not an owner's name.
FOLDERS: Final = frozenset({"", "models", "model", "data", "weights", "checkpoints", "hub", "mnt"})
SLICE: Final = re.compile(r"\d{1,3}[abcq]")


def accelerator_of(name: str) -> str | None:
    """The accelerator that a driver's name means; None where it means none of the catalogue."""
    words = frozenset(re.split(r"[\s_/-]+", name.lower().replace(".", "").strip()))
    if words & OTHER_CARDS or any(SLICE.fullmatch(word) for word in words):
        return None
    for wanted, entry in ACCELERATORS:
        if words.issuperset(wanted):
            return entry
    return None


def accelerators_with(total: Reading) -> list[str]:
    """The accelerators whose memory is the printed one, to the digit that was printed."""
    found = []
    for entry in each_accelerator():
        low, high = entry.total_range_bytes
        if low - total.rounding <= total.value <= high + total.rounding:
            found.append(entry.id)
    return found


def each_accelerator() -> Iterator[accelerators.Accelerator]:
    """The accelerators whose memory is known."""
    for key, row in accelerators.catalogue().items():
        if row["total_bytes"]:
            yield accelerators.find(key)


def model_of(name: str) -> str | None:
    """The model that a printed name or path means; None where it means none of the catalogue."""
    asked = name.strip().strip("'\"").rstrip("/").lower()
    # The hub's cache spells a name with dashes, and leads to it from its old name.
    _, _, cached = asked.partition("models--")
    if cached:
        asked = cached.split("/")[0].replace("--", "/", 1)
    exact = by_name().get(asked) or by_name().get(asked.replace(*RENAMED))
    if exact is not None:
        return exact
    first, *others = asked.split("/")
    if others and first not in FOLDERS and not first.startswith((".", "~")):
        return None
    # A path on this machine has the checkpoint's name as one of its folders.
    for part in reversed((first, *others)):
        found = by_name().get("/" + part) or by_name().get("/" + part.replace(*RENAMED))
        if found is not None:
            return found
    return None


@cache
def by_name() -> dict[str, str]:
    """Models by repository name; by its last part too, after a slash, where only one has it."""
    names: dict[str, str] = {}
    short: dict[str, set[str]] = {}
    for key, row in models().items():
        repository = str(row["hf_id"]).lower()
        names.setdefault(repository, key)
        names.setdefault(key.lower(), key)
        short.setdefault("/" + repository.rsplit("/", 1)[-1], set()).add(key)
    names.update({name: next(iter(keys)) for name, keys in short.items() if len(keys) == 1})
    return names
