"""OLMo Hybrid: gated delta nets in three layers of four, attention with norms as wide as all heads.

Source: vLLM 0.33.0, model_executor/models/olmo_hybrid.py; transformers 5.24.0,
models/olmo_hybrid/configuration_olmo_hybrid.py.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import DenseMlp, Layer
from pycore.model.model import Model
from pycore.model.readers.assembly import Source, Surroundings, assemble, attention_of_layers
from pycore.model.readers.delta_mixers import read_olmo_hybrid
from pycore.model.rotary import RotaryTable, read_rotary_table


def olmo_hybrid(reader: ConfigReader, architecture: str, name: str) -> Model:
    """A model that rotates positions only where its config gives a base for it."""
    text = text_reader(reader)
    norms = (text.integer("hidden_size"),) * 2
    feed_forward = DenseMlp(text.integer("intermediate_size"))
    mixers = read_olmo_hybrid(text)
    kinds = {id(mixer): Layer(mixer, feed_forward, norms) for mixer in mixers}
    layers = tuple(kinds[id(mixer)] for mixer in mixers)
    around = Surroundings(
        tie_word_embeddings=text.flag("tie_word_embeddings", default=False),
        rotary_tables=read_tables(text, layers),
        ends_on_every_stage=True,
    )
    return assemble(Source(reader, text, architecture, name), layers, around)


def read_tables(text: ConfigReader, layers: tuple[Layer, ...]) -> tuple[RotaryTable, ...]:
    """The rotary table, if any layer rotates."""
    attention = attention_of_layers(layers)
    rope = text.section("rope_parameters", "rope_scaling")
    based = text.has("rope_theta") or (rope is not None and rope.has("rope_theta"))
    if attention is None or not based:
        return ()
    positions = text.integer("max_position_embeddings")
    return (read_rotary_table(text, attention.head_dim, positions),)


READERS: Final[Mapping[str, Callable[[ConfigReader, str, str], Model]]] = {
    "OlmoHybridForCausalLM": olmo_hybrid,
}
