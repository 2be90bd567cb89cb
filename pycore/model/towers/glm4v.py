"""GLM-4.1V's tower: two patches a side folded by a convolution, then by a merger with a gate.

Source: vLLM 0.33.0, model_executor/models/glm4_1v.py; transformers 5.24.0,
models/glm4v/configuration_glm4v.py for what a config leaves out.
"""

from collections.abc import Iterator
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.tensors import OuterTensor, Tensor, Vector
from pycore.model.towers.parts import (
    TOWER,
    by_heads,
    indices,
    inward,
    made_here,
    norm,
    outward,
    placed,
    whole,
)

POSITIONS: Final = 8192

DEFAULTS: Final[dict[str, object]] = {
    "depth": 24,
    "hidden_size": 1536,
    "num_heads": 12,
    "in_channels": 3,
    "image_size": 336,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "out_hidden_size": 4096,
    "intermediate_size": 13696,
}


def glm4v_tower(vision: ConfigReader) -> tuple[OuterTensor, ...]:
    """Every tensor of the tower."""
    vision.completions = {**DEFAULTS, **vision.completions}
    width = vision.integer("hidden_size")
    heads = vision.heads_of(width, "num_heads")
    positions = (vision.integer("image_size") // vision.integer("patch_size")) ** 2
    # Half of each head is rotated.
    table = Vector(TOWER, "visual.rotary_pos_emb", POSITIONS * (width // heads // 2))
    return (
        *placed(ends(vision, width, positions)),
        *placed(block(vision, width, heads), vision.integer("depth")),
        *placed(merger(vision)),
        *made_here([table, indices("visual.embeddings.position_ids", positions)]),
    )


def ends(vision: ConfigReader, width: int, positions: int) -> Iterator[Tensor]:
    """Patches, their positions, the norms around the blocks, and the convolution behind."""
    patch, merge = vision.integer("patch_size"), vision.integer("spatial_merge_size")
    inputs = vision.integer("in_channels") * vision.integer("temporal_patch_size") * patch**2
    yield whole("visual.patch_embed.proj", width, inputs, bias=True)
    yield whole("visual.embeddings.position_embedding", positions, width)
    yield norm("visual.norms", 2 * width, bias=False)
    out = vision.integer("out_hidden_size")
    yield whole("visual.downsample", out, width * merge**2, bias=True)


def block(vision: ConfigReader, width: int, heads: int) -> Iterator[Tensor]:
    """Attention and a gated network as wide as the tower's output."""
    name = "visual.blocks.0"
    wide = vision.integer("out_hidden_size")
    yield norm(f"{name}.norms", 2 * width, bias=False)
    yield by_heads(f"{name}.attn.qkv", heads, width // heads, width, bias=False)
    yield inward(f"{name}.attn.proj", width, width, bias=False)
    yield outward(f"{name}.mlp.gate_up_proj", wide, width, bias=False, parts=2)
    yield inward(f"{name}.mlp.down_proj", width, wide, bias=False)


def merger(vision: ConfigReader) -> Iterator[Tensor]:
    """A projection with a norm, and a gated network."""
    out, wide = vision.integer("out_hidden_size"), vision.integer("intermediate_size")
    yield outward("visual.merger.proj", out, out, bias=False)
    yield norm("visual.merger.post_projection_norm", out)
    yield outward("visual.merger.gate_up_proj", wide, out, bias=False, parts=2)
    yield inward("visual.merger.down_proj", out, wide, bias=False)
