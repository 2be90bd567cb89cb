"""The towers of Qwen2-VL and Qwen2.5-VL: patches, blocks, and a merger of four patches into one.

Source: vLLM 0.33.0, model_executor/models/qwen2_vl.py and qwen2_5_vl.py; transformers 5.24.0,
models/qwen2_vl and qwen2_5_vl/configuration_*.py for what a config leaves out.
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

# Rows of a tower's rotary table, whatever the model's longest request.
POSITIONS: Final = 8192

SECOND: Final[dict[str, object]] = {
    "depth": 32,
    "embed_dim": 1280,
    "hidden_size": 3584,
    "num_heads": 16,
    "in_channels": 3,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}
FIFTH: Final[dict[str, object]] = {
    "depth": 32,
    "hidden_size": 3584,
    "intermediate_size": 3420,
    "num_heads": 16,
    "in_channels": 3,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "out_hidden_size": 3584,
}


def qwen2_tower(vision: ConfigReader) -> tuple[OuterTensor, ...]:
    """Qwen2-VL's: layer norms with biases and a network without a gate."""
    vision.completions = {**SECOND, **vision.completions}
    width = vision.integer("embed_dim")
    wide = int(width * vision.number("mlp_ratio", default=4.0))
    name = "visual.blocks.0"
    block = (
        norm(f"{name}.norms", 2 * width),
        *attention(vision, name, width),
        outward(f"{name}.mlp.fc1", wide, width),
        inward(f"{name}.mlp.fc2", width, wide),
    )
    return around(vision, width, block, norm("visual.merger.ln_q", width), "hidden_size")


def qwen2_5_tower(vision: ConfigReader) -> tuple[OuterTensor, ...]:
    """Qwen2.5-VL's: norms without biases and a gated network."""
    vision.completions = {**FIFTH, **vision.completions}
    width = vision.integer("hidden_size")
    wide = vision.integer("intermediate_size")
    name = "visual.blocks.0"
    block = (
        norm(f"{name}.norms", 2 * width, bias=False),
        *attention(vision, name, width),
        outward(f"{name}.mlp.gate_up_proj", wide, width, parts=2),
        inward(f"{name}.mlp.down_proj", width, wide),
    )
    merger_norm = norm("visual.merger.ln_q", width, bias=False)
    return around(vision, width, block, merger_norm, "out_hidden_size")


def attention(vision: ConfigReader, name: str, width: int) -> Iterator[Tensor]:
    """Attention with biases."""
    heads = vision.heads_of(width, "num_heads")
    yield by_heads(f"{name}.attn.qkv", heads, width // heads, width)
    yield inward(f"{name}.attn.proj", width, width)


def around(
    vision: ConfigReader, width: int, block: tuple[Tensor, ...], merger_norm: Tensor, out: str
) -> tuple[OuterTensor, ...]:
    """The blocks, with the patches before and the merger behind them."""
    patch = vision.integer("patch_size")
    channels = vision.integer("in_channels", "in_chans")
    inputs = channels * vision.integer("temporal_patch_size") * patch**2
    merged = width * vision.integer("spatial_merge_size") ** 2
    ends = (
        whole("visual.patch_embed.proj", width, inputs),
        merger_norm,
        outward("visual.merger.mlp.0", merged, merged),
        inward("visual.merger.mlp.2", vision.integer(out), merged),
    )
    rotated = width // vision.heads_of(width, "num_heads") // 2
    return (
        *placed(ends),
        *placed(block, vision.integer("depth")),
        *made_here([Vector(TOWER, "visual.rotary_pos_emb", POSITIONS * rotated)]),
    )
