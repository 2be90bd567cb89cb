"""Mistral Small 4: a config that says no more of its text than its type."""

import json
from typing import Any

from pycore.model.catalogue import model_from_catalogue, model_from_text
from pycore.model.latent import LatentAttention
from pycore.model.layers import SlidingWindowAttention
from pycore.model.model import num_parameters

SMALL_4: dict[str, Any] = {
    "architectures": ["Mistral3ForConditionalGeneration"],
    "model_type": "mistral3",
    "spatial_merge_size": 2,
    "multimodal_projector_bias": False,
    "tie_word_embeddings": False,
    "text_config": {"model_type": "mistral4"},
    "vision_config": {
        "hidden_size": 1024,
        "image_size": 1540,
        "intermediate_size": 4096,
        "model_type": "pixtral",
        "num_attention_heads": 16,
        "num_channels": 3,
        "num_hidden_layers": 24,
        "patch_size": 14,
        "head_dim": 64,
    },
    "vision_feature_layer": -1,
}


def test_the_whole_text_is_completed_as_transformers_would_and_the_answer_says_so() -> None:
    """119,401,298,944 parameters, tower included: transformers 5.24.0 on the meta device."""
    model = model_from_text(json.dumps(SMALL_4), "")
    assert num_parameters(model) == 119_401_298_944
    assert {"hidden_size", "num_hidden_layers", "kv_lora_rank"} <= set(model.defaulted)
    assert all(isinstance(layer.mixer, LatentAttention) for layer in model.layers)


def test_the_generation_before_keeps_its_own_attention() -> None:
    """Mistral Small 3.1 has the same class and grouped heads."""
    model = model_from_catalogue("mistral-small-3.1-24b-instruct-2503", "")
    mixer = model.layers[0].mixer
    assert not isinstance(mixer, LatentAttention | SlidingWindowAttention)
