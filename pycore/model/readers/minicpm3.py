"""MiniCPM3: latent attention in its weights, but keys and values of every head in its cache.

Source: vLLM 0.33.0, model_executor/models/minicpm3.py (values are filled up to the keys' width);
transformers 5.24.0, models/minicpm3/configuration_minicpm3.py for what configs leave out.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.latent import LatentAttention
from pycore.model.layers import DenseMlp, FullAttention, Layer
from pycore.model.model import Model
from pycore.model.readers.assembly import Source, Surroundings, assemble
from pycore.model.readers.latent_mixers import read_latent
from pycore.model.readers.layer_pattern import read_num_layers
from pycore.model.readers.rope import read_rope, rotary_table


def read_minicpm3(reader: ConfigReader, architecture: str, name: str) -> Model:
    """A model of MiniCPM3's kind."""
    text = text_reader(reader)
    hidden_size = text.integer("hidden_size")
    mlp = DenseMlp(text.integer("intermediate_size"))
    layer = Layer(unfolded(read_heads(text)), mlp, (hidden_size, hidden_size))
    positions = text.integer("max_position_embeddings")
    table = rotary_table(read_rope(text), text.integer("qk_rope_head_dim"), positions)
    around = Surroundings(
        rotary_tables=(table,),
        tie_word_embeddings=text.flag("tie_word_embeddings", default=True),
        ends_on_every_stage=True,
    )
    layers = (layer,) * read_num_layers(text)
    return assemble(Source(reader, text, architecture, name), layers, around)


def read_heads(text: ConfigReader) -> LatentAttention:
    """The attention; where the config gives values no width, it is hidden_size over heads."""
    heads = text.integer("num_attention_heads")
    if not text.has("v_head_dim"):
        text.completions = {**text.completions, "v_head_dim": text.integer("hidden_size") // heads}
    return read_latent(text)


def unfolded(latent: LatentAttention) -> FullAttention:
    """What the engine caches of it: a key and a value for every head, both as wide as the key."""
    heads = latent.num_attention_heads
    width = latent.qk_nope_head_dim + latent.qk_rope_head_dim
    return FullAttention(heads, heads, width, width, unfolded_from=latent)


READERS: Final[Mapping[str, Callable[[ConfigReader, str, str], Model]]] = {
    "MiniCPM3ForCausalLM": read_minicpm3,
}
