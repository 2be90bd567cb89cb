"""Kimi's vision tower (MoonViT with time) and its projector, kept as they are by every checkpoint.

Source: vLLM 0.33.0, model_executor/models/kimi_k25_vit.py, transformers_utils/configs/kimi_k3.py;
transformers 5.24.0, models/kimi_k25/configuration_kimi_k25.py for what configs leave out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.tensors import Linear, OuterTensor, Place, Rows, Split, Tensor, Vector

CHANNELS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MoonVit:
    """The numbers of a tower and its projector; ``is_second`` are those of Kimi-K3."""

    num_layers: int
    hidden_size: int
    num_heads: int
    qkv_width: int
    mlp_width: int
    patch_size: int
    grid: tuple[int, int, int]
    """Positions that are learnt: height, width, and time, which is computed."""
    merged_width: int
    text_width: int
    has_bias: bool
    is_second: bool


def read_moonvit(
    vision: ConfigReader, text_width: int, *, is_second: bool, sees_videos: bool = True
) -> MoonVit:
    """The tower of a ``vision_config``; Kimi-VL's own knows no time."""
    hidden_size = vision.integer(
        "vt_hidden_size", "hidden_size", default=1024 if is_second else 1152
    )
    merge = vision.sequence("merge_kernel_size") or (2, 2)
    height, width = (vision.checked_integer("merge_kernel_size", side) for side in merge[:2])
    return MoonVit(
        num_layers=vision.integer("vt_num_hidden_layers", "num_hidden_layers", default=27),
        hidden_size=hidden_size,
        num_heads=vision.integer(
            "vt_num_attention_heads", "num_attention_heads", default=12 if is_second else 16
        ),
        qkv_width=vision.integer("qkv_hidden_size", default=1536) if is_second else hidden_size,
        mlp_width=vision.integer(
            "vt_intermediate_size", "intermediate_size", default=4096 if is_second else 4304
        ),
        patch_size=vision.integer("patch_size", default=14),
        grid=(
            vision.integer("init_pos_emb_height", "pos_emb_height", default=64),
            vision.integer("init_pos_emb_width", "pos_emb_width", default=64),
            vision.integer("init_pos_emb_time", "pos_emb_time", default=4) if sees_videos else 0,
        ),
        merged_width=hidden_size * height * width,
        text_width=text_width,
        has_bias=not is_second,
        is_second=is_second,
    )


def moonvit_tensors(tower: MoonVit) -> Iterator[OuterTensor]:
    """Every tensor of the tower and its projector, and the table of times that is computed.

    All are on the first stage of a pipeline.
    Source: vLLM 0.33.0, models/interfaces.py, _mark_tower_model.
    """
    place = Place.FIRST
    norm = tower.hidden_size * (1 if tower.is_second else 2)
    height, width, times = tower.grid
    patch = CHANNELS * tower.patch_size**2 * tower.hidden_size
    bias = tower.hidden_size if tower.has_bias else 0
    learnt = height * width * tower.hidden_size
    for tensor in (
        Vector("tower", "vision_tower.patch_embed.proj", patch + bias),
        Vector("tower", "vision_tower.patch_embed.pos_emb", learnt),
        Vector("tower", "vision_tower.encoder.final_layernorm", norm),
        *projector_tensors(tower),
    ):
        yield OuterTensor(tensor, place=place)
    for tensor in block_tensors(tower, norm):
        yield OuterTensor(tensor, tower.num_layers, place)
    time_table = Vector(
        "buffers",
        "vision_tower.patch_embed.pos_emb.time_weight",
        times * tower.hidden_size,
        dtype="float32" if tower.is_second else None,
    )
    if times:
        yield OuterTensor(time_table, place=place, in_checkpoint=False)


def block_tensors(tower: MoonVit, norm: int) -> Iterator[Tensor]:
    """One block of the tower: divided over ranks where its heads can be."""
    name, bias = "vision_tower.encoder.blocks.0", tower.has_bias
    for own, rows, columns in (
        ("wqkv", (Rows(tower.qkv_width),) * 3, tower.hidden_size),
        ("mlp.fc0", (Rows(tower.mlp_width),), tower.hidden_size),
    ):
        yield Linear(
            "tower",
            f"{name}.{own}",
            rows,
            columns,
            bias=bias,
            quantizable=False,
            split_heads=tower.num_heads,
        )
    for own, columns in (("wo", tower.qkv_width), ("mlp.fc1", tower.mlp_width)):
        yield Linear(
            "tower",
            f"{name}.{own}",
            (Rows(tower.hidden_size, Split.REPLICATED),),
            columns,
            columns_split=True,
            bias=bias,
            quantizable=False,
            split_heads=tower.num_heads,
        )
    yield Vector("tower", f"{name}.norms", 2 * norm)


def projector_tensors(tower: MoonVit) -> Iterator[Tensor]:
    """From merged patches to the text's width: whole on every rank."""
    for own, rows in (("linear_1", tower.merged_width), ("linear_2", tower.text_width)):
        yield Linear(
            "tower",
            f"mm_projector.{own}",
            (Rows(rows, Split.REPLICATED),),
            tower.merged_width,
            bias=tower.has_bias,
            quantizable=False,
        )
    norm = tower.text_width if tower.is_second else 2 * tower.hidden_size
    yield Vector("tower", "mm_projector.norm", norm)
