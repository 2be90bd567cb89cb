"""The tower that reads images for Qwen3-VL and Qwen3.5: patches, blocks, mergers.

The engine divides its linears over the ranks like the text's, keeps the rest whole, and has it on
the first stage of a pipeline only.

Source: vLLM 0.33.0, model_executor/models/qwen3_vl.py (Qwen3_VisionTransformer), interfaces.py
(_mark_tower_model).
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

# Rows of the tower's rotary table, whatever the model's longest request.
POSITIONS: Final = 8192

# transformers 5.24.0, models/qwen3_5/configuration_qwen3_5.py, Qwen3_5VisionConfig.
DEFAULTS: Final[dict[str, object]] = {
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_heads": 16,
    "in_channels": 3,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "out_hidden_size": 3584,
    "num_position_embeddings": 2304,
}


def read_qwen3_tower(reader: ConfigReader) -> tuple[OuterTensor, ...]:
    """The tower of a whole config; what its part leaves out is remembered as the part's own."""
    vision = reader.section("vision_config") or ConfigReader({}, f"{reader.path}.vision_config")
    vision.defaulted = {}
    tower = qwen3_vision_tower(vision)
    for name, value in vision.defaulted.items():
        reader.defaulted[f"vision_config.{name}"] = value
    return tower


def qwen3_vision_tower(vision: ConfigReader) -> tuple[OuterTensor, ...]:
    """Every tensor of the tower that ``vision`` describes."""
    vision.completions = {**DEFAULTS, **vision.completions}
    width = vision.integer("hidden_size")
    merged = width * vision.integer("spatial_merge_size") ** 2
    deepstack = len(vision.sequence("deepstack_visual_indexes") or ())
    depth = vision.integer("depth")
    return (
        *placed(patch_tensors(vision, width)),
        *placed(block_tensors(vision, width), depth),
        *placed(merger_tensors(vision, width, merged)),
        *(placed(merger_tensors(vision, merged, merged), deepstack) if deepstack else ()),
        *made_here([rotary_table(vision, width)]),
    )


def rotary_table(vision: ConfigReader, width: int) -> Vector:
    """Half of each head is rotated."""
    share = width // vision.heads_of(width, "num_heads") // 2
    return Vector(TOWER, "visual.rotary_pos_emb", POSITIONS * share)


def patch_tensors(vision: ConfigReader, width: int) -> Iterator[Tensor]:
    """The convolution that makes vectors of patches, and the embedding of their positions."""
    patch = vision.integer("patch_size")
    inputs = vision.integer("in_channels") * vision.integer("temporal_patch_size") * patch**2
    yield whole("visual.patch_embed.proj", width, inputs, bias=True)
    yield whole("visual.pos_embed", vision.integer("num_position_embeddings"), width)


def block_tensors(vision: ConfigReader, width: int) -> Iterator[Tensor]:
    """One block: attention of all heads to all, and a network without a gate, all with biases."""
    wide = vision.integer("intermediate_size")
    heads = vision.heads_of(width, "num_heads")
    yield norm("visual.blocks.norms", 2 * width)
    yield by_heads("visual.blocks.0.attn.qkv", heads, width // heads, width)
    yield inward("visual.blocks.0.attn.proj", width, width)
    yield outward("visual.blocks.0.mlp.linear_fc1", wide, width)
    yield inward("visual.blocks.0.mlp.linear_fc2", width, wide)


def merger_tensors(vision: ConfigReader, normed: int, merged: int) -> Iterator[Tensor]:
    """What folds neighbouring patches into one vector of the text's width."""
    yield norm("visual.merger.norm", normed)
    yield outward("visual.merger.linear_fc1", merged, merged)
    yield inward("visual.merger.linear_fc2", vision.integer("out_hidden_size"), merged)
