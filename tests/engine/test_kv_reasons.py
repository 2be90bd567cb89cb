"""Why the groups are as they are, in words."""

from pycore.engine.kv.groups import plan
from pycore.engine.kv.layers import LayerSpecs
from pycore.engine.kv.reasons import reasons
from pycore.engine.kv.specs import (
    FullAttentionSpec,
    MambaSpec,
    MLAAttentionSpec,
    RequestLimits,
    SlidingWindowSpec,
)

LIMITS = RequestLimits(max_in_flight_tokens=16384)
FULL = FullAttentionSpec(
    block_size=16, num_kv_heads=8, head_size=128, head_size_v=128, bytes_per_kv_head=512
)
WINDOW = SlidingWindowSpec(pages=FULL, sliding_window=1024)


def said(*layers: LayerSpecs, hybrid: bool = True) -> str:
    """All reasons in one text."""
    return " ".join(reasons(plan(layers, LIMITS, hybrid_kv_cache_manager=hybrid)))


def test_alike_layers_need_one_sentence() -> None:
    """Llama: nothing to explain but the one table."""
    assert said(LayerSpecs(FULL, (80,))) == (
        "80 layers with full attention (8 KV heads of 128): all alike, so they share one block "
        "table."
    )


def test_empty_places_are_counted() -> None:
    """Gemma 3 27B: seven groups of ten places for 62 layers."""
    text = said(LayerSpecs(WINDOW, (52,)), LayerSpecs(FULL, (10,)))
    assert "7 groups of 10 places" in text
    assert "8 places (11 %) stay empty" in text
    assert "holds up to 17,407" in text


def test_a_state_says_its_copies_and_its_padding() -> None:
    """Three blocks with prefix caching; padded to the attention's page."""
    state = MambaSpec(
        block_size=16,
        state_bytes=40000,
        num_prefill_checkpoint_blocks=1,
        page_size_padded=16 * 8 * 512,
    )
    text = said(LayerSpecs(state, (30,)), LayerSpecs(FULL, (10,)))
    assert "40,000 bytes a layer, padded by 64 %" in text
    assert "3 blocks" in text


def test_latent_vectors_and_their_indexers_share_a_block_table() -> None:
    """A block is the sum of their pages."""
    latent = MLAAttentionSpec(block_size=64, bytes_per_state=1152)
    indexer = MLAAttentionSpec(block_size=64, bytes_per_state=132, role="indexer")
    text = said(LayerSpecs(latent, (61,)), LayerSpecs(indexer, (61,)))
    assert "pages of different width" in text


def test_windows_kept_whole_are_named() -> None:
    """With the hybrid manager off."""
    text = said(LayerSpecs(WINDOW, (52,)), LayerSpecs(FULL, (10,)), hybrid=False)
    assert text.startswith("Windows are kept as if they were full attention")


def test_a_model_without_memory_says_so() -> None:
    """No layer keeps anything."""
    assert said() == "The model keeps nothing between tokens."
