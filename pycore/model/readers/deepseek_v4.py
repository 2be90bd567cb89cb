"""DeepSeek-V4: compressed attention, experts in every layer, and four residual streams.

Source: vLLM 0.33.0, models/deepseek_v4/nvidia/model.py and common/rope.py; transformers 5.24.0,
models/deepseek_v4/configuration_deepseek_v4.py for what configs leave out.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from pycore.errors import UnsupportedModel
from pycore.model.completions import by_model_type
from pycore.model.config_fields import ConfigReader
from pycore.model.latent import CompressedAttention
from pycore.model.layers import AnyMixer, Layer, MoeMlp
from pycore.model.model import Model
from pycore.model.readers.assembly import Source
from pycore.model.readers.latent_mixers import read_deepseek_v4 as read_mixers
from pycore.model.readers.latent_models import (
    LONGER_THAN_ANY,
    Parts,
    assemble_latent,
    corrects_router,
)
from pycore.model.readers.layer_pattern import read_kinds
from pycore.model.rotary import RotaryTable
from pycore.model.tensors import OuterTensor, Tensor, Vector

DEFAULT_HASH_LAYERS: Final = 3
SCALE_BLOCK: Final = 128
"""Rows and columns that share a scale: a rank holds whole blocks of the shared expert."""


def read_deepseek_v4(reader: ConfigReader, architecture: str, name: str) -> Model:
    """A model of DeepSeek-V4's kind."""
    if reader.has("vision_n_layers") and reader.integer("vision_n_layers", minimum=0):
        raise UnsupportedModel(
            "config.vision_n_layers",
            "unsupported_architecture",
            f"{architecture} with a vision tower cannot be sized yet",
        )
    reader.completions = by_model_type()["deepseek_v4"]
    mixers = read_mixers(reader)
    parts = Parts(
        layers=read_layers(reader, mixers),
        num_attention_heads=reader.integer("num_attention_heads"),
        rotary_tables=read_rotary_tables(reader, mixers),
    )
    outer = tuple(OuterTensor(tensor) for tensor in stream_head(*read_streams(reader)))
    return assemble_latent(Source(reader, reader, architecture, name), parts, outer=outer)


def read_streams(reader: ConfigReader) -> tuple[int, int]:
    """How many residual streams there are, and their width all together."""
    streams = reader.integer("hc_mult")
    return streams, streams * reader.integer("hidden_size")


def read_layers(reader: ConfigReader, mixers: tuple[AnyMixer, ...]) -> tuple[Layer, ...]:
    """The layers in order; the first few choose experts by a table of the vocabulary."""
    made: dict[tuple[int, bool], Layer] = {}
    layers = []
    for mixer, is_hashed in zip(mixers, read_hashed(reader, len(mixers)), strict=True):
        key = (id(mixer), is_hashed)
        if key not in made:
            made[key] = read_layer(reader, mixer, is_hashed=is_hashed)
        layers.append(made[key])
    return tuple(layers)


def read_hashed(reader: ConfigReader, count: int) -> tuple[bool, ...]:
    """Which layers choose experts by a table: those that the config lists, or the first three."""
    if reader.has("mlp_layer_types"):
        kinds = read_kinds(reader, count, None, "mlp_layer_types")
        hashed = kinds.count("hash_moe")
    else:
        hashed = reader.integer("num_hash_layers", default=DEFAULT_HASH_LAYERS, minimum=0)
    return tuple(index < hashed for index in range(count))


def read_layer(reader: ConfigReader, mixer: AnyMixer, *, is_hashed: bool) -> Layer:
    """One layer."""
    hidden_size = reader.integer("hidden_size")
    moe = read_experts(reader, is_hashed=is_hashed)
    extra: list[Tensor] = list(stream_mixing("hc_attn", *read_streams(reader)))
    extra += stream_mixing("hc_ffn", *read_streams(reader))
    if is_hashed:
        entries = reader.integer("vocab_size") * moe.num_experts_per_tok
        extra.append(Vector("router", "ffn.gate.tid2eid", entries, dtype="int32"))
    return Layer(
        mixer,
        moe,
        (hidden_size, hidden_size),
        extra_tensors=tuple(extra),
        mixer_name="attn",
        feed_forward_name="ffn",
    )


def read_experts(reader: ConfigReader, *, is_hashed: bool) -> MoeMlp:
    """Routed and shared experts; where a table chooses, nothing corrects the router."""
    width = reader.integer("moe_intermediate_size")
    shared = reader.optional_integer("n_shared_experts", minimum=0) or 0
    return MoeMlp(
        num_experts=reader.integer("n_routed_experts"),
        num_experts_per_tok=reader.integer("num_experts_per_tok"),
        moe_intermediate_size=width,
        shared_intermediate_size=width * shared,
        shared_name="ffn.shared_experts",
        shared_is_whole_in_sequence=True,
        shared_width_multiple=SCALE_BLOCK,
        router_bias=not is_hashed and corrects_router(reader),
    )


def stream_mixing(name: str, streams: int, width: int) -> Iterator[Tensor]:
    """How residual streams are read and written around attention or experts, in float32."""
    mixes = (2 + streams) * streams
    yield Vector("norm", f"{name}_fn", mixes * width, dtype="float32")
    yield Vector("norm", f"{name}_base", mixes, dtype="float32")
    yield Vector("norm", f"{name}_scale", 3, dtype="float32")


def stream_head(streams: int, width: int) -> Iterator[Tensor]:
    """How the streams become one before the head; on every stage of a pipeline."""
    yield Vector("norm", "hc_head_fn", streams * width, dtype="float32")
    yield Vector("norm", "hc_head_base", streams, dtype="float32")
    yield Vector("norm", "hc_head_scale", 1, dtype="float32")


def read_rotary_tables(
    reader: ConfigReader, mixers: tuple[AnyMixer, ...]
) -> tuple[RotaryTable, ...]:
    """A float32 table for layers that fold tokens, and one for those that do not.

    Only the first is lengthened by yarn, from the original length.
    """
    width = reader.integer("qk_rope_head_dim", default=reader.integer("head_dim") // 8)
    positions = reader.integer("max_position_embeddings")
    folds = [isinstance(m, CompressedAttention) and m.compress_ratio > 1 for m in mixers]
    tables = []
    for is_folded in (False, True):
        layers = [index for index, own in enumerate(folds) if own == is_folded]
        if layers:
            length = folded_positions(reader, positions) if is_folded else positions
            tables.append(RotaryTable(length, width, "float32", layers=(layers[0], layers[-1])))
    return tuple(tables)


def folded_positions(reader: ConfigReader, positions: int) -> int:
    """Positions of the table for layers that fold tokens."""
    scaling = reader.section("rope_scaling", "rope_parameters")
    if scaling is not None and scaling.has("compress"):
        scaling = scaling.section("compress")
    if scaling is None or scaling.text("rope_type", "type", default="default") == "default":
        return positions
    original = scaling.integer("original_max_position_embeddings", default=positions)
    scaled = int(original * scaling.number("factor", default=1.0))
    return min(max(scaled, 0), LONGER_THAN_ANY)


READERS: Final[Mapping[str, Callable[[ConfigReader, str, str], Model]]] = {
    "DeepseekV4ForCausalLM": read_deepseek_v4,
}
