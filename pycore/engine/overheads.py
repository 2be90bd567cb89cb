"""What the engine takes besides weights and KV cache, with the range that real runs fell in.

The forms are read off the engine's code; the few constants in them are learnt from public
start-up records (``data/overheads.jsonl``, which ``build.py accuracy`` checks). A measured figure
of the user's replaces any of them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pycore.data import rows
from pycore.engine.versions import EngineVersion
from pycore.hardware.accelerators import Accelerator

# NVIDIA's GPUs that can write to all ranks at once: Hopper, and Blackwell but the workstation's.
MULTICAST_MAJORS: Final = (9, 10)
# Versions whose all-reduce took memory for it, with the fewest ranks that it did so for.
MULTICAST_VERSIONS: Final = {(0, 10): 4, **{(0, minor): 2 for minor in range(17, 25)}}
# GPUs before these load fewer kernels: up to vLLM 0.17, and from 0.18 on.
HOPPER_CAPABILITY: Final = (9, 0)
ADA_CAPABILITY: Final = (8, 9)
# What cuBLAS takes for its handles, which vLLM 0.33 creates before it looks at the memory: assumed.
CUBLAS_BYTES: Final = 85_000_000
CONTEXT_BYTES: Final = 545_000_000
RANKS_BEFORE_BYTES: Final = 1_070_000_000
LEAST_CONTEXT_BYTES: Final = 200_000_000
LEAST_RANKS_BEFORE_BYTES: Final = 400_000_000


def stored() -> dict[str, float]:
    """The learnt constants as they are kept."""
    return {str(row["id"]): float(str(row["value"])) for row in rows("overheads")}


_constants: list[Mapping[str, float]] = [stored()]


def learnt(name: str) -> float:
    """A learnt constant."""
    return _constants[-1][name]


def learnt_bytes(name: str) -> int:
    """A learnt constant that is a size."""
    return int(_constants[-1][name])


@contextmanager
def learnt_anew(constants: Mapping[str, float]) -> Iterator[None]:
    """Other constants for a while: those learnt with some of the runs left out."""
    _constants.append({**_constants[-1], **constants})
    try:
        yield
    finally:
        _constants.pop()


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated number of bytes and the range that real runs fell in."""

    value: int
    low: int
    high: int


def exactly(value: int) -> Estimate:
    """A figure that was measured: no range."""
    return Estimate(value, value, value)


def around(value: int, below: float, above: float | None = None) -> Estimate:
    """A figure with so many bytes on either side, never below nothing."""
    upper = below if above is None else above
    return Estimate(value, max(0, int(value - below)), int(value + upper))


def non_torch_bytes(
    *,
    first_rank_bytes: int,
    ranks_bytes: int,
    further_ranks: int,
    bytes_per_further_rank: int,
    host_memory_bytes: int,
    slack_bytes: int,
    kept_bytes: int,
) -> int:
    """What is taken after the engine's first look at the memory, neither weights nor activations.

    The kernels' own code and workspaces, and buffers to talk to the other ranks: on Hopper and
    Blackwell in some versions such that all ranks can write to at once. Where CPU and GPU share
    their memory, what the process takes as a CPU program counts as well. From vLLM 0.27 on what
    the engine keeps of its tensors counts here too, and where weights were laid out anew the
    holes that this leaves in what the tensor library reserved.

    Source: fitted to public start-up records, by version, TP and GPU generation; vLLM 0.27.1,
    utils/mem_utils.py, for what counts.
    """
    return (
        first_rank_bytes
        + ranks_bytes
        + further_ranks * bytes_per_further_rank
        + host_memory_bytes
        + slack_bytes
        + kept_bytes
    )


def first_rank_name(version: EngineVersion, accelerator: Accelerator, *, in_stages: bool) -> str:
    """The learnt constant of what one rank takes outside torch, by version and GPU."""
    minor, capability = version.version[1], accelerator.compute_capability
    if in_stages:
        return "non_torch_stage_bytes"
    if accelerator.vendor == "AMD":
        return "non_torch_amd_bytes"
    if minor < 18:
        if capability is not None and capability < HOPPER_CAPABILITY:
            return "non_torch_before_hopper_bytes"
        return "non_torch_0_11_bytes" if minor >= 11 else "non_torch_0_10_bytes"
    is_older = capability is not None and capability < ADA_CAPABILITY
    return "non_torch_before_ada_bytes" if is_older else "non_torch_0_18_bytes"


def ranks_name(version: EngineVersion, accelerator: Accelerator, ranks: int) -> str | None:
    """The learnt constant of what talking to other ranks takes; None for one rank.

    None too where NCCL and cuBLAS are up before the engine looks at the memory (vLLM 0.33). Ranks
    that talk over PCIe have no buffers that they read of one another.
    """
    if ranks == 1 or version.starts_cublas_first:
        return None
    capability = accelerator.compute_capability
    least = MULTICAST_VERSIONS.get(version.version)
    writes_to_all = capability is not None and capability[0] in MULTICAST_MAJORS
    if not accelerator.is_linked:
        return "unlinked_ranks_bytes"
    if writes_to_all and least is not None and ranks >= least:
        return "multicast_bytes"
    return "ranks_bytes"


def matrix_workspace_bytes(capability: tuple[int, int] | None) -> int:
    """What cuBLAS and cuBLASLt keep to multiply in: far more from Hopper on.

    Source: PyTorch, aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize, and
    CUDABlas.cpp, _parseChosenWorkspaceSize: 32 MiB each on Hopper and the Blackwell of data
    centres, else 2 of 4 MiB with 8 of 16 KiB, and 1 MiB.
    """
    if capability is None or capability[0] in MULTICAST_MAJORS:
        return 64 << 20
    return (8 << 20) + (128 << 10) + (1 << 20)


def taken_at_least(ranks: int) -> int:
    """What is surely gone before the engine looks at the free memory, on any GPU.

    Source: public start-up records, whose smallest are 0.2 GiB for one rank and 0.6 GiB for
    several (vLLM 0.10 to 0.31).
    """
    return LEAST_CONTEXT_BYTES + (LEAST_RANKS_BEFORE_BYTES if ranks > 1 else 0)


def taken_before_start(ranks: int) -> int:
    """What is gone before the engine looks at the free memory: the context, and NCCL's buffers.

    Source: public start-up records, which print 0.4 to 0.6 GiB for one rank and 1.0 to 1.5 GiB
    for several (vLLM 0.10 to 0.28).
    """
    return CONTEXT_BYTES + (RANKS_BEFORE_BYTES if ranks > 1 else 0)
