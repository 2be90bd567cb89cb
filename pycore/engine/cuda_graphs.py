"""CUDA graphs: which batches are captured, and what their memory is put at."""

from typing import Final

LARGEST_CAPTURE: Final = 512


def num_capture_sizes(largest: int) -> int:
    """Batch sizes that CUDA graphs are captured for: 1, 2, 4, every 8th to 256, every 16th on.

    Source: vLLM 0.33.0, config/vllm.py, _set_cudagraph_sizes.
    """
    return min(largest, 2) + (largest >= 4) + min(largest, 255) // 8 + max(0, largest - 240) // 16


def num_cuda_graphs(max_num_seqs: int, max_num_batched_tokens: int) -> int:
    """Graphs of a model: one set for any batch to twice max_num_seqs, one for decoding alone.

    Source: vLLM 0.33.0, config/vllm.py and v1/worker/gpu/cudagraph_utils.py, _init_candidates.
    """
    largest = min(2 * max_num_seqs, LARGEST_CAPTURE, max_num_batched_tokens)
    return num_capture_sizes(largest) + num_capture_sizes(min(largest, max_num_seqs))


def cuda_graph_bytes(
    *, pool_bytes: int, num_cuda_graphs: int, num_layers: int, bytes_per_graph_and_layer: int
) -> int:
    """What is set aside for CUDA graphs: a pool, and what each keeps of every layer's launches.

    Captured are 1, 2, 4, every 8th batch to 256 and every 16th to 512 sequences, though not
    above twice max_num_seqs; and those up to max_num_seqs once more, for decoding alone.

    vLLM captures a few and puts the others at what the second took, in the allocator's steps of
    2 MiB, so that the same model can come out at half or at twice this.
    Source: fitted to the estimates that public start-up records of vLLM 0.19 and later print.
    """
    return pool_bytes + num_cuda_graphs * num_layers * bytes_per_graph_and_layer
