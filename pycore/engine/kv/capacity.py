"""What a KV pool holds, once its layers are in groups: blocks, requests, the longest request.

Bytes are those of the pipeline stage that needs most; blocks are the fewest of any stage, since
one block table serves all stages. With that, the engine's checks in bytes become checks in
blocks: a request fits when it takes no more blocks than the poorest stage has.

Source: vLLM 0.33.0, v1/core/kv_cache_planning.py, get_kv_cache_configs.
"""

from collections.abc import Sequence

from pycore.engine.kv import formulas as kv_formulas
from pycore.engine.kv.groups import KVCachePlan
from pycore.engine.kv.specs import blocks_of


def blocks_per_request(plan: KVCachePlan, request_tokens: int) -> int:
    """Blocks that one request takes of the shared pool: its groups' demands together."""
    return sum(blocks_of(group.demand, request_tokens) for group in plan.groups)


def needed_bytes(plan: KVCachePlan, max_model_len: int) -> int:
    """Bytes that one request of ``max_model_len`` takes, on the stage where it takes most."""
    return blocks_per_request(plan, max_model_len) * max(plan.bytes_per_block_by_stage)


def num_gpu_blocks(plan: KVCachePlan, available_bytes_by_stage: Sequence[int]) -> int:
    """Blocks of the pool: the fewest of any stage that has layers to keep."""
    return min(
        kv_formulas.num_gpu_blocks(
            available_kv_cache_bytes=available_bytes, kv_cache_bytes_per_block=bytes_per_block
        )
        for available_bytes, bytes_per_block in zip(
            available_bytes_by_stage, plan.bytes_per_block_by_stage, strict=True
        )
        if bytes_per_block
    )


def holds_one_request(
    plan: KVCachePlan, num_blocks: int, max_model_len: int, *, blocks_held_back: int = 1
) -> bool:
    """Whether the engine starts: the pool, less what is held back, holds one longest request.

    vLLM 0.33 checks against one block less than it has, since its block pool never hands out
    the first; versions before that check do not (``blocks_held_back`` 0).

    Source: vLLM 0.33.0, v1/core/kv_cache_planning.py, _check_enough_kv_cache_memory.
    """
    return blocks_per_request(plan, max_model_len) <= num_blocks - blocks_held_back


def estimated_max_model_len(
    plan: KVCachePlan, num_blocks: int, max_model_len: int, *, blocks_held_back: int = 1
) -> int:
    """The longest request that the engine says would fit, never above ``max_model_len``.

    0 when not even one token fits. Auto-fit (``--max-model-len auto``) lowers max_model_len to
    this figure, and refuses at 0.

    Source: vLLM 0.33.0, v1/core/kv_cache_planning.py, _estimate_max_model_len_from_groups.
    """
    usable_blocks = num_blocks - blocks_held_back
    demands = [
        (group.demand.fixed_blocks, group.demand.token_cap, group.demand.tokens_per_block)
        for group in plan.groups
    ]
    fits, too_long = 0, max_model_len + 1
    while too_long - fits > 1:
        tokens = (fits + too_long) // 2
        blocks = 0
        for fixed_blocks, token_cap, tokens_per_block in demands:
            blocks += fixed_blocks - (-min(tokens, token_cap) // tokens_per_block)
        if blocks <= usable_blocks:
            fits = tokens
        else:
            too_long = tokens
    return fits
