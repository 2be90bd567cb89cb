"""MiniMax-M3: attention that reads chosen blocks, experts, and a tower that reads pictures.

Source: vLLM 0.33.0, models/minimax_m3/nvidia/model.py and common/, transformers_utils/configs/
minimax_m3.py for what a config leaves out.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import (
    BlockIndexer,
    DenseMlp,
    FeedForward,
    FullAttention,
    Layer,
    MoeMlp,
)
from pycore.model.model import Model
from pycore.model.module_names import DECODER, ModuleNames
from pycore.model.readers.assembly import Source, Surroundings, assemble
from pycore.model.readers.basics import read_length
from pycore.model.readers.grouped_mixers import read_attention
from pycore.model.readers.layer_pattern import read_num_layers
from pycore.model.readers.rope import read_rope, rotary_table
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

TEXT: Final[dict[str, object]] = {
    "vocab_size": 200064,
    "hidden_size": 6144,
    "intermediate_size": 3072,
    "dense_intermediate_size": 12288,
    "num_hidden_layers": 60,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "max_position_embeddings": 524288,
    "partial_rotary_factor": 0.5,
    "num_local_experts": 128,
    "num_experts_per_tok": 4,
    "n_shared_experts": 1,
    "use_routing_bias": True,
    "tie_word_embeddings": False,
}
INSIDE: Final = ModuleNames(layers="language_model.model.layers", head="language_model.lm_head")


def read_minimax_m3(reader: ConfigReader, architecture: str, name: str) -> Model:
    """MiniMax-M3, with its tower or text alone."""
    sees = architecture.endswith("ForConditionalGeneration")
    text = text_reader(reader, at_top=not sees)
    text.completions = {**TEXT, **text.completions}
    attention = replace(read_attention(text), qk_norm="head")
    positions = read_length(text)[1]
    hidden_size = text.integer("hidden_size")
    around = Surroundings(
        # Its class hands on the part that is rotated, and not how many elements that is.
        rotary_tables=(
            rotary_table(replace(read_rope(text), width=None), attention.head_dim, positions),
        ),
        outer_tensors=tower(reader, hidden_size) if sees else (),
        names=INSIDE if sees else DECODER,
    )
    layers = read_layers(text, attention, hidden_size)
    return assemble(Source(reader, text, architecture, name), layers, around)


def read_layers(
    text: ConfigReader, attention: FullAttention, hidden_size: int
) -> tuple[Layer, ...]:
    """The layers in order; alike ones are one object."""
    count = read_num_layers(text)
    sparse = replace(attention, block_indexer=read_indexer(text))
    section = text.section("sparse_attention_config")
    chooses = [False] * count
    if section is not None and section.has("sparse_attention_freq"):
        chooses = pattern(section, "sparse_attention_freq", count)
    dense = DenseMlp(text.integer("dense_intermediate_size"))
    experts = read_experts(text)
    seen: dict[tuple[bool, bool], Layer] = {}
    keys = list(zip(chooses, pattern(text, "moe_layer_freq", count), strict=True))
    for key in keys:
        is_sparse, is_routed = key
        feed_forward: FeedForward = experts if is_routed else dense
        seen[key] = seen.get(key) or Layer(
            sparse if is_sparse else attention,
            feed_forward,
            (hidden_size,) * 2,
            feed_forward_name="block_sparse_moe" if is_routed else "mlp",
        )
    return tuple(seen[key] for key in keys)


def pattern(reader: ConfigReader, field: str, count: int) -> list[bool]:
    """A yes or no for each layer; all yes where the config does not say."""
    listed = reader.sequence(field)
    if listed is None:
        return [True] * count
    if len(listed) < count:
        raise reader.invalid(field, list(listed), f"a list of {count} numbers")
    return [bool(one) for one in listed[:count]]


def read_indexer(text: ConfigReader) -> BlockIndexer | None:
    """The heads that choose blocks."""
    section = text.section("sparse_attention_config")
    if section is None:
        return None
    return BlockIndexer(
        index_n_heads=section.integer("sparse_num_index_heads"),
        index_head_dim=section.integer("sparse_index_dim"),
    )


def read_experts(text: ConfigReader) -> MoeMlp:
    """Routed experts, and shared ones as wide as each of them."""
    width = text.integer("intermediate_size")
    return MoeMlp(
        num_experts=text.integer("num_local_experts"),
        num_experts_per_tok=text.integer("num_experts_per_tok"),
        moe_intermediate_size=width,
        shared_intermediate_size=width * text.integer("n_shared_experts", minimum=0),
        shared_name="block_sparse_moe.shared_experts",
        router_bias=text.flag("use_routing_bias", default=True),
        router_dtype="float32",
    )


def tower(reader: ConfigReader, text_width: int) -> tuple[OuterTensor, ...]:
    """A transformer over patches of two frames, a projector, and the folding of neighbours."""
    vision = reader.part("vision_config")
    width = vision.integer("hidden_size", default=1280)
    folding = vision.part("img_token_compression_config")
    frames = folding.integer("temporal_patch_size", default=2)
    patch = vision.integer("patch_size", default=14)
    inputs = vision.integer("num_channels", default=3) * frames * patch**2
    merged = text_width * folding.integer("spatial_merge_size", default=2) ** 2
    projected = reader.integer("projector_hidden_size", default=text_width)
    name = "vision_tower"
    heads = vision.integer("num_attention_heads", default=16)
    ends = (
        whole(f"{name}.vision_model.embeddings.patch_embedding", width, inputs),
        norm(f"{name}.vision_model.pre_layrnorm", width),
        outward(f"{name}.multi_modal_projector.linear_1", projected, width),
        inward(f"{name}.multi_modal_projector.linear_2", text_width, projected),
        outward(f"{name}.patch_merge_mlp.linear_1", projected, merged),
        inward(f"{name}.patch_merge_mlp.linear_2", text_width, projected),
    )
    # Inverse frequencies of time, height and width: a third of half a head each, rounded down.
    angles = Vector(TOWER, f"{name}.inv_freq", 3 * (width // heads // 2 // 3), dtype="float32")
    return (
        *placed(ends),
        *placed(block(vision, width, heads), vision.integer("num_hidden_layers", default=32)),
        *made_here([angles]),
    )


def block(vision: ConfigReader, width: int, heads: int) -> Iterator[Tensor]:
    """Attention and a network without a gate, all with biases."""
    name = "vision_tower.vision_model.encoder.layers.0"
    wide = vision.integer("intermediate_size", default=5120)
    yield norm(f"{name}.norms", 2 * width)
    yield by_heads(f"{name}.self_attn.qkv_proj", heads, width // heads, width)
    yield inward(f"{name}.self_attn.out_proj", width, width)
    yield outward(f"{name}.fc1", wide, width)
    yield inward(f"{name}.fc2", width, wide)


READERS: Final = dict.fromkeys(
    ("MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration"), read_minimax_m3
)
