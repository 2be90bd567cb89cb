"""Classes that the engine has dropped: their parameters are counted, their deployments refused.

Source: transformers 5.24.0, models/mpt and mllama; the published modeling_phi3_small.py of
microsoft/Phi-3-small-8k-instruct; vLLM 0.33.0, model_executor/models/registry.py
(_PREVIOUSLY_SUPPORTED_MODELS).
"""

from dataclasses import replace
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import DenseMlp, FullAttention, Layer
from pycore.model.model import Model
from pycore.model.readers.assembly import Source, Surroundings, assemble
from pycore.model.readers.grouped_mixers import read_attention
from pycore.model.readers.layer_pattern import read_num_layers
from pycore.model.readers.rope import read_rope, rotary_table
from pycore.model.tensors import Linear, OuterTensor, Place, Rows, Split, Vector
from pycore.model.towers.mllama import mllama_tower

MLLAMA_CROSS_LAYERS: Final = (3, 8, 13, 18, 23, 28, 33, 38)
EXTRA_TOKENS: Final = 8
"""Rows of mllama's embedding that its head does not have."""


def mpt(reader: ConfigReader, architecture: str, name: str) -> Model:
    """MPT: biases on attention instead of positions, an MLP without a gate, no biases else."""
    text = text_reader(reader)
    attention = read_attention(text)
    hidden_size = text.integer("d_model", "hidden_size")
    width = text.integer("expansion_ratio", default=4) * hidden_size
    layer = Layer(attention, DenseMlp(width, gated=False), (hidden_size,) * 2)
    tied = text.flag("tie_word_embeddings", default=True)
    around = Surroundings(tie_word_embeddings=tied)
    layers = (layer,) * read_num_layers(text)
    return assemble(Source(reader, text, architecture, name), layers, around)


def phi3_small(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Phi-3-small: biases everywhere, and rotary frequencies that its checkpoint stores."""
    text = text_reader(reader)
    attention = replace(read_attention(text), qkv_bias=True, output_bias=True)
    hidden_size = text.integer("hidden_size")
    width = text.integer("ff_intermediate_size", "intermediate_size")
    layer = Layer(
        attention,
        DenseMlp(width, bias=True),
        (hidden_size,) * 2,
        norm_bias=True,
        extra_tensors=(Vector("buffers", "rotary_emb.inv_freq", attention.head_dim // 2),),
    )
    around = Surroundings(
        tie_word_embeddings=text.flag("tie_word_embeddings", default=True),
        final_norm_size=2 * hidden_size,
    )
    layers = (layer,) * read_num_layers(text)
    return assemble(Source(reader, text, architecture, name), layers, around)


def mllama(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Llama 3.2 Vision: some layers look across to what the tower saw, and have gates for it."""
    text = text_reader(reader, at_top=False)
    attention = read_attention(text)
    hidden_size = text.integer("hidden_size")
    extra = (Rows(EXTRA_TOKENS, Split.REPLICATED),)
    more = Linear("embedding", "language_model.extra_tokens", extra, hidden_size, quantizable=False)
    positions = text.integer("max_position_embeddings")
    around = Surroundings(
        rotary_tables=(rotary_table(read_rope(text), attention.head_dim, positions),),
        tie_word_embeddings=reader.flag("tie_word_embeddings", default=False),
        outer_tensors=(
            *mllama_tower(reader.part("vision_config"), hidden_size),
            OuterTensor(more, 1, Place.FIRST),
        ),
    )
    layers = mllama_layers(text, attention, hidden_size)
    return assemble(Source(reader, text, architecture, name), layers, around)


def mllama_layers(
    text: ConfigReader, attention: FullAttention, hidden_size: int
) -> tuple[Layer, ...]:
    """Layers that look at the text, and those that look across, with norms and two gates."""
    mlp, norms = DenseMlp(text.integer("intermediate_size")), (hidden_size,) * 2
    own = Layer(attention, mlp, norms)
    gates = Vector("attention", "cross_attn.gates", 2)
    normed = replace(attention, qk_norm="head")
    across = Layer(normed, mlp, norms, extra_tensors=(gates,), mixer_name="cross_attn")
    listed = text.sequence("cross_attention_layers")
    crossing = MLLAMA_CROSS_LAYERS if listed is None else listed
    return tuple(across if index in crossing else own for index in range(read_num_layers(text)))


READERS: Final = {
    "MPTForCausalLM": mpt,
    "MptForCausalLM": mpt,
    "Phi3SmallForCausalLM": phi3_small,
    "MllamaForConditionalGeneration": mllama,
}
