"""What a tensor takes of the GPU's memory once it is allocated: a little more than its bytes.

Source: PyTorch, c10/cuda/CUDACachingAllocator.cpp (round_size, get_allocation_size,
should_split). It accounts for the weights that vLLM reports beyond its parameters: 0.08 GiB for
phi-4 (40 layers with two tensors that end in the middle of 2 MiB), nothing for Llama 3.1 8B.
"""

from typing import Final

from pycore.units import MIB, round_up

SMALLEST_BLOCK: Final = 512
LARGE: Final = 10 * MIB
LARGE_UNIT: Final = 2 * MIB
LEAST_REMAINDER: Final = MIB


def allocated_bytes(*, num_bytes: int) -> int:
    """Bytes of the block that holds a tensor.

    Large tensors get whole units of 2 MiB; what is left over is given back when it is more than
    1 MiB, and stays with the tensor otherwise.
    """
    block = round_up(num_bytes, SMALLEST_BLOCK)
    rest = -block % LARGE_UNIT
    return block + rest if block >= LARGE and rest <= LEAST_REMAINDER else block
