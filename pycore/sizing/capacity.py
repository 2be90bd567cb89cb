"""What the KV pool holds: blocks, tokens, the longest request, and whether the engine starts."""

from dataclasses import dataclass

from pycore.engine.kv import capacity as kv_capacity
from pycore.engine.kv import formulas as kv_formulas
from pycore.engine.kv.groups import KVCachePlan
from pycore.engine.refusals.memory import AUTO_FIT_FAILED, NO_MEMORY, kv_cache_too_small
from pycore.engine.refusals.refusal import Refusal
from pycore.engine.vllm import Settings
from pycore.sizing.ledger import Basis, Ledger


@dataclass(frozen=True, slots=True)
class Capacity:
    """The pool of the poorest stage, and what the engine says of it."""

    num_gpu_blocks: int
    max_model_len: int
    needed_bytes: int
    estimated_max_model_len: int | None
    longest_request_tokens: int
    kv_cache_size_tokens: int | None
    max_concurrency: float | None
    refusal: Refusal | None


def pool_capacity(
    plan: KVCachePlan,
    available_by_stage: tuple[int, ...],
    settings: Settings,
    limit_tokens: int,
    ledger: Ledger,
    basis: Basis,
) -> Capacity:
    """What the pool holds, and the engine's refusal where it holds too little.

    An engine told to fit the length by itself lowers it to what fits before it checks.
    """
    held_back = settings.version.blocks_held_back
    blocks = kv_capacity.num_gpu_blocks(plan, available_by_stage)
    asked = settings.max_model_len
    estimated = kv_capacity.estimated_max_model_len(plan, blocks, asked, blocks_held_back=held_back)
    longest = (
        estimated
        if estimated < asked
        else kv_capacity.estimated_max_model_len(
            plan, blocks, max(asked, limit_tokens), blocks_held_back=held_back
        )
    )
    served = max(1, estimated) if settings.auto_fit else asked
    needed = kv_capacity.needed_bytes(plan, served)
    starts = kv_capacity.holds_one_request(plan, blocks, served, blocks_held_back=held_back)
    refusal = None
    if not starts:
        refusal = refusal_of(plan, available_by_stage, settings, needed, estimated)
    tokens, concurrency = None, None
    if starts:
        tokens, concurrency = printed(plan, blocks, served, settings, ledger, basis)
    return Capacity(blocks, served, needed, estimated, longest, tokens, concurrency, refusal)


def printed(
    plan: KVCachePlan,
    blocks: int,
    max_model_len: int,
    settings: Settings,
    ledger: Ledger,
    basis: Basis,
) -> tuple[int, float]:
    """Tokens and concurrency as the engine prints them when it starts."""
    concurrency = ledger.noted(
        basis,
        kv_formulas.kv_cache_max_concurrency,
        num_gpu_blocks=blocks,
        blocks_per_request=kv_capacity.blocks_per_request(plan, max_model_len),
    )
    if settings.version.prints_tokens_of == "blocks" and plan.groups:
        return tokens_of_blocks(plan, blocks, max_model_len, ledger, basis), concurrency
    tokens = ledger.noted(
        basis,
        kv_formulas.kv_cache_size_tokens,
        kv_cache_max_concurrency=concurrency,
        max_model_len=max_model_len,
    )
    return tokens, concurrency


def tokens_of_blocks(
    plan: KVCachePlan, blocks: int, max_model_len: int, ledger: Ledger, basis: Basis
) -> int:
    """Tokens as older versions print them: of the blocks that one group gets.

    The shortest blocks count: a state's are as long as the attention's, or as a request.
    """
    growing = [group.demand for group in plan.groups if group.demand.token_cap]
    shortest = min((demand.tokens_per_block for demand in growing), default=max_model_len)
    return ledger.noted(
        basis,
        kv_formulas.printed_tokens_of_blocks,
        num_gpu_blocks=blocks,
        num_groups=len(plan.groups),
        tokens_per_block=shortest,
    )


def refusal_of(
    plan: KVCachePlan,
    available_by_stage: tuple[int, ...],
    settings: Settings,
    needed: int,
    estimated: int,
) -> Refusal:
    """The engine's words for a pool that holds no request of the longest length."""
    available = min(available_by_stage)
    if available <= 0:
        return NO_MEMORY
    if settings.auto_fit:
        return AUTO_FIT_FAILED
    held_back = settings.version.blocks_held_back * max(plan.bytes_per_block_by_stage)
    return kv_cache_too_small(
        max_model_len=settings.max_model_len,
        needed_bytes=needed,
        available_bytes=max(0, available - held_back),
        estimated=estimated,
        version=settings.version.version[1],
    )


def marginal_bytes_per_token(plan: KVCachePlan, limit_tokens: int) -> int | float:
    """Bytes that one more token of a long request takes on each GPU.

    (needed(L) − needed(L/2)) ÷ (L/2) at the model's longest L, so that windows and states, which
    long requests do not grow, count for nothing. An average, and the one figure in bytes that may
    have a fraction: where it has none it is a whole number.
    """
    half = limit_tokens // 2
    added = kv_capacity.needed_bytes(plan, limit_tokens) - kv_capacity.needed_bytes(plan, half)
    return (
        added // (limit_tokens - half)
        if added % (limit_tokens - half) == 0
        else added / (limit_tokens - half)
    )
