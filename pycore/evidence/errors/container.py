"""Errors of what stands around the engine: disk, host memory, shared memory, the cluster."""

import math
from typing import Final

from pycore.evidence.errors.story import Situation, Story, Teller
from pycore.evidence.reading.numbers import counted, gib_text
from pycore.model.catalogue import model_of
from pycore.sizing.weights import checkpoint_bytes
from pycore.units import GIB, MIB

# Docker and containerd give a container this much of /dev/shm unless told otherwise.
DEFAULT_SHARED: Final = 64 * MIB


def weights_bytes(situation: Situation) -> int | None:
    """The checkpoint's weights: what is downloaded, and read through the host's memory.

    They come in the checkpoint's own form, whatever they are quantised to once loaded.
    """
    stated = situation.scenario.checkpoint_bytes
    if stated is not None or situation.result is None:
        return stated
    return checkpoint_bytes(model_of(situation.scenario))


def disk(situation: Situation) -> Story:
    """The disk filled up while the checkpoint was downloaded."""
    size = weights_bytes(situation)
    said = "The model's files must fit where HF_HOME points, and are kept there."
    if size is not None:
        said = (
            f"About {gib_text(size)} of weights are downloaded to where HF_HOME points; in a pod "
            "without a volume that is the node's ephemeral storage, which holds the image too."
        )
    room = "a larger volume at HF_HOME, or more ephemeral-storage"
    if size is not None:
        wanted = f"{math.ceil(size * 1.15 / GIB / 10) * 10}Gi"
        room = f"a volume of {wanted} at HF_HOME (or that much ephemeral-storage)"
    return Story(
        "The disk is full: the downloader names only its own thread that died of it.",
        said,
        elsewhere=(room, "remove older downloads from the cache"),
    )


def host_memory(situation: Situation) -> Story:
    """The kernel killed the process for its container's memory limit."""
    size, ranks = weights_bytes(situation), situation.scenario.tensor_parallel_size
    why = f"{counted(ranks, 'worker')} read the checkpoint through the host's memory"
    if size is not None:
        why += f": {gib_text(size)} in all"
    why += (
        ". Mapped files are given back under pressure, but a limit well below the files slows "
        "loading down or ends it, and /dev/shm counts towards the same limit."
    )
    limit = "more than now" if size is None else f"{math.ceil((size / GIB + 16) / 8) * 8}Gi"
    return Story(
        "The container went over its memory limit (exit code 137): host memory, not the GPU's.",
        why,
        elsewhere=(
            f"resources.limits.memory: {limit}",
            "--load-format runai_streamer, or one shard at a time, where memory cannot grow",
        ),
    )


def shared_memory(situation: Situation) -> Story:
    """NCCL or the workers' queue found no room in /dev/shm."""
    asked = situation.number(0)
    why = f"A container has {DEFAULT_SHARED // MIB} MiB of /dev/shm unless it is given more"
    if asked.isdecimal():
        why += f"; {int(asked) / MIB:.1f} MiB were asked for at once"
    ranks = situation.scenario.tensor_parallel_size
    return Story(
        "Ranks on one node talk through shared memory, and /dev/shm is too small for it.",
        f"{why}. {counted(ranks, 'rank')} share it." if ranks > 1 else f"{why}.",
        elsewhere=(
            "an emptyDir with medium: Memory and sizeLimit: 16Gi, mounted at /dev/shm",
            "docker run --shm-size 16g (or --ipc host)",
        ),
    )


def not_allocatable(situation: Situation) -> Story:
    """No node has as many free GPUs as the pod asks for."""
    nodes = int(situation.number(0))
    return Story(
        "The scheduler found no node with that many free GPUs.",
        f"{counted(nodes, 'node')} {'has' if nodes == 1 else 'have'} too few; a pod's GPUs are all of one node.",
        elsewhere=(
            "a node pool whose nodes have as many GPUs as the pod asks for",
            "fewer: nvidia.com/gpu and --tensor-parallel-size together",
        ),
    )


def no_accelerator(situation: Situation) -> Story:
    """The container sees no GPU at all."""
    del situation
    return Story(
        "The container sees no GPU.",
        "Without a request for nvidia.com/gpu (docker: --gpus) none is handed to it.",
        elsewhere=(
            "resources.limits: nvidia.com/gpu",
            "the device plugin or the container toolkit on the node",
        ),
    )


def probe(situation: Situation) -> Story:
    """The kubelet gave up on a server that was still loading."""
    size = weights_bytes(situation)
    said = (
        f"{gib_text(size)} are read, compiled and captured before /health answers" if size else ""
    )
    return Story(
        "The server was killed by its own probe before it was ready.",
        f"{said}; at 1 GiB/s reading alone takes {size / GIB:.0f} s." if size else "",
        elsewhere=(
            "a startupProbe on /health with failureThreshold × periodSeconds of 30 minutes",
        ),
    )


def gated(situation: Situation) -> Story:
    """The hub refuses the download."""
    del situation
    return Story(
        "The model's licence must be accepted on its page, and the token must be of that account.",
        elsewhere=("HF_TOKEN from a secret",),
    )


def collectives(situation: Situation) -> Story:
    """NCCL could not connect the ranks."""
    words = situation.error.words
    debug = "NCCL_DEBUG=INFO prints which step failed."
    if "cuda error" in words:
        return Story(
            "A CUDA call failed inside NCCL: no memory was left for its buffers, or the driver "
            "does not fit the library.",
            debug,
            elsewhere=(
                "a lower --gpu-memory-utilization, where it comes after the KV cache",
                "a driver that the image's CUDA supports",
            ),
        )
    if "remote process" in words:
        return Story(
            "Another rank went away, or the network to it did: the cause is in that rank's log.",
            debug,
        )
    if "bind" in words:
        return Story(
            "A port that NCCL listens on is taken: another engine runs in the same network.",
            elsewhere=("end the other engine, or give each its own network namespace",),
        )
    return Story(
        "The ranks could not be joined: shared memory, the network between nodes, or GPUs that "
        "cannot reach each other.",
        debug,
        elsewhere=(
            "more /dev/shm (16 GiB)",
            "NCCL_P2P_DISABLE=1, to tell whether GPUs reach each other",
        ),
    )


def driver(situation: Situation) -> Story:
    """The driver is older than the CUDA that the engine was built with."""
    version = situation.number(0)
    found = ""
    if version.isdecimal() and len(version) > 3:
        found = f"The driver supports CUDA {int(version) // 1000}.{int(version) % 1000 // 10}."
    return Story(
        "The GPU's driver is older than the CUDA that the engine was built with.",
        found,
        elsewhere=("a newer driver on the node", "an image built for the driver's CUDA"),
    )


def no_kernel(situation: Situation) -> Story:
    """The engine was not built for this GPU's generation."""
    del situation
    return Story(
        "The engine, or a library of it, was not compiled for this GPU's generation.",
        elsewhere=("a newer image", "a build with TORCH_CUDA_ARCH_LIST naming the GPU's"),
    )


def kernel_memory(situation: Situation) -> Story:
    """A kernel wants more of a multiprocessor's own memory than this GPU has."""
    asked, there = (situation.number(i) for i in range(2))
    why = f"{int(asked):,} bytes are wanted, {int(there):,} are there." if asked and there else ""
    return Story(
        "A kernel is laid out for a GPU with more shared memory in each multiprocessor; /dev/shm "
        "and the GPU's main memory have no part in it.",
        why,
        elsewhere=("another attention backend, or a newer version of the engine",),
    )


def bad_access(situation: Situation) -> Story:
    """A kernel read or wrote where it must not."""
    del situation
    return Story(
        "A kernel went out of its bounds: a fault of the code, not a lack of memory.",
        elsewhere=(
            "--enforce-eager, to tell whether CUDA graphs have a part in it",
            "another version of the engine, or another attention backend",
        ),
    )


def died(situation: Situation) -> Story:
    """The messenger: the cause stands above it."""
    others = [error for error in situation.findings.errors if error.kind != "engine_died"]
    where = f"See line {others[0].line}." if others else "It is not in what was pasted."
    return Story(
        "The engine's process ended; this line only says so.", f"The cause stands above it. {where}"
    )


TELLERS: Final[dict[str, Teller]] = {
    "disk_full": disk,
    "out_of_host_memory": host_memory,
    "shared_memory": shared_memory,
    "accelerators_not_allocatable": not_allocatable,
    "no_accelerator": no_accelerator,
    "probe_failed": probe,
    "gated_model": gated,
    "collectives_failed": collectives,
    "driver_too_old": driver,
    "no_kernel_for_accelerator": no_kernel,
    "kernel_too_large": kernel_memory,
    "illegal_memory_access": bad_access,
    "engine_died": died,
}
