"""A model put together from its layers and the fields that every config states alike."""

from dataclasses import dataclass
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.layers import (
    ChunkedLocalAttention,
    CrossAttention,
    FullAttention,
    Layer,
    ParallelMixers,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)
from pycore.model.model import Model
from pycore.model.module_names import DECODER, ModuleNames
from pycore.model.quantization.methods import read_quantization
from pycore.model.readers.basics import (
    architecture_numbers,
    read_default_length,
    read_dtype,
    read_length,
)
from pycore.model.readers.prefix_lm import is_mm_prefix_lm, least_batched_tokens
from pycore.model.rotary import RotaryTable
from pycore.model.tensors import OuterTensor

# What the engine takes for the longest request of a model whose config sets no limit.
# Source: vLLM 0.33.0, config/model.py, _get_and_verify_max_len.
UNLIMITED_TOKENS: Final = 2048


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model is read from: the whole config, its part about text, and the names."""

    reader: ConfigReader
    text: ConfigReader
    architecture: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What stands around the layers, and on which stages of a pipeline."""

    rotary_tables: tuple[RotaryTable, ...] = ()
    tie_word_embeddings: bool = False
    ends_on_every_stage: bool = False
    embedding_on_every_stage: bool = False
    head_on_every_stage: bool = False
    outer_tensors: tuple[OuterTensor, ...] = ()
    supports_pipeline: bool = True
    names: ModuleNames = DECODER
    final_norm_size: int | None = None
    """None: as wide as the model."""
    head_bias: bool = False
    extra_buffer_bytes: int = 0
    unlimited: bool = False
    """The config of such a model states no longest request."""


def assemble(source: Source, layers: tuple[Layer, ...], around: Surroundings) -> Model:
    """The model of a config whose layers have been read."""
    reader, text = source.reader, source.text
    field, limit = "", UNLIMITED_TOKENS
    if not around.unlimited:
        field, limit = read_length(text)
    top = reader if reader.has("dtype", "torch_dtype") else text
    dtype, stated = read_dtype(top)
    hidden_size = text.integer("hidden_size", "d_model", "n_embd")
    model = Model(
        name=source.name,
        architecture=source.architecture,
        hidden_size=hidden_size,
        vocab_size=text.integer("vocab_size", "padded_vocab_size"),
        tie_word_embeddings=around.tie_word_embeddings,
        dtype=dtype,
        dtype_is_stated=stated,
        model_limit_tokens=limit,
        model_limit_field=field,
        layers=layers,
        rotary_tables=around.rotary_tables,
        final_norm_size=hidden_size if around.final_norm_size is None else around.final_norm_size,
        head_bias=around.head_bias,
        extra_buffer_bytes=around.extra_buffer_bytes,
        default_max_model_len=read_default_length(text, limit),
        quantization=read_quantization(reader),
        ends_on_every_stage=around.ends_on_every_stage,
        embedding_on_every_stage=around.embedding_on_every_stage,
        head_on_every_stage=around.head_on_every_stage,
        reads_pictures_both_ways=is_mm_prefix_lm(reader),
        least_batched_tokens=least_batched_tokens(reader),
        outer_tensors=around.outer_tensors,
        supports_pipeline=around.supports_pipeline,
        names=around.names,
        defaulted={**text.defaulted, **reader.defaulted},
        config_read=reader.read,
    )
    state_numbers(model)
    if text is not reader:
        keep_what_was_read(reader, text)
    return model


def state_numbers(model: Model) -> None:
    """Let the model say its own numbers; one without attention has none of heads."""
    attention = attention_of_layers(model.layers)
    numbers = architecture_numbers(model, attention or FullAttention(0, 0, 0, 0))
    if attention is None:
        for absent in ("num_attention_heads", "num_key_value_heads", "head_dim"):
            del numbers[absent]
    model.architecture_numbers.update(numbers)


def keep_what_was_read(reader: ConfigReader, text: ConfigReader) -> None:
    """Of the part about text, keep only the fields that were read."""
    for name, value in reader.read.items():
        if value is text.fields:
            reader.read[name] = text.read


def attention_of_layers(layers: tuple[Layer, ...]) -> FullAttention | None:
    """The attention of the first layer that has one."""
    for layer in layers:
        match layer.mixer:
            case FullAttention() as attention:
                return attention
            case (
                ParallelMixers()
                | SlidingWindowAttention()
                | ChunkedLocalAttention()
                | SharedKeyValueAttention()
            ) as mixer:
                return mixer.attention
            case CrossAttention() as mixer:
                return mixer.own
            case _:
                continue
    return None
