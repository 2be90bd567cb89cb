"""How layers are dealt out to groups, and what the pool then holds."""

from hypothesis import given
from hypothesis import strategies as st

from pycore.engine.kv.capacity import (
    blocks_per_request,
    estimated_max_model_len,
    holds_one_request,
    needed_bytes,
    num_gpu_blocks,
)
from pycore.engine.kv.groups import KVCachePlan, plan
from pycore.engine.kv.layers import LayerSpecs, dealt_out
from pycore.engine.kv.specs import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    RequestLimits,
    SlidingWindowSpec,
)

LIMITS = RequestLimits(max_in_flight_tokens=16384)


def full(num_kv_heads: int = 8, head_size: int = 128, block_size: int = 16) -> FullAttentionSpec:
    """Full attention in bfloat16."""
    return FullAttentionSpec(
        block_size=block_size,
        num_kv_heads=num_kv_heads,
        head_size=head_size,
        head_size_v=head_size,
        bytes_per_kv_head=4 * head_size,
    )


def spec_strategy() -> st.SearchStrategy[KVCacheSpec]:
    """Layers of every kind whose pages can be made equal."""
    pages = st.builds(full, st.sampled_from([1, 2, 8]), st.sampled_from([64, 128]))
    return st.one_of(
        pages,
        st.builds(
            lambda pages, window: SlidingWindowSpec(pages=pages, sliding_window=window),
            pages,
            st.sampled_from([128, 4096]),
        ),
        st.builds(
            lambda pages: ChunkedLocalAttentionSpec(pages=pages, attention_chunk_size=8192), pages
        ),
        st.builds(
            lambda state_bytes: MambaSpec(block_size=16, state_bytes=state_bytes),
            st.integers(1, 10**6),
        ),
    )


def plan_strategy() -> st.SearchStrategy[KVCachePlan]:
    """Plans of one to three stages."""
    runs = st.integers(1, 3).flatmap(
        lambda stages: st.lists(
            st.builds(
                LayerSpecs,
                spec_strategy(),
                st.tuples(*[st.integers(1, 40)] * stages),
            ),
            min_size=1,
            max_size=4,
        )
    )
    return runs.map(lambda layers: plan(layers, LIMITS))


def test_the_reference_deployment_holds_what_vllm_says() -> None:
    """Llama 3.3 70B at TP 2 with 5.63 GiB: golden/vllm-0.33.jsonl, Llama-3.3-70B-Instruct."""
    whole = plan([LayerSpecs(full(num_kv_heads=4), (80,))], LIMITS)
    blocks = num_gpu_blocks(whole, [6045166469])
    assert blocks == 2306
    assert needed_bytes(whole, 131072) == 21474836480
    assert blocks / blocks_per_request(whole, 8192) == 4.50390625
    assert not holds_one_request(whole, blocks, 131072)
    assert estimated_max_model_len(whole, blocks, 131072) == 36880
    assert estimated_max_model_len(whole, blocks, 131072, blocks_held_back=0) == 36896


@given(spec_strategy(), st.integers(1, 200))
def test_a_uniform_model_is_one_group(spec: KVCacheSpec, num_layers: int) -> None:
    """However many layers, and whatever they keep."""
    (group,) = plan([LayerSpecs(spec, (num_layers,))], LIMITS).groups
    assert group.num_padding_layers == 0


@given(plan_strategy(), st.integers(0, 1 << 36), st.integers(0, 1 << 30))
def test_more_bytes_never_hold_fewer_blocks(whole: KVCachePlan, few: int, more: int) -> None:
    """On every stage."""
    stages = len(whole.bytes_per_block_by_stage)
    assert num_gpu_blocks(whole, [few] * stages) <= num_gpu_blocks(whole, [few + more] * stages)


@given(plan_strategy(), st.integers(1, 1 << 20), st.integers(0, 1 << 20))
def test_a_longer_request_never_needs_less(whole: KVCachePlan, short: int, more: int) -> None:
    """Needed bytes grow with the request or stay."""
    assert needed_bytes(whole, short) <= needed_bytes(whole, short + more)


@given(plan_strategy(), st.integers(0, 1 << 20), st.integers(1, 1 << 20))
def test_the_estimated_length_is_the_longest_that_fits(
    whole: KVCachePlan, blocks: int, limit: int
) -> None:
    """It fits, unless nothing does; one token more does not, unless the limit is reached."""
    longest = estimated_max_model_len(whole, blocks, limit)
    assert 0 <= longest <= limit
    if longest:
        assert holds_one_request(whole, blocks, longest)
    if longest < limit:
        assert not holds_one_request(whole, blocks, longest + 1)


@given(plan_strategy())
def test_every_layer_is_in_one_group_and_padding_only_adds(whole: KVCachePlan) -> None:
    """A block is at least as wide as the widest group; no group is wider than its places."""
    for stage, bytes_per_block in enumerate(whole.bytes_per_block_by_stage):
        assert bytes_per_block > 0, stage
    for group in whole.groups:
        assert group.num_padding_layers >= 0
        assert sum(run.num_layers for run in group.layers) > 0


@given(st.lists(st.integers(0, 50), min_size=1, max_size=4), st.integers(1, 12))
def test_dealing_out_loses_no_layer(layers: list[int], num_groups: int) -> None:
    """Each stage's layers are spread over the groups, within one of each other."""
    shares = [dealt_out(tuple(layers), group, num_groups) for group in range(num_groups)]
    for stage, num_layers in enumerate(layers):
        counts = [share[stage] for share in shares]
        assert sum(counts) == num_layers
        assert max(counts) - min(counts) <= 1


def test_windows_are_dealt_out_to_groups_as_large_as_the_fewest_kind() -> None:
    """Gemma 3 27B: 52 sliding and 10 full layers make six and one groups of ten places."""
    sliding = SlidingWindowSpec(pages=full(16), sliding_window=1024)
    whole = plan([LayerSpecs(sliding, (52,)), LayerSpecs(full(16), (10,))], LIMITS)
    assert [sum(run.num_layers for run in group.layers) for group in whole.groups] == [
        *[9] * 4,
        *[8] * 2,
        10,
    ]
    assert whole.bytes_per_block_by_stage == (10 * 16 * 16 * 512,)


def test_without_the_hybrid_manager_windows_cost_as_full_attention() -> None:
    """Gemma 3 27B at 131,072 tokens: 62.0 GiB instead of 17.98."""
    layers = [
        LayerSpecs(SlidingWindowSpec(pages=full(16), sliding_window=1024), (52,)),
        LayerSpecs(full(16), (10,)),
    ]
    whole = plan(layers, LIMITS, hybrid_kv_cache_manager=False)
    assert whole.promoted
    assert needed_bytes(whole, 131072) == 62 << 30
    assert round(needed_bytes(plan(layers, LIMITS), 131072) / (1 << 30), 2) == 17.98


def test_the_poorest_stage_decides() -> None:
    """Blocks are the fewest of any stage, bytes the most."""
    whole = plan([LayerSpecs(full(1), (20, 21))], LIMITS)
    page = 16 * 512
    assert whole.bytes_per_block_by_stage == (20 * page, 21 * page)
    assert num_gpu_blocks(whole, [20 * page * 100, 21 * page * 50]) == 50
    assert needed_bytes(whole, 16) == 21 * page
    assert blocks_per_request(whole, 16) == 1
