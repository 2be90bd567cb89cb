"""Plain towers (CLIP, SigLIP, InternViT): patches, blocks of one kind, and what leads to the text.

Source: vLLM 0.33.0, model_executor/models/clip.py, siglip.py, idefics2_vision_model.py,
intern_vit.py; transformers 5.24.0 for what configs leave out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.tensors import Linear, OuterTensor, Rows, Split, Tensor, Vector
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

# A SigLIP tower, by transformers 5.24.0, models/siglip/configuration_siglip.py.
DEFAULTS: Final[dict[str, object]] = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_channels": 3,
    "image_size": 224,
    "patch_size": 16,
}
CLIP_DEFAULTS: Final[dict[str, object]] = {**DEFAULTS, "patch_size": 32}
INTERN_DEFAULTS: Final[dict[str, object]] = {
    **DEFAULTS,
    "hidden_size": 3200,
    "intermediate_size": 12800,
    "num_hidden_layers": 48,
    "num_attention_heads": 25,
    "patch_size": 14,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """What one kind of plain tower has beside its blocks."""

    defaults: dict[str, object]
    class_token: bool = False
    """A learnt vector before the patches, and a position for it."""
    patch_bias: bool = True
    first_norm: bool = False
    counts_positions: bool = True
    """Keeps the positions' numbers as a buffer."""


CLIP: Final = Plain(defaults=CLIP_DEFAULTS, class_token=True, patch_bias=False, first_norm=True)
SIGLIP: Final = Plain(defaults=DEFAULTS)
IDEFICS: Final = Plain(defaults=DEFAULTS, counts_positions=False)


def plain_tower(
    kind: Plain, vision: ConfigReader, depth: int | None = None, *, last_norm: bool = True
) -> tuple[OuterTensor, ...]:
    """A tower of the first ``depth`` blocks; all of them where it is None."""
    vision.completions = {**kind.defaults, **vision.completions}
    width = vision.integer("hidden_size")
    name = "vision_tower.vision_model"
    positions = (vision.integer("image_size") // vision.integer("patch_size")) ** 2
    positions += kind.class_token
    inputs = vision.integer("num_channels") * vision.integer("patch_size") ** 2
    ends: list[Tensor] = [
        whole(f"{name}.embeddings.patch_embedding", width, inputs, bias=kind.patch_bias),
        whole(f"{name}.embeddings.position_embedding", positions, width),
    ]
    if kind.class_token:
        ends.append(norm(f"{name}.embeddings.class_embedding", width, bias=False))
    if kind.first_norm:
        ends.append(norm(f"{name}.pre_layrnorm", width))
    if last_norm:
        ends.append(norm(f"{name}.post_layernorm", width))
    buffers = [indices(f"{name}.embeddings.position_ids", positions)]
    count = vision.integer("num_hidden_layers") if depth is None else depth
    return (
        *placed(ends),
        *placed(block(vision, width), count),
        *(made_here(buffers) if kind.counts_positions else ()),
    )


def block(vision: ConfigReader, width: int) -> Iterator[Tensor]:
    """Attention of every patch to every other, and a network without a gate; biases everywhere."""
    name = "vision_tower.vision_model.encoder.layers.0"
    heads = vision.heads_of(width, "num_attention_heads")
    wide = vision.integer("intermediate_size")
    yield norm(f"{name}.norms", 2 * width)
    yield by_heads(f"{name}.self_attn.qkv_proj", heads, width // heads, width)
    yield inward(f"{name}.self_attn.out_proj", width, width)
    yield outward(f"{name}.mlp.fc1", wide, width)
    yield inward(f"{name}.mlp.fc2", width, wide)


def intern_tower(vision: ConfigReader, depth: int) -> tuple[OuterTensor, ...]:
    """InternViT: scales behind each half of a block, and heads whole where ranks do not divide."""
    vision.completions = {**INTERN_DEFAULTS, **vision.completions}
    width = vision.integer("hidden_size")
    positions = (vision.integer("image_size") // vision.integer("patch_size")) ** 2 + 1
    inputs = 3 * vision.integer("patch_size") ** 2
    ends = (
        whole("vision_model.embeddings.patch_embedding", width, inputs, bias=True),
        whole("vision_model.embeddings.position_embedding", positions, width),
        norm("vision_model.embeddings.class_embedding", width, bias=False),
    )
    return (*placed(ends), *placed(intern_block(vision, width), depth))


def intern_block(vision: ConfigReader, width: int) -> Iterator[Tensor]:
    """One block of InternViT."""
    name = "vision_model.encoder.layers.0"
    heads = vision.heads_of(width, "num_attention_heads")
    wide = vision.integer("intermediate_size")
    is_rms = vision.text("norm_type") == "rms_norm"
    qkv = (Rows(width),) * 3
    bias = vision.flag("qkv_bias", default=False)
    kept = (Rows(width, Split.REPLICATED),)
    yield norm(f"{name}.norms", 2 * width, bias=not is_rms)
    yield Vector(TOWER, f"{name}.ls", 2 * width)
    yield Linear(TOWER, f"{name}.attn.qkv", qkv, width, bias=bias, split_heads=heads)
    yield Linear(
        TOWER,
        f"{name}.attn.proj",
        kept,
        width,
        columns_split=True,
        bias=True,
        bias_split=False,
        split_heads=heads,
    )
    if vision.flag("qk_normalization", default=True):
        yield norm(f"{name}.attn.qk_norm", 2 * width, bias=False)
    yield outward(f"{name}.mlp.fc1", wide, width)
    yield inward(f"{name}.mlp.fc2", width, wide)
