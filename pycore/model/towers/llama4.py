"""Llama 4's tower, its adapter and projector.

A config without a vision_config still makes a tower: the one that transformers assumes.

Source: vLLM 0.33.0, model_executor/models/mllama4.py; transformers 5.24.0,
models/llama4/configuration_llama4.py for what a config leaves out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.tensors import Linear, OuterTensor, Tensor, Vector
from pycore.model.towers.parts import (
    TOWER,
    by_heads,
    inward,
    made_here,
    norm,
    outward,
    placed,
    whole,
)

DEFAULTS: Final[dict[str, object]] = {
    "hidden_size": 768,
    "num_hidden_layers": 34,
    "num_attention_heads": 16,
    "num_channels": 3,
    "intermediate_size": 5632,
    "vision_output_dim": 7680,
    "image_size": 448,
    "patch_size": 14,
    "projector_input_dim": 4096,
    "projector_output_dim": 4096,
}


def llama4_tower(vision: ConfigReader, text: ConfigReader) -> tuple[OuterTensor, ...]:
    """Every tensor of the tower."""
    vision.completions = {**DEFAULTS, **vision.completions}
    width = vision.integer("hidden_size")
    heads = vision.heads_of(width, "num_attention_heads")
    tokens = (vision.integer("image_size") // vision.integer("patch_size")) ** 2 + 1
    # One complex number of 8 bytes for each token and two elements of half a head.
    table = Vector(
        TOWER, "vision_model.rotary_emb", tokens * (width // heads // 2) * 2, dtype="float32"
    )
    return (
        *placed(kept(ends(vision, width, tokens))),
        *placed(kept(block(vision, width, heads)), vision.integer("num_hidden_layers")),
        *placed(kept(projectors(vision, text))),
        *made_here([table]),
    )


def kept(tensors: Iterable[Tensor]) -> Iterator[Tensor]:
    """Tensors that no checkpoint quantises: the engine makes them without asking."""
    for tensor in tensors:
        yield replace(tensor, quantizable=False) if isinstance(tensor, Linear) else tensor


def ends(vision: ConfigReader, width: int, tokens: int) -> Iterator[Tensor]:
    """The patches' linear, which is divided, and what is whole around the blocks."""
    name = "vision_model"
    inputs = vision.integer("num_channels") * vision.integer("patch_size") ** 2
    yield outward(f"{name}.patch_embedding.linear", width, inputs, bias=False)
    yield whole(f"{name}.positional_embedding_vlm", tokens, width)
    yield norm(f"{name}.class_embedding", width, bias=False)
    yield norm(f"{name}.layernorms", 2 * width)


def block(vision: ConfigReader, width: int, heads: int) -> Iterator[Tensor]:
    """Attention and a network without a gate, all with biases."""
    name = "vision_model.model.layers.0"
    wide = vision.integer("intermediate_size")
    yield norm(f"{name}.norms", 2 * width)
    yield by_heads(f"{name}.self_attn.qkv_proj", heads, width // heads, width)
    yield inward(f"{name}.self_attn.o_proj", width, width)
    yield outward(f"{name}.mlp.fc1", wide, width)
    yield inward(f"{name}.mlp.fc2", width, wide)


def projectors(vision: ConfigReader, text: ConfigReader) -> Iterator[Tensor]:
    """The adapter that takes four shuffled patches for one, and the step to the text's width."""
    adapter = "vision_model.vision_adapter.mlp"
    wide, out = vision.integer("intermediate_size"), vision.integer("projector_output_dim")
    inputs = vision.integer("projector_input_dim")
    yield outward(f"{adapter}.fc1", inputs, wide, bias=False)
    yield inward(f"{adapter}.fc2", out, inputs, bias=False)
    seen = vision.integer("vision_output_dim")
    yield outward("multi_modal_projector.linear_1", text.integer("hidden_size"), seen, bias=False)
