"""Gemma 3n: four streams through every layer, inputs for each layer, low-rank side ways.

The last layers read the keys and values of earlier ones. The towers are a convolutional network
for pictures and a conformer for sound.

Source: vLLM 0.33.0, model_executor/models/gemma3n.py and gemma3n_mm.py; transformers 5.24.0,
models/gemma3n/modeling_gemma3n.py.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import (
    AnyMixer,
    DenseMlp,
    FullAttention,
    Layer,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)
from pycore.model.model import Model
from pycore.model.readers.assembly import Source, Surroundings, assemble
from pycore.model.readers.basics import read_length
from pycore.model.readers.grouped_mixers import Mixers, attention_inside, dressed, read_gemma3n
from pycore.model.readers.multimodal import INNER
from pycore.model.readers.rope import distinct_tables, gemma3_rope
from pycore.model.tensors import Linear, OuterTensor, Place, Rows, Split, Tensor, Vector
from pycore.model.towers.gemma3n import gemma3n_towers

INNER_MODEL: Final = "language_model.model"


def read_gemma3n_model(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Gemma 3n, with its towers or text alone; never in a pipeline."""
    sees = architecture.endswith("ForConditionalGeneration")
    text = text_reader(reader, at_top=not sees)
    mixers = with_norms(read_gemma3n(text))
    ropes = [
        (gemma3_rope(text, isinstance(mixer, SlidingWindowAttention)), attention.head_dim)
        for mixer in dict.fromkeys(mixers)
        if not isinstance(mixer, SharedKeyValueAttention)
        and (attention := attention_inside(mixer)) is not None
    ]
    around = Surroundings(
        rotary_tables=distinct_tables(ropes, read_length(text)[1]),
        tie_word_embeddings=True,
        supports_pipeline=False,
        outer_tensors=(
            *(gemma3n_towers(reader, text) if sees else ()),
            *(OuterTensor(tensor) for tensor in input_tensors(text)),
            *stream_tensors(text),
        ),
        names=INNER,
    )
    return assemble(Source(reader, text, architecture, name), read_layers(text, mixers), around)


def with_norms(mixers: Mixers) -> Mixers:
    """Norms on queries and keys; layers that share have queries alone."""
    made: dict[int, AnyMixer] = {}
    for mixer in mixers:
        shares = isinstance(mixer, SharedKeyValueAttention)

        def dress(attention: FullAttention, shares: bool = shares) -> FullAttention:
            return replace(attention, qk_norm="head", queries_only=shares)

        if id(mixer) not in made:
            made[id(mixer)] = dressed((mixer,), dress)[0]
    return tuple(made[id(mixer)] for mixer in mixers)


def read_layers(text: ConfigReader, mixers: Mixers) -> tuple[Layer, ...]:
    """The layers in order; alike ones are one object."""
    hidden_size = text.integer("hidden_size")
    extra = tuple(layer_extras(text, hidden_size))
    seen: dict[Layer, Layer] = {}
    layers = []
    for mixer, width in zip(mixers, read_widths(text, len(mixers)), strict=True):
        layer = Layer(mixer, DenseMlp(width), (hidden_size,) * 7, extra_tensors=extra)
        layers.append(seen.setdefault(layer, layer))
    return tuple(layers)


def read_widths(text: ConfigReader, count: int) -> tuple[int, ...]:
    """The width of each layer's MLP: one for all, or a list."""
    value = text.raw("intermediate_size")
    if not isinstance(value, list):
        return (text.integer("intermediate_size"),) * count
    if len(value) < count:
        raise text.invalid("intermediate_size", value, f"a list of {count} widths")
    return tuple(text.checked_integer("intermediate_size", width) for width in value[:count])


def layer_extras(text: ConfigReader, hidden_size: int) -> Iterator[Tensor]:
    """What mixes the streams, the low-rank side way, and the way in for the layer's own input."""
    streams = text.integer("altup_num_inputs", default=4)
    rank, own = text.integer("laurel_rank", default=64), text.integer("hidden_size_per_layer_input")
    back = (Rows(hidden_size, Split.REPLICATED),)
    yield Vector("mlp", "altup.correct_output_scale", hidden_size, dtype="float32")
    yield Vector("mlp", "altup.coefficients", streams**2 + streams**3)
    yield Vector("mlp", "altup.modality_router", streams * hidden_size)
    yield Vector("buffers", "altup.router_input_scale", 1, counts=False)
    yield Linear("mlp", "laurel.linear_left", (Rows(rank),), hidden_size)
    yield Linear("mlp", "laurel.linear_right", back, rank, columns_split=True)
    yield Linear("mlp", "per_layer_input_gate", (Rows(own, Split.REPLICATED),), hidden_size)
    yield Linear("mlp", "per_layer_projection", back, own)


def input_tensors(text: ConfigReader) -> Iterator[Tensor]:
    """The second embedding, that of each layer's own input, and the streams' projections."""
    own = text.integer("hidden_size_per_layer_input")
    width = own * text.integer("num_hidden_layers")
    name = f"{INNER_MODEL}.self_decoder"
    rows = Rows(text.integer("vocab_size_per_layer_input"))
    hidden_size = text.integer("hidden_size")
    yield Linear("embedding", f"{name}.embed_tokens_per_layer", (rows,), width, quantizable=False)
    yield Linear("embedding", f"{name}.per_layer_model_projection", (Rows(width),), hidden_size)
    yield Vector("norm", f"{name}.per_layer_projection_norm", own)


def stream_tensors(text: ConfigReader) -> tuple[OuterTensor, ...]:
    """Projections into the other streams and back, and the scales of embeddings."""
    hidden_size, others = (
        text.integer("hidden_size"),
        text.integer("altup_num_inputs", default=4) - 1,
    )
    into = Linear("mlp", f"{INNER_MODEL}.altup_projections.0", (Rows(hidden_size),), hidden_size)
    scales = Vector("buffers", f"{INNER_MODEL}.embed_scales", 4)
    return (
        OuterTensor(into, 2 * others),
        OuterTensor(scales, 1, Place.EVERY, in_checkpoint=False),
    )


READERS: Final = dict.fromkeys(
    ("Gemma3nForCausalLM", "Gemma3nForConditionalGeneration"), read_gemma3n_model
)
