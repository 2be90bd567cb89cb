"""MiniMax-Text-01 and M1: lightning attention in seven layers of eight, softmax in the eighth.

vLLM ran them up to 0.23; later versions refuse the class.

Source: MiniMax-M1's own config.json; transformers 5.24.0, models/minimax/modeling_minimax.py for
the weights, which are those of the published checkpoint to the unit.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.layers import AnyMixer, Layer, MoeMlp
from pycore.model.model import Model
from pycore.model.readers.assembly import Source, Surroundings, assemble
from pycore.model.readers.grouped_mixers import read_attention
from pycore.model.readers.layer_pattern import read_num_layers
from pycore.model.recurrent import LinearAttention
from pycore.model.rotary import RotaryTable

SOFTMAX: Final = 1
"""What attn_type_list has for a layer that keeps keys and values."""


def minimax_m1(reader: ConfigReader, architecture: str, name: str) -> Model:
    """A model whose attn_type_list says which layers keep keys and values."""
    routed = MoeMlp(
        reader.integer("num_local_experts"),
        reader.integer("num_experts_per_tok"),
        reader.integer("intermediate_size"),
    )
    norms = (reader.integer("hidden_size"),) * 2
    mixers = read_mixers(reader)
    kinds = {
        id(mixer): Layer(mixer, routed, norms, feed_forward_name="block_sparse_moe")
        for mixer in mixers
    }
    positions = reader.integer("max_position_embeddings")
    around = Surroundings(
        tie_word_embeddings=reader.flag("tie_word_embeddings", default=False),
        # float32 whatever the model's type; its own width.
        rotary_tables=(RotaryTable(positions, reader.integer("rotary_dim"), "float32"),),
    )
    layers = tuple(kinds[id(mixer)] for mixer in mixers)
    return assemble(Source(reader, reader, architecture, name), layers, around)


def read_mixers(reader: ConfigReader) -> tuple[AnyMixer, ...]:
    """The mixer of each layer."""
    attention = read_attention(reader)
    state = LinearAttention(attention.num_attention_heads, attention.head_dim)
    kinds = reader.sequence("attn_type_list")
    count = read_num_layers(reader)
    if kinds is None or len(kinds) < count:
        raise reader.missing("attn_type_list", "it says which layers keep keys and values")
    return tuple(attention if kind == SOFTMAX else state for kind in kinds[:count])


READERS: Final[Mapping[str, Callable[[ConfigReader, str, str], Model]]] = {
    "MiniMaxM1ForCausalLM": minimax_m1,
    "MiniMaxText01ForCausalLM": minimax_m1,
}
