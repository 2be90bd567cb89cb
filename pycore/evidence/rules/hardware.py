"""Rules of the GPUs: ranks of one group hold the same memory, are as busy, and are joined."""

from collections.abc import Iterator
from typing import Final

from pycore.evidence.reading.numbers import gib_text
from pycore.evidence.rules.memory import CLOSES
from pycore.evidence.rules.rule import Check, Contradiction, Evidence
from pycore.units import MIB

IN_USE_MIB: Final = 2048
IDLE: Final = 10
BUSY: Final = 60


def accelerators(evidence: Evidence) -> Iterator[Contradiction]:
    """With TP every GPU of the group is as full and as busy as the others."""
    found = evidence.findings.accelerators
    wanted = evidence.scenario.tensor_parallel_size * evidence.scenario.pipeline_parallel_size
    used = [gpu for gpu in found.values() if (gpu.used_mib or 0) > IN_USE_MIB]
    if wanted > 1 and used and len(found) > 1 and len(used) < wanted:
        yield Contradiction(
            "fewer_accelerators_in_use",
            f"{wanted} ranks should hold memory, but only {len(used)} of {len(found)} GPUs hold "
            "more than 2 GiB: the split is not in effect.",
            {"ranks": wanted, "in_use": len(used)},
        )
    loads = sorted(gpu.utilization for gpu in used if gpu.utilization is not None)
    if wanted > 1 and len(loads) > 1 and loads[0] <= IDLE and loads[-1] >= BUSY:
        yield Contradiction(
            "uneven_utilization",
            f"One GPU is at {loads[-1]} %, another at {loads[0]} %: ranks of one tensor-parallel "
            "group work in step, so the split has failed silently, or these are other processes.",
            {"highest": loads[-1], "lowest": loads[0]},
        )


def used_memory(evidence: Evidence) -> Iterator[Contradiction]:
    """A GPU cannot hold less than the pool that its engine set aside."""
    terms = evidence.terms
    if terms.weights is None or terms.available is None:
        return
    held = terms.weights.value + terms.available.value
    for index, gpu in sorted(evidence.findings.accelerators.items()):
        used = (gpu.used_mib or 0) * MIB
        if IN_USE_MIB * MIB < used < held - CLOSES:
            yield Contradiction(
                "less_memory_in_use_than_held",
                f"GPU {index} has {gib_text(used)} in use, but weights and pool are "
                f"{gib_text(held)}: nvidia-smi is of another moment or another GPU.",
                {"used_bytes": used, "held_bytes": held},
            )
            return


def links(evidence: Evidence) -> Iterator[Contradiction]:
    """A tensor-parallel group exchanges every layer's output: it wants NVLink."""
    size = evidence.scenario.tensor_parallel_size
    pairs = {pair: link for pair, link in evidence.findings.links.items() if max(pair) < size}
    slow = sorted({link for link in pairs.values() if not link.startswith("NV")})
    if size < 2 or not slow:
        return
    first = next(pair for pair, link in pairs.items() if link in slow)
    yield Contradiction(
        "ranks_without_nvlink",
        f"GPU{first[0]} and GPU{first[1]} are joined by {pairs[first]}, not NVLink: each of the two "
        "all-reduces of every layer goes over PCIe.",
        {"link": pairs[first], "tensor_parallel_size": size},
        excludes=False,
    )


RULES: Final[tuple[Check, ...]] = (accelerators, used_memory, links)
