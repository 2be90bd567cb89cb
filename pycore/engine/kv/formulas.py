"""The arithmetic of a KV pool, one expression a formula: from bytes to blocks to tokens.

These are the formulas that people see. ``capacity`` asks the same of a whole plan.
"""

from pycore.units import ceil_div


def num_kv_heads_per_rank(*, num_key_value_heads: int, tensor_parallel_size: int) -> int:
    """Key-value heads on one rank: at least one, so ranks beyond the heads hold copies.

    Source: vLLM 0.33.0, config/model.py, get_num_kv_heads.
    """
    return max(1, num_key_value_heads // tensor_parallel_size)


def num_kv_head_replicas(*, num_key_value_heads: int, tensor_parallel_size: int) -> int:
    """Ranks that hold a copy of the same key-value head: more than one beyond their number.

    Source: vLLM 0.33.0, model_executor/layers/linear.py, QKVParallelLinear.
    """
    return max(1, tensor_parallel_size // num_key_value_heads)


def kv_cache_bytes_per_token_per_rank(
    *, num_layers: int, num_kv_heads: int, head_size: int, head_size_v: int, element_bytes: int
) -> int:
    """What one token of one request takes on each GPU: a key and a value per layer and KV head.

    Source: vLLM 0.33.0, v1/kv_cache_interface.py, AttentionSpec.page_size_bytes.
    """
    return num_layers * num_kv_heads * (head_size + head_size_v) * element_bytes


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


def longest_request_tokens(
    *,
    num_gpu_blocks: int,
    blocks_held_back: int,
    block_size: int,
    decode_context_parallel_size: int,
    model_limit_tokens: int,
) -> int:
    """The longest single request: all blocks but the ones held back, or the model's own limit.

    Source: vLLM 0.33.0, v1/core/kv_cache_planning.py, _estimate_max_model_len_from_groups.
    """
    return max(
        0,
        min(
            (num_gpu_blocks - blocks_held_back) * block_size * decode_context_parallel_size,
            model_limit_tokens,
        ),
    )


def max_concurrency_for_workload(
    *, num_gpu_blocks: int, blocks_per_request: int, max_num_seqs: int
) -> float:
    """Requests of the workload's length that one replica holds at once, no more than it schedules.

    Source: vLLM 0.33.0, v1/core/kv_cache_utils.py, the engine's own formula at this length.
    """
    return min(num_gpu_blocks / blocks_per_request, float(max_num_seqs))


def printed_tokens_of_blocks(*, num_gpu_blocks: int, num_groups: int, tokens_per_block: int) -> int:
    """What vLLM up to 0.19 prints as "GPU KV cache size": the tokens that one group's blocks hold.

    Source: vLLM 0.19.0, v1/core/kv_cache_utils.py, _report_kv_cache_config.
    """
    return num_gpu_blocks // num_groups * tokens_per_block
