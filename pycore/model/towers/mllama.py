"""The tower of Llama 3.2 Vision: tiles with positions of their own, and gated global blocks.

Source: transformers 5.24.0, models/mllama/modeling_mllama.py and configuration_mllama.py.
"""

from collections.abc import Iterator
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.tensors import OuterTensor, Tensor
from pycore.model.towers.parts import by_heads, inward, norm, outward, placed, whole

RATIOS: Final = 8
"""Shapes that tiles may be laid in, where the config does not list them."""

DEFAULTS: Final[dict[str, object]] = {
    "hidden_size": 1280,
    "num_hidden_layers": 32,
    "num_global_layers": 8,
    "attention_heads": 16,
    "num_channels": 3,
    "intermediate_size": 5120,
    "vision_output_dim": 7680,
    "image_size": 448,
    "patch_size": 14,
    "max_num_tiles": 4,
}


def mllama_tower(vision: ConfigReader, text_width: int) -> tuple[OuterTensor, ...]:
    """Every tensor of the tower and its projector."""
    vision.completions = {**DEFAULTS, **vision.completions}
    width = vision.integer("hidden_size")
    seen = vision.integer("vision_output_dim")
    blocks = tuple(block(vision, width))
    gates = norm("vision_model.global_transformer.gates", 2, bias=False)
    return (
        *placed(ends(vision, width)),
        *placed(blocks, vision.integer("num_hidden_layers")),
        *placed((*blocks, gates), vision.integer("num_global_layers")),
        *placed([whole("multi_modal_projector", text_width, seen, bias=True)]),
    )


def ends(vision: ConfigReader, width: int) -> Iterator[Tensor]:
    """Patches, and positions of patches, of tiles and of both, with a gate for each kind."""
    patch = vision.integer("patch_size")
    tokens = (vision.integer("image_size") // patch) ** 2 + 1
    tiles = vision.integer("max_num_tiles")
    shapes = 1 + len(vision.sequence("supported_aspect_ratios") or range(RATIOS))
    yield whole("vision_model.patch_embedding", width, vision.integer("num_channels") * patch**2)
    yield whole("vision_model.gated_positional_embedding.embedding", tokens, width)
    yield whole("vision_model.tile_embedding", shapes, tiles * tokens * width)
    yield whole("vision_model.tile_positional_embeddings", 2 * shapes, tiles * width)
    yield norm("vision_model.class_embedding_and_gates", width + 3, bias=False)
    yield norm("vision_model.layernorms", 2 * width)


def block(vision: ConfigReader, width: int) -> Iterator[Tensor]:
    """Attention without biases, and a network with them."""
    name = "vision_model.transformer.layers.0"
    heads, wide = vision.heads_of(width, "attention_heads"), vision.integer("intermediate_size")
    yield norm(f"{name}.norms", 2 * width)
    yield by_heads(f"{name}.self_attn.qkv_proj", heads, width // heads, width, bias=False)
    yield inward(f"{name}.self_attn.o_proj", width, width, bias=False)
    yield outward(f"{name}.mlp.fc1", wide, width)
    yield inward(f"{name}.mlp.fc2", width, wide)
