"""The arithmetic of a KV pool, one expression a formula: from bytes to blocks to tokens.

These are the formulas that people see. ``kv_capacity`` asks the same of a whole plan.
"""

from pycore.units import ceil_div


def kv_cache_bytes_per_block(
    *,
    num_layers: int,
    block_size: int,
    num_kv_heads: int,
    head_size: int,
    head_size_v: int,
    element_bytes: int,
) -> int:
    """Bytes of one KV block on one rank: a key and a value per layer, KV head and token.

    ``num_kv_heads`` are the rank's own: at least one, since a head cannot be split.

    Source: vLLM 0.33.0, v1/kv_cache_interface.py, AttentionSpec.page_size_bytes.
    """
    return num_layers * block_size * num_kv_heads * (head_size + head_size_v) * element_bytes


def blocks_per_request(
    *, max_model_len: int, block_size: int, decode_context_parallel_size: int
) -> int:
    """Blocks that one request of max_model_len takes when every token is kept.

    Source: vLLM 0.33.0, v1/kv_cache_interface.py, FullAttentionSpec.max_memory_usage_bytes.
    """
    return ceil_div(max_model_len, block_size * decode_context_parallel_size)


def window_blocks_per_request(
    *, max_model_len: int, sliding_window: int, max_in_flight_tokens: int, block_size: int
) -> int:
    """Blocks that one request of max_model_len takes in layers with a sliding window.

    The window's tokens and all that are in flight, since blocks are freed only once a step has
    settled; and one block more, since a window seldom begins on a block's edge.

    Source: vLLM 0.33.0, v1/kv_cache_interface.py, SlidingWindowSpec.
    """
    return ceil_div(min(sliding_window - 1 + max_in_flight_tokens, max_model_len), block_size) + 1


def needed_kv_cache_bytes(*, blocks_per_request: int, kv_cache_bytes_per_block: int) -> int:
    """Bytes that one request of max_model_len takes: with less, vLLM does not start.

    Source: vLLM 0.33.0, v1/core/kv_cache_planning.py, _max_memory_usage_bytes_from_groups.
    """
    return blocks_per_request * kv_cache_bytes_per_block


def num_gpu_blocks(*, available_kv_cache_bytes: int, kv_cache_bytes_per_block: int) -> int:
    """Whole blocks that the pool holds.

    Source: vLLM 0.33.0, v1/core/kv_cache_planning.py, get_kv_cache_config_from_groups.
    """
    return max(available_kv_cache_bytes, 0) // kv_cache_bytes_per_block


def kv_cache_max_concurrency(*, num_gpu_blocks: int, blocks_per_request: int) -> float:
    """Requests of max_model_len that the pool holds at once, as vLLM prints it.

    The block that vLLM keeps back for itself is counted here, though no request gets it.

    Source: vLLM 0.33.0, v1/core/kv_cache_utils.py, get_max_concurrency_for_kv_cache_config.
    """
    return num_gpu_blocks / blocks_per_request


def kv_cache_size_tokens(*, kv_cache_max_concurrency: float, max_model_len: int) -> int:
    """What vLLM prints as "GPU KV cache size": requests at once times their length.

    With windows or states it therefore changes with max_model_len, and is no count of slots.

    Source: vLLM 0.33.0, v1/core/kv_cache_utils.py, get_kv_cache_capacity.
    """
    return int(kv_cache_max_concurrency * max_model_len)


def printed_tokens_of_blocks(*, num_gpu_blocks: int, num_groups: int, tokens_per_block: int) -> int:
    """What vLLM up to 0.19 prints as "GPU KV cache size": the tokens that one group's blocks hold.

    Source: vLLM 0.19.0, v1/core/kv_cache_utils.py, _report_kv_cache_config.
    """
    return num_gpu_blocks // num_groups * tokens_per_block
