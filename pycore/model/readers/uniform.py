"""Decoders that are uniform but for windows and experts: read from a family's row."""

from dataclasses import replace
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import (
    DenseMlp,
    FeedForward,
    FullAttention,
    Layer,
    MoeMlp,
    SlidingWindowAttention,
)
from pycore.model.model import Model
from pycore.model.module_names import DECODER, ModuleNames
from pycore.model.readers.assembly import Source, Surroundings, assemble
from pycore.model.readers.basics import read_length, uniform_integer
from pycore.model.readers.families import FAMILIES
from pycore.model.readers.family import Family, Flag, Moe
from pycore.model.readers.grouped_mixers import Mixers, attention_inside, dressed
from pycore.model.readers.grouped_mixers import read_uniform as read_uniform_mixers
from pycore.model.readers.mixers import RULES
from pycore.model.readers.rope import distinct_tables
from pycore.model.rotary import RotaryTable
from pycore.model.tensors import OuterTensor, Place, Vector

# Where configs state the width of a dense feed-forward network.
DENSE_WIDTHS: Final = ("intermediate_size", "n_inner", "ffn_hidden_size")


def read_uniform(reader: ConfigReader, architecture: str, name: str) -> Model:
    """A model of one of the ``FAMILIES``."""
    source = Source(reader, text_reader(reader), architecture, name)
    return read_decoder(source, FAMILIES[architecture])


def read_decoder(
    source: Source,
    family: Family,
    *,
    tied: bool | None = None,
    outer_tensors: tuple[OuterTensor, ...] = (),
    names: ModuleNames = DECODER,
    text_class: str = "",
) -> Model:
    """A decoder of ``family``, with what else stands around its layers.

    ``text_class`` is the class that says which layers see what, where a tower's stands before it.
    """
    text = source.text
    mixers = read_family_mixers(text, family, text_class or source.architecture)
    if tied is None:
        tied = text.flag("tie_word_embeddings", default=family.tied_default)
        tied = tied if family.ties is None else family.ties
    layers = read_layers(text, family, mixers)
    hidden_size = text.integer("hidden_size", "n_embd", "d_model")
    around = Surroundings(
        rotary_tables=read_tables(text, family, mixers),
        tie_word_embeddings=tied,
        ends_on_every_stage=family.ends_on_every_stage,
        supports_pipeline=family.supports_pipeline and not (tied and family.ties_break_pipeline),
        outer_tensors=outer_tensors + family_tensors(family),
        names=names,
        final_norm_size=hidden_size * family.final_norm * (2 if family.norm_bias else 1),
        head_bias=resolve(text, family.head_bias),
        extra_buffer_bytes=inverse_frequency_bytes(text, family, mixers),
    )
    return assemble(source, layers, around)


def family_tensors(family: Family) -> tuple[OuterTensor, ...]:
    """What a class keeps beside its layers: Gemma's scale of the embeddings, one number."""
    if not family.scales_embeddings:
        return ()
    scale = Vector("buffers", "model.normalizer", 1)
    return (OuterTensor(scale, 1, Place.EVERY, in_checkpoint=False),)


def read_family_mixers(text: ConfigReader, family: Family, architecture: str) -> Mixers:
    """The mixers of all layers, with the biases and norms of the family."""
    flag = family.qk_norm_flag
    has_norm = flag is None or resolve(text, flag)
    qkv_bias, output_bias = resolve(text, family.qkv_bias), resolve(text, family.output_bias)

    def dress(attention: FullAttention) -> FullAttention:
        return replace(
            attention,
            qkv_bias=qkv_bias,
            output_bias=output_bias,
            output_gate=family.output_gate,
            qk_norm=family.qk_norm if has_norm else "none",
        )

    return dressed(RULES.get(architecture, read_uniform_mixers)(text), dress)


def read_tables(text: ConfigReader, family: Family, mixers: Mixers) -> tuple[RotaryTable, ...]:
    """The rotary tables of all layers: none where a family keeps frequencies instead."""
    if family.transformers_backend or not family.rotates:
        return ()
    positions = (
        text.optional_integer("model_max_length") if family.prefer_model_max_length else None
    )
    if positions is None:
        field, limit = read_length(text)
        positions = limit if field == "model_max_length" else text.integer(field)
    ropes = [
        (family.rope(text, isinstance(mixer, SlidingWindowAttention)), attention.head_dim)
        for mixer in dict.fromkeys(mixers)
        if (attention := attention_inside(mixer)) is not None
    ]
    return distinct_tables(
        ropes, positions, dtype=family.rotary_dtype, sections_factor=family.sections_factor
    )


def inverse_frequency_bytes(text: ConfigReader, family: Family, mixers: Mixers) -> int:
    """Inverse frequencies twice over, float32, half of what rotates, for each way of rotating."""
    attention = next(filter(None, map(attention_inside, mixers)), None)
    if not family.transformers_backend or not family.rotates or attention is None:
        return 0
    rotated = int(attention.head_dim * family.rope(text, False).share)
    return rotated * 4 * family.num_ropes


def resolve(reader: ConfigReader, flag: Flag | bool) -> bool:
    """A family's yes or no, read from the config where the family says so."""
    if isinstance(flag, bool):
        return flag
    return reader.flag(flag.field, default=flag.default)


def read_layers(text: ConfigReader, family: Family, mixers: Mixers) -> tuple[Layer, ...]:
    """The layers in order; alike ones are one object."""
    feed_forwards = read_feed_forwards(text, family, len(mixers))
    hidden_size = text.integer("hidden_size", "n_embd", "d_model")
    norms = (hidden_size,) * family.num_norms
    seen: dict[tuple[int, FeedForward], Layer] = {}
    layers = []
    for mixer, feed_forward in zip(mixers, feed_forwards, strict=True):
        key = id(mixer), feed_forward
        if key not in seen:
            seen[key] = Layer(
                mixer,
                feed_forward,
                norms,
                family.norm_bias,
                feed_forward_name=family.feed_forward_name,
            )
        layers.append(seen[key])
    return tuple(layers)


def read_feed_forwards(text: ConfigReader, family: Family, count: int) -> tuple[FeedForward, ...]:
    """What follows the mixer in each layer."""
    moe = family.moe
    routed = None if moe is None else read_moe(text, moe)
    is_routed = [
        moe is not None and layer_is_routed(text, moe, index, count) for index in range(count)
    ]
    if routed is not None and all(is_routed):
        return (routed,) * count
    width = text.integer(*(family.dense_width or DENSE_WIDTHS))
    bias = resolve(text, family.mlp_bias)
    dense = DenseMlp(width, family.gated, bias, is_whole=family.mlp_whole)
    return tuple(routed if routed is not None and routes else dense for routes in is_routed)


def layer_is_routed(reader: ConfigReader, moe: Moe, index: int, count: int) -> bool:
    """Whether layer ``index`` has routed experts, by the family's own rule."""
    if moe.listed and (kinds := reader.sequence(moe.listed)) is not None:
        return index < len(kinds) and kinds[index] == "sparse"
    if moe.first_dense:
        return index >= reader.integer(*moe.first_dense, default=0, minimum=0)
    if moe.sparse_step:
        dense = reader.sequence("mlp_only_layers") or ()
        step = reader.integer("decoder_sparse_step", default=1)
        return index not in dense and (index + 1) % step == 0
    if moe.interleave:
        step = reader.integer(moe.interleave, default=1, minimum=0)
        return step > 0 and (index + 1) % step == 0
    if moe.interval:
        start = reader.integer("moe_layer_start_index", default=0, minimum=0)
        end = reader.integer("moe_layer_end_index", default=count - 1, minimum=-1)
        step = reader.integer("moe_layer_interval", default=1)
        last = count - 1 if end == -1 else end
        return (index + 1) % step == 0 and start <= index <= last
    return True


def read_moe(reader: ConfigReader, moe: Moe) -> MoeMlp:
    """The routed and shared experts of a layer."""
    width = uniform_integer(reader, moe.width)
    shared = 0
    if moe.shared_count:
        each = reader.optional_integer(*moe.shared_width) if moe.shared_width else None
        count = uniform_integer(reader, moe.shared_count, default=0, minimum=0)
        shared = count * (each or width)
    elif moe.shared_as_wide:
        shared = width
    elif moe.shared_width:
        shared = reader.integer(*moe.shared_width, default=0, minimum=0)
    return MoeMlp(
        num_experts=uniform_integer(reader, moe.num_experts),
        num_experts_per_tok=uniform_integer(reader, moe.experts_per_tok),
        moe_intermediate_size=width,
        shared_intermediate_size=shared,
        shared_is_whole_in_sequence=moe.shared_is_whole_in_sequence,
        shared_expert_gate=moe.shared_gate and shared > 0,
        router_bias=resolve(reader, moe.router_bias),
        router_dtype=moe.router_dtype,
        router_bias_counts=moe.router_bias_counts,
        shared_name=moe.shared_name,
        expert_bias=moe.expert_bias,
        router_linear_bias=moe.router_linear_bias,
        blackwell_routing=resolve(reader, moe.blackwell_routing),
    )
