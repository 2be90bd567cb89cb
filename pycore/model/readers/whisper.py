"""Whisper: a decoder that attends to itself and to what an encoder heard.

The engine keeps the encoder's keys and values in the same pool as the decoder's.
Source: vLLM 0.33.0, model_executor/models/whisper.py.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import DenseMlp, Layer
from pycore.model.model import Model
from pycore.model.readers.assembly import Source, Surroundings, assemble
from pycore.model.readers.uneven_mixers import read_whisper as read_mixers
from pycore.model.tensors import Linear, OuterTensor, Rows, Split, Tensor, Vector
from pycore.model.towers.parts import TOWER, by_heads, inward, norm, outward, placed, whole

KERNEL: Final = 3
"""Frames of sound that a convolution looks at."""

MOST_POSITIONS: Final = 448
"""Longest text where a config does not say."""


def whisper(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Biases everywhere, positions learnt, and a head that is the embedding, whole on each rank."""
    text = text_reader(reader)
    width = text.integer("d_model")
    positions = text.integer("max_target_positions", default=MOST_POSITIONS)
    text.completions = {**text.completions, "max_position_embeddings": positions}
    mixers = read_mixers(text)
    layer = Layer(
        mixers[0],
        DenseMlp(text.integer("decoder_ffn_dim"), gated=False, bias=True),
        (width,) * 3,
        norm_bias=True,
    )
    kept = (Rows(positions, Split.REPLICATED),)
    table = Linear("embedding", "model.decoder.embed_positions", kept, width, quantizable=False)
    around = Surroundings(
        tie_word_embeddings=True,
        supports_pipeline=False,
        final_norm_size=2 * width,
        outer_tensors=(OuterTensor(table), *encoder(text, width)),
    )
    model = assemble(Source(reader, text, architecture, name), (layer,) * len(mixers), around)
    return replace(model, embedding_is_whole=True)


def encoder(text: ConfigReader, width: int) -> tuple[OuterTensor, ...]:
    """Two convolutions, the blocks, and a table of positions."""
    name = "model.encoder"
    positions = text.integer("max_source_positions", default=1500)
    ends: tuple[Tensor, ...] = (
        whole(f"{name}.conv1", width, KERNEL * text.integer("num_mel_bins"), bias=True),
        whole(f"{name}.conv2", width, KERNEL * width, bias=True),
        norm(f"{name}.layer_norm", width),
        Vector(TOWER, f"{name}.embed_positions", positions * width),
    )
    return (*placed(ends), *placed(block(text, width), text.integer("encoder_layers")))


def block(text: ConfigReader, width: int) -> Iterator[Tensor]:
    """One block of the encoder."""
    name = "model.encoder.layers.0"
    heads = text.heads_of(width, "encoder_attention_heads")
    wide = text.integer("encoder_ffn_dim")
    yield norm(f"{name}.norms", 2 * width)
    yield by_heads(f"{name}.self_attn.qkv_proj", heads, width // heads, width)
    yield inward(f"{name}.self_attn.out_proj", width, width)
    yield outward(f"{name}.mlp.fc1", wide, width)
    yield inward(f"{name}.mlp.fc2", width, wide)


READERS: Final = {"WhisperForConditionalGeneration": whisper}
