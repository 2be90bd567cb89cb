"""What the engine takes besides weights and KV cache: activations, CUDA graphs, NCCL.

These are fitted to public start-up records, not computed from first principles; each has a range
in which real runs fell. A measured figure of the user's replaces any of them.
"""

from dataclasses import dataclass
from typing import Final

from pycore.engine.versions import EngineVersion
from pycore.engine.vllm import Settings
from pycore.hardware.accelerators import Accelerator
from pycore.units import GIB

# Multicast buffers of NVLink SHARP are presumably what Hopper and later add at TP of 2 or more.
MULTICAST_CAPABILITY: Final = (9, 0)
NON_TORCH_GIB_PER_STAGE: Final = 0.07
LARGEST_CAPTURE: Final = 512


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated number of bytes and the range that real runs fell in."""

    value: int
    low: int
    high: int


def activation_bytes(
    *,
    sampler_factor: float,
    max_num_seqs: int,
    vocab_size: int,
    max_num_batched_tokens: int,
    hidden_size: int,
) -> int:
    """Activation peak of the profiling run.

    The sampler sorts one row of float32 logits per sequence and does not shrink with TP; the
    forward pass holds a few rows of hidden_size per batched token.
    Source: fitted to 35 records of vLLM 0.19 on H100 (worst error 0.17 GiB); the sampler's factor
    by version from later records.
    """
    return int(
        sampler_factor * max_num_seqs * vocab_size * 4
        + 1.13 * max_num_batched_tokens * hidden_size * 2
    )


def cuda_graph_bytes(*, num_layers: int, num_capture_sizes: int) -> int:
    """What is set aside for CUDA graphs, by the layers of a stage and the batch sizes captured.

    Source: fitted to records with 51 capture sizes: 1.25 GiB for 80 layers on A100, 0.5 to 1.9
    GiB on H100 for 8 to 80 layers.
    """
    return int((0.5 + 0.0075 * num_layers) * num_capture_sizes / 51 * 1073741824)


def num_capture_sizes(max_num_seqs: int, max_num_batched_tokens: int) -> int:
    """Batch sizes that CUDA graphs are captured for: 1, 2, 4, every 8th to 256, every 16th on.

    Source: vLLM 0.33.0, config/vllm.py, _set_cudagraph_sizes.
    """
    largest = min(2 * max_num_seqs, LARGEST_CAPTURE, max_num_batched_tokens)
    small = sum(1 for size in (1, 2, 4) if size <= largest)
    by_eight = min(largest, 255) // 8
    by_sixteen = (largest - 256) // 16 + 1 if largest >= 256 else 0
    return small + by_eight + by_sixteen


def non_torch_gib(
    version: EngineVersion, accelerator: Accelerator, ranks: int, stages: int
) -> float:
    """Memory that NCCL, cuBLAS and the driver take after the first snapshot [GiB]."""
    if ranks == 1:
        return NON_TORCH_GIB_PER_STAGE if stages > 1 else version.non_torch_gib
    capability = accelerator.compute_capability
    if capability is not None and capability >= MULTICAST_CAPABILITY:
        return version.non_torch_gib_with_ranks
    return version.non_torch_gib + 0.05


def estimate_activation(settings: Settings, vocab_size: int, hidden_size: int) -> Estimate:
    """The activation peak with its range."""
    value = activation_bytes(
        sampler_factor=settings.version.sampler_factor,
        max_num_seqs=settings.max_num_seqs,
        vocab_size=vocab_size,
        max_num_batched_tokens=settings.max_num_batched_tokens,
        hidden_size=hidden_size,
    )
    spread = 0.2 if settings.version.version[1] in (18, 19) else 0.6
    return Estimate(value, int(value * (1 - spread)), int(value * (1 + spread)) + GIB // 5)


def estimate_cuda_graphs(settings: Settings, num_layers: int) -> Estimate:
    """Memory for CUDA graphs with its range."""
    value = cuda_graph_bytes(
        num_layers=num_layers,
        num_capture_sizes=num_capture_sizes(settings.max_num_seqs, settings.max_num_batched_tokens),
    )
    return Estimate(value, value // 3, value * 7 // 4)
