"""OPT, GPT-2, GPT-J, BLOOM and DBRX, whose configs have words of their own.

Source: vLLM 0.33.0, model_executor/models/opt.py, gpt2.py, gpt_j.py, bloom.py and dbrx.py;
transformers 5.24.0 for what configs leave out.
"""

from typing import Final

from pycore.errors import UnsupportedModel
from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import Layer, MoeMlp
from pycore.model.model import Model
from pycore.model.readers.assembly import Source, Surroundings, assemble, attention_of_layers
from pycore.model.readers.family import Family
from pycore.model.readers.uneven_mixers import read_dbrx
from pycore.model.readers.uniform import read_decoder
from pycore.model.rotary import RotaryTable
from pycore.model.tensors import Linear, OuterTensor, Rows, Split, Vector

WIDTH: Final = ("intermediate_size",)
WIDENING: Final = 4
"""What the network is wider by where a config does not say."""

OPT_OFFSET: Final = 2
"""Rows of OPT's table of positions before the first one."""


BIASED: Final = Family(
    ends_on_every_stage=True,
    qkv_bias=True,
    output_bias=True,
    mlp_bias=True,
    norm_bias=True,
    gated=False,
    dense_width=WIDTH,
    rotates=False,
    tied_default=True,
)
"""GPT-2's and BLOOM's layers: biases everywhere, and nothing that rotates."""


def positions_table(name: str, rows: int, width: int) -> OuterTensor:
    """A learnt vector for each position, whole on every rank and every stage."""
    kept = (Rows(rows, Split.REPLICATED),)
    return OuterTensor(Linear("embedding", name, kept, width, quantizable=False))


def widened(reader: ConfigReader) -> ConfigReader:
    """The part about text, completed with a network four times as wide as the model."""
    text = text_reader(reader)
    stated = text.optional_integer("n_inner")
    width = stated or WIDENING * text.integer("hidden_size", "n_embd", "n_embed")
    text.completions = {**text.completions, "intermediate_size": width}
    return text


def opt(reader: ConfigReader, architecture: str, name: str) -> Model:
    """OPT: biases everywhere, positions learnt; its smallest embedding narrower in one size."""
    text = text_reader(reader)
    width = text.integer("hidden_size")
    if (text.optional_integer("word_embed_proj_dim") or width) != width:
        raise UnsupportedModel(
            "config.word_embed_proj_dim",
            "unsupported_architecture",
            "an embedding of another width than the layers cannot be sized yet",
        )
    text.completions = {**text.completions, "intermediate_size": text.integer("ffn_dim")}
    biased = text.flag("enable_bias", default=True)
    is_last = not text.flag("_remove_final_layer_norm", default=False)
    family = Family(
        ends_on_every_stage=True,
        qkv_bias=biased,
        output_bias=biased,
        mlp_bias=biased,
        norm_bias=True,
        final_norm=is_last and text.flag("do_layer_norm_before", default=True),
        gated=False,
        rotates=False,
        tied_default=True,
    )
    rows = text.integer("max_position_embeddings") + OPT_OFFSET
    table = positions_table("model.decoder.embed_positions", rows, width)
    return read_decoder(Source(reader, text, architecture, name), family, outer_tensors=(table,))


def gpt2(reader: ConfigReader, architecture: str, name: str) -> Model:
    """GPT-2: biases everywhere, positions learnt."""
    text = widened(reader)
    rows = text.integer("n_positions", "max_position_embeddings")
    table = positions_table("transformer.wpe", rows, text.integer("n_embd", "hidden_size"))
    return read_decoder(Source(reader, text, architecture, name), BIASED, outer_tensors=(table,))


def gpt_j(reader: ConfigReader, architecture: str, name: str) -> Model:
    """GPT-J: one norm a layer, biases in its networks and its head, which is never tied."""
    text = widened(reader)
    family = Family(
        ends_on_every_stage=True,
        mlp_bias=True,
        head_bias=True,
        num_norms=1,
        norm_bias=True,
        gated=False,
        dense_width=WIDTH,
        ties=False,
    )
    return read_decoder(Source(reader, text, architecture, name), family)


def bloom(reader: ConfigReader, architecture: str, name: str) -> Model:
    """BLOOM: biases instead of positions, and a norm behind the embedding."""
    text = widened(reader)
    width = text.integer("hidden_size", "n_embed")
    norm = Vector("norm", "transformer.word_embeddings_layernorm", 2 * width)
    return read_decoder(
        Source(reader, text, architecture, name), BIASED, outer_tensors=(OuterTensor(norm),)
    )


def dbrx(reader: ConfigReader, architecture: str, name: str) -> Model:
    """DBRX: routed experts in each layer, with numbers in sections of their own."""
    text = text_reader(reader)
    section = text.section("ffn_config") or ConfigReader({}, text.path)
    experts = MoeMlp(
        section.integer("moe_num_experts", default=4),
        section.integer("moe_top_k", default=1),
        section.integer("ffn_hidden_size", default=3584),
    )
    width = text.integer("d_model")
    mixers = read_dbrx(text)
    layers = (Layer(mixers[0], experts, (width,) * 2, feed_forward_name="ffn"),) * len(mixers)
    attention = attention_of_layers(layers)
    head_dim = attention.head_dim if attention is not None else 0
    around = Surroundings(
        rotary_tables=(RotaryTable(text.integer("max_seq_len"), head_dim),),
        ends_on_every_stage=True,
    )
    return assemble(Source(reader, text, architecture, name), layers, around)


READERS: Final = {
    "OPTForCausalLM": opt,
    "GPT2LMHeadModel": gpt2,
    "GPTJForCausalLM": gpt_j,
    "BloomForCausalLM": bloom,
    "DbrxForCausalLM": dbrx,
}
