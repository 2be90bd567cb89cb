"""Pixtral's tower and the projector of Mistral 3, which folds neighbouring patches.

Source: vLLM 0.33.0, model_executor/models/pixtral.py (PixtralHFVisionModel), mistral3.py;
transformers 5.24.0, models/pixtral/configuration_pixtral.py for what a config leaves out.
"""

from collections.abc import Iterator
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.tensors import OuterTensor, Tensor, Vector
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
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "num_channels": 3,
    "patch_size": 16,
}


def mistral3_tower(
    reader: ConfigReader, vision: ConfigReader, text: ConfigReader
) -> tuple[OuterTensor, ...]:
    """The tower, and a projector whose two linears are divided."""
    tower = pixtral_tower(vision, reader)
    width = vision.integer("hidden_size")
    return (*tower, *placed(projector(reader, text.integer("hidden_size"), width)))


def pixtral_tower(vision: ConfigReader, reader: ConfigReader) -> tuple[OuterTensor, ...]:
    """The tower alone."""
    vision.completions = {**DEFAULTS, **vision.completions}
    width = vision.integer("hidden_size")
    head_dim = vision.optional_integer("head_dim")
    if head_dim is None:
        heads = vision.heads_of(width, "num_attention_heads")
        head_dim = width // heads
    else:
        heads = vision.integer("num_attention_heads")
    depth = read_depth(reader, vision)
    inputs = vision.integer("num_channels") * vision.integer("patch_size") ** 2
    first = (
        whole("vision_tower.patch_conv", width, inputs),
        norm("vision_tower.ln_pre", width, bias=False),
    )
    # Inverse frequencies twice over, half a head wide.
    frequencies = Vector(
        TOWER, "vision_tower.patch_positional_embedding", head_dim, dtype="float32"
    )
    return (
        *placed(first),
        *placed(block(vision, width, heads, head_dim), depth),
        *made_here([frequencies]),
    )


def read_depth(reader: ConfigReader, vision: ConfigReader) -> int:
    """Blocks that are built: up to the one whose output is taken, counted from the end if below 0.

    Source: vLLM 0.33.0, model_executor/models/mistral3.py (_get_num_hidden_layers).
    """
    count = vision.integer("num_hidden_layers")
    layer = reader.raw("vision_feature_layer")
    if isinstance(layer, bool) or not isinstance(layer, int):
        return count
    return min(count, max(0, count + layer + 1 if layer < 0 else layer))


def block(vision: ConfigReader, width: int, heads: int, head_dim: int) -> Iterator[Tensor]:
    """Attention and a gated network, without biases."""
    name = "vision_tower.transformer.layers.0"
    wide = vision.integer("intermediate_size")
    yield norm(f"{name}.norms", 2 * width, bias=False)
    yield by_heads(f"{name}.attention.qkv_proj", heads, head_dim, width, bias=False)
    yield inward(f"{name}.attention.o_proj", width, heads * head_dim, bias=False)
    yield outward(f"{name}.feed_forward.gate_up_proj", wide, width, bias=False, parts=2)
    yield inward(f"{name}.feed_forward.down_proj", width, wide, bias=False)


def projector(reader: ConfigReader, text_width: int, width: int) -> Iterator[Tensor]:
    """A norm, the folding of neighbours, and two linears to the text's width."""
    name = "multi_modal_projector"
    merged = width * reader.integer("spatial_merge_size", default=2) ** 2
    bias = reader.flag("multimodal_projector_bias", default=False)
    yield norm(f"{name}.norm", width, bias=False)
    yield whole(f"{name}.patch_merger.merging_layer", width, merged)
    yield outward(f"{name}.linear_1", text_width, width, bias=bias)
    yield inward(f"{name}.linear_2", text_width, text_width, bias=bias)
