"""MiniCPM3: small in its weights, but not in its cache."""

import json
from typing import Any

from pycore.bridge import answer
from pycore.model.catalogue import model_from_catalogue
from pycore.model.layers import FullAttention
from pycore.model.model import num_parameters
from pycore.units import GIB

# Embedding, tied; then of each of 62 layers: attention in two steps, network, two norms.
EMBEDDING = 73_448 * 2_560
DOWN = 2_560 * (768 + 256 + 32) + 768 + 256
UP = 768 * 40 * 96 + 256 * 40 * 128 + 40 * 64 * 2_560
LAYER = DOWN + UP + 3 * 2_560 * 6_400 + 2 * 2_560


def test_weights_are_those_of_latent_attention() -> None:
    """4.07 billion, counted by hand from the published numbers."""
    model = model_from_catalogue("minicpm3-4b", "")
    assert num_parameters(model) == EMBEDDING + 62 * LAYER + 2_560


def test_the_cache_holds_every_head_unfolded() -> None:
    """40 keys and 40 values of 96, not one vector of 288: 27 times as much, divided by TP.

    Source: vLLM 0.33.0, model_executor/models/minicpm3.py.
    """
    model = model_from_catalogue("minicpm3-4b", "")
    attention = model.layers[0].mixer
    assert isinstance(attention, FullAttention)
    assert (attention.num_key_value_heads, attention.head_dim, attention.v_head_dim) == (40, 96, 96)
    for size in (1, 2):
        request: dict[str, Any] = {
            "model": "minicpm3-4b",
            "accelerator": "h100-sxm-80gb",
            "tensor_parallel_size": size,
            "measured": {"available_kv_cache_bytes": 40 * GIB},
        }
        result = json.loads(answer(json.dumps(request)))["result"]
        per_token = 62 * 40 * 2 * 96 * 2
        assert result["kv_cache_bytes_per_token_per_rank"] == per_token // size


def test_longrope_keeps_a_table_for_short_and_one_for_long_requests() -> None:
    """Both of 32,768 positions here, since the model was not lengthened."""
    (table,) = model_from_catalogue("minicpm3-4b", "").rotary_tables
    assert (table.positions, table.width) == (2 * 32_768, 32)
