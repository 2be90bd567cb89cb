"""Gemma 4: wide full layers, values that are keys, inputs for each layer, experts beside the MLP.

Layers that share an earlier layer's keys and values have projections for queries alone, and may
have an MLP twice as wide.

Source: vLLM 0.33.0, model_executor/models/gemma4.py and gemma4_mm.py; transformers 5.24.0,
models/gemma4/configuration_gemma4.py.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import (
    AnyMixer,
    DenseMlp,
    FeedForward,
    FullAttention,
    Layer,
    MoeMlp,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)
from pycore.model.model import Model
from pycore.model.readers.assembly import Source, Surroundings, assemble
from pycore.model.readers.basics import read_length
from pycore.model.readers.grouped_mixers import Mixers, attention_inside, dressed
from pycore.model.readers.multimodal import INNER
from pycore.model.readers.rope import Rope, distinct_tables, read_rope
from pycore.model.readers.uneven_mixers import read_gemma4
from pycore.model.rotary import RotaryTable
from pycore.model.tensors import Linear, OuterTensor, Place, Rows, Split, Tensor, Vector
from pycore.model.towers.gemma4 import gemma4_towers

FULL_ROPE: Final = Rope(kind="proportional", theta=1e6, share=0.25)


def read_gemma4_model(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Gemma 4, with its towers or text alone."""
    sees = architecture.endswith("ForConditionalGeneration")
    text = text_reader(reader, at_top=not sees)
    mixers = read_mixers(text)
    place = Place.EVERY
    around = Surroundings(
        rotary_tables=read_tables(text, mixers),
        tie_word_embeddings=reader.flag("tie_word_embeddings", default=True),
        ends_on_every_stage=True,
        outer_tensors=(
            *(gemma4_towers(reader, text) if sees else ()),
            *input_tensors(text),
            OuterTensor(Vector("buffers", "model.normalizer", 1), 1, place, in_checkpoint=False),
        ),
        names=INNER,
    )
    return assemble(Source(reader, text, architecture, name), read_layers(text, mixers), around)


def read_mixers(text: ConfigReader) -> Mixers:
    """The mixers with their norms, and without what they do not project."""
    bias = text.flag("attention_bias", default=False)
    keys_twice = text.flag("attention_k_eq_v", default=False)
    made: dict[int, AnyMixer] = {}

    def dress(mixer: AnyMixer) -> AnyMixer:
        def with_norms(attention: FullAttention) -> FullAttention:
            return replace(
                attention,
                qkv_bias=bias,
                output_bias=bias,
                qk_norm="head",
                values_are_keys=keys_twice and isinstance(mixer, FullAttention),
                queries_only=isinstance(mixer, SharedKeyValueAttention),
            )

        return dressed((mixer,), with_norms)[0]

    mixers = read_gemma4(text)
    for mixer in mixers:
        if id(mixer) not in made:
            made[id(mixer)] = dress(mixer)
    return tuple(made[id(mixer)] for mixer in mixers)


def read_tables(text: ConfigReader, mixers: Mixers) -> tuple[RotaryTable, ...]:
    """A table for each kind of layer; layers that share read those of their kind."""
    _, positions = read_length(text)
    kinds = []
    for mixer in dict.fromkeys(mixers):
        attention = attention_inside(mixer)
        if attention is None or isinstance(mixer, SharedKeyValueAttention):
            continue
        windowed = isinstance(mixer, SlidingWindowAttention)
        stated = text.has("rope_parameters", "rope_scaling")
        kind = "sliding_attention" if windowed else "full_attention"
        default = Rope() if windowed else FULL_ROPE
        kinds.append((read_rope(text, kind) if stated else default, attention.head_dim))
    return distinct_tables(kinds, positions)


def read_layers(text: ConfigReader, mixers: Mixers) -> tuple[Layer, ...]:
    """The layers in order; alike ones are one object."""
    hidden_size = text.integer("hidden_size")
    routed = text.flag("enable_moe_block", default=False)
    widens = text.flag("use_double_wide_mlp", default=False)
    width = text.integer("intermediate_size")
    norms = (hidden_size,) * (7 if routed else 4)
    extra = tuple(layer_extras(text, hidden_size, routed=routed))
    seen: dict[int, Layer] = {}
    for mixer in mixers:
        if id(mixer) in seen:
            continue
        wide = widens and isinstance(mixer, SharedKeyValueAttention)
        feed_forward: FeedForward = DenseMlp(width * (2 if wide else 1))
        if routed:
            feed_forward = read_experts(text, width)
        name = "" if routed else "mlp"
        seen[id(mixer)] = Layer(
            mixer, feed_forward, norms, extra_tensors=extra, feed_forward_name=name
        )
    return tuple(seen[id(mixer)] for mixer in mixers)


def read_experts(text: ConfigReader, width: int) -> MoeMlp:
    """Routed experts beside an MLP that every token passes through.

    Their GELU is none of Blackwell's own expert kernels'.
    Source: vLLM 0.33.0, models/gemma4.py; fused_moe/experts/trtllm_bf16_moe.py.
    """
    return MoeMlp(
        num_experts=text.integer("num_experts"),
        num_experts_per_tok=text.integer("top_k_experts"),
        moe_intermediate_size=text.integer("moe_intermediate_size", "expert_intermediate_size"),
        shared_intermediate_size=width,
        shared_name="mlp",
        blackwell_routing=False,
    )


def layer_extras(text: ConfigReader, hidden_size: int, *, routed: bool) -> Iterator[Tensor]:
    """The scalar of each layer, the router's scales, and the way in for the layer's own input."""
    yield Vector("buffers", "layer_scalar", 1, counts=False)
    if routed:
        yield Vector("router", "router.scale", hidden_size)
        yield Vector("router", "router.per_expert_scale", text.integer("num_experts"))
        yield Vector("buffers", "router.root_size", 1, counts=False)
    own = read_own_width(text)
    if own:
        gate, back = (Rows(own, Split.REPLICATED),), (Rows(hidden_size, Split.REPLICATED),)
        yield Linear("mlp", "per_layer_input_gate", gate, hidden_size, bias_split=False)
        yield Linear("mlp", "per_layer_projection", back, own, bias_split=False)
        yield Vector("norm", "post_per_layer_input_norm", hidden_size)


def read_own_width(text: ConfigReader) -> int:
    """Width of the input that each layer has of its own; 0 where there is none."""
    return text.optional_integer("hidden_size_per_layer_input", minimum=0) or 0


def input_tensors(text: ConfigReader) -> Iterator[OuterTensor]:
    """The second embedding, that of each layer's own input, on the first stage."""
    own = read_own_width(text)
    if not own:
        return
    width = own * text.integer("num_hidden_layers")
    rows = Rows(text.integer("vocab_size_per_layer_input", "vocab_size"))
    inner = "language_model.model"
    table = Linear(
        "embedding", f"{inner}.embed_tokens_per_layer", (rows,), width, quantizable=False
    )
    projection = Linear(
        "embedding",
        f"{inner}.per_layer_model_projection",
        (Rows(width),),
        text.integer("hidden_size"),
    )
    yield OuterTensor(table, 1, Place.FIRST)
    yield OuterTensor(projection, 1, Place.FIRST)
    yield OuterTensor(Vector("norm", f"{inner}.per_layer_projection_norm", own), 1, Place.FIRST)
    scales = Vector("buffers", f"{inner}.per_layer_scales", 3)
    yield OuterTensor(scales, 1, Place.FIRST, in_checkpoint=False)


READERS: Final = dict.fromkeys(
    ("Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"), read_gemma4_model
)
