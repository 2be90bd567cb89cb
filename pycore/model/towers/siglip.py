"""SigLIP's tower and the projector that Gemma 3 puts behind it.

Source: vLLM 0.33.0, model_executor/models/siglip.py and gemma3_mm.py; transformers 5.24.0,
models/siglip/configuration_siglip.py for what a config leaves out.
"""

from collections.abc import Iterator
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.tensors import OuterTensor, Tensor
from pycore.model.towers.parts import (
    by_heads,
    indices,
    inward,
    made_here,
    norm,
    outward,
    placed,
    whole,
)

DEFAULTS: Final[dict[str, object]] = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_channels": 3,
    "image_size": 224,
    "patch_size": 16,
}


def gemma3_tower(vision: ConfigReader, text: ConfigReader) -> tuple[OuterTensor, ...]:
    """The tower, and one matrix with a norm that lead to the text's width; both whole."""
    vision.completions = {**DEFAULTS, **vision.completions}
    width = vision.integer("hidden_size")
    positions = (vision.integer("image_size") // vision.integer("patch_size")) ** 2
    projector = (
        whole("multi_modal_projector.mm_input_projection", text.integer("hidden_size"), width),
        norm("multi_modal_projector.mm_soft_emb_norm", width, bias=False),
    )
    return (
        *placed(ends(vision, width, positions)),
        *placed(block(vision, width), vision.integer("num_hidden_layers")),
        *placed(projector),
        *made_here([indices("vision_tower.vision_model.embeddings.position_ids", positions)]),
    )


def ends(vision: ConfigReader, width: int, positions: int) -> Iterator[Tensor]:
    """What stands before the blocks, and the norm after them."""
    name = "vision_tower.vision_model"
    inputs = vision.integer("num_channels") * vision.integer("patch_size") ** 2
    yield whole(f"{name}.embeddings.patch_embedding", width, inputs, bias=True)
    yield whole(f"{name}.embeddings.position_embedding", positions, width)
    yield norm(f"{name}.post_layernorm", width)


def block(vision: ConfigReader, width: int) -> Iterator[Tensor]:
    """Attention of every patch to every other, and a network without a gate."""
    name = "vision_tower.vision_model.encoder.layers.0"
    heads = vision.heads_of(width, "num_attention_heads")
    wide = vision.integer("intermediate_size")
    yield norm(f"{name}.norms", 2 * width)
    yield by_heads(f"{name}.self_attn.qkv_proj", heads, width // heads, width)
    yield inward(f"{name}.self_attn.out_proj", width, width)
    yield outward(f"{name}.mlp.fc1", wide, width)
    yield inward(f"{name}.mlp.fc2", width, wide)
