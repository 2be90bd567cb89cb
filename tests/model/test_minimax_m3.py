"""MiniMax-M3: a small key beside the keys and values of layers that read chosen blocks.

The figures are what vLLM 0.33.0's own class and planning functions make of these numbers.
"""

import json
from typing import Any

from pycore.bridge import answer
from pycore.engine.shards import Ranks
from pycore.model.hf_config import read_model
from pycore.model.layers import BlockIndexer, DenseMlp, FullAttention, MoeMlp
from pycore.sizing.weights import stage_weights

CHOOSES = [0] * 3 + [1] * 57
MINIMAX_M3: dict[str, Any] = {
    "architectures": ["MiniMaxM3SparseForCausalLM"],
    "model_type": "minimax_m3_text",
    "torch_dtype": "bfloat16",
    "hidden_size": 6144,
    "intermediate_size": 3072,
    "dense_intermediate_size": 12288,
    "num_hidden_layers": 60,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "vocab_size": 200064,
    "max_position_embeddings": 1048576,
    "partial_rotary_factor": 0.5,
    "num_local_experts": 128,
    "num_experts_per_tok": 4,
    "n_shared_experts": 1,
    "moe_layer_freq": CHOOSES,
    "sparse_attention_config": {
        "sparse_num_index_heads": 4,
        "sparse_index_dim": 128,
        "sparse_attention_freq": CHOOSES,
    },
}


def test_the_first_layers_are_dense_and_read_everything() -> None:
    """Three of sixty."""
    model = read_model(MINIMAX_M3)
    first, last = model.layers[0], model.layers[-1]
    assert isinstance(first.mixer, FullAttention)
    assert isinstance(last.mixer, FullAttention)
    assert (first.mixer.block_indexer, last.mixer.block_indexer) == (None, BlockIndexer(4, 128))
    assert isinstance(first.feed_forward, DenseMlp)
    assert isinstance(last.feed_forward, MoeMlp)


def test_reading_few_blocks_does_not_mean_keeping_few() -> None:
    """All tokens in 60 layers, and a 128-wide key in 57; blocks of 128 tokens."""
    request = {
        "config": MINIMAX_M3,
        "accelerator": "h100-sxm-80gb",
        "tensor_parallel_size": 1,
        "max_num_batched_tokens": 2048,
        "measured": {"available_kv_cache_bytes": 200 * 2**30},
    }
    result = json.loads(answer(json.dumps(request)))["result"]
    assert result["block_size"] == 128
    assert result["kv_cache_bytes_per_block"] == 128 * (60 * 4 * 256 * 2 + 57 * 128 * 2)
    assert result["needed_kv_cache_bytes"] == 144_149_839_872


def test_the_indexers_key_is_whole_on_every_rank_and_its_queries_go_by_heads() -> None:
    """Eight ranks hold one of four index heads each, and the key."""
    parts = [
        stage_weights(
            read_model(MINIMAX_M3),
            Ranks(size, 1, 1, enable_expert_parallel=False),
            "bfloat16",
            None,
        )[0].bytes_by_component["attention"]
        for size in (1, 8)
    ]
    rows = 8192 + 2 * 512, 1024 + 2 * 128
    index_rows = 4 * 128 + 128, 128 + 128
    norms = 60 * 256 + 57 * 256
    expected = [
        2 * (6144 * (60 * (own + columns) + 57 * index) + norms)
        for own, columns, index in zip(rows, (8192, 1024), index_rows, strict=True)
    ]
    assert parts == expected
