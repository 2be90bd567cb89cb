"""Models of states beside attention, or of states alone: Jamba, Mamba, Falcon-H1, Granite 4.

Source: vLLM 0.33.0, model_executor/models (jamba.py, mamba.py, mamba2.py, falcon_h1.py,
granitemoehybrid.py); transformers 5.24.0, models/*/configuration_*.py for the defaults.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import (
    AnyMixer,
    DenseMlp,
    FeedForward,
    Layer,
    MoeMlp,
    ParallelMixers,
)
from pycore.model.model import Model
from pycore.model.module_names import ModuleNames
from pycore.model.readers.assembly import Source, Surroundings, assemble, attention_of_layers
from pycore.model.readers.recurrent_mixers import (
    read_falcon_h1,
    read_granite_hybrid,
    read_jamba,
    read_mamba,
    read_mamba2,
)
from pycore.model.rotary import RotaryTable, read_rotary_table

# Granite's names for what is called the same in most families.
GRANITE_NAMES: Final = ModuleNames(
    parts=(
        ("shared_mlp.input_linear", "shared_mlp.gate_up_proj"),
        ("shared_mlp.output_linear", "shared_mlp.down_proj"),
    )
)


def jamba(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Jamba: Mamba and attention, each followed by one expert or by many; no rotary table.

    Softmax comes before the choice of experts, and their weights are left as they are.
    """
    text = text_reader(reader)
    hidden_size = text.integer("hidden_size")
    width = text.integer("intermediate_size")
    experts = text.integer("num_experts")
    period = text.integer("expert_layer_period")
    offset = text.integer("expert_layer_offset", minimum=0)
    dense = DenseMlp(width)
    routed = MoeMlp(experts, text.integer("num_experts_per_tok"), width, blackwell_routing=False)

    def feed_forward(index: int) -> FeedForward:
        return routed if experts > 1 and index % period == offset else dense

    layers = tuple(
        Layer(mixer, feed_forward(index), (hidden_size,) * 2, feed_forward_name="feed_forward")
        for index, mixer in enumerate(read_jamba(text))
    )
    around = Surroundings(ends_on_every_stage=True)
    return assemble(Source(reader, text, architecture, name), shared(layers), around)


def shared(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The same layers, alike ones as one object."""
    first: dict[Layer, Layer] = {}
    return tuple(first.setdefault(layer, layer) for layer in layers)


def mamba(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Mamba and Falcon Mamba."""
    return states_alone(reader, architecture, name, read_mamba)


def mamba2(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Mamba 2, which the engine does not deal to the stages of a pipeline."""
    return states_alone(reader, architecture, name, read_mamba2, supports_pipeline=False)


def states_alone(
    reader: ConfigReader,
    architecture: str,
    name: str,
    read_mixers: Callable[[ConfigReader], tuple[AnyMixer, ...]],
    *,
    supports_pipeline: bool = True,
) -> Model:
    """A model without attention and without feed-forward networks: nothing grows with length."""
    text = text_reader(reader)
    norms = (text.integer("hidden_size", "d_model"),)
    around = Surroundings(
        tie_word_embeddings=text.flag("tie_word_embeddings", default=False),
        ends_on_every_stage=True,
        supports_pipeline=supports_pipeline,
        unlimited=True,
    )
    mixers = read_mixers(text)
    layers = (Layer(mixers[0], None, norms),) * len(mixers)
    return assemble(Source(reader, text, architecture, name), layers, around)


def falcon_h1(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Falcon-H1: attention and Mamba 2 side by side in every layer.

    The class cannot tie its head to an embedding on another stage.
    """
    text = text_reader(reader)
    hidden_size = text.integer("hidden_size")
    mixers = read_falcon_h1(text)
    feed_forward = DenseMlp(text.integer("intermediate_size"))
    layer = Layer(mixers[0], feed_forward, (hidden_size,) * 2, feed_forward_name="feed_forward")
    tied = text.flag("tie_word_embeddings", default=False)
    around = Surroundings(
        tie_word_embeddings=tied,
        rotary_tables=(falcon_rotary(text, mixers[0]),),
        supports_pipeline=not tied,
    )
    return assemble(Source(reader, text, architecture, name), (layer,) * len(mixers), around)


def falcon_rotary(text: ConfigReader, mixer: AnyMixer) -> RotaryTable:
    """The rotary table, as wide as the config says and else as a head."""
    head_dim = mixer.attention.head_dim if isinstance(mixer, ParallelMixers) else 0
    width = text.optional_integer("attn_rotary_emb") or head_dim
    return read_rotary_table(text, width, text.integer("max_position_embeddings"))


def granite_hybrid(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Granite 4: Mamba 2 or attention, then a shared network and in some models experts.

    Its tables of positions are there only where the config asks for rotary ones, and only a
    model with attention makes them.
    """
    text = text_reader(reader)
    norms = (text.integer("hidden_size"),) * 2
    mixers = read_granite_hybrid(text)
    feed_forward = granite_feed_forward(text)
    module = "block_sparse_moe" if isinstance(feed_forward, MoeMlp) else "shared_mlp"
    kinds = {
        id(mixer): Layer(mixer, feed_forward, norms, feed_forward_name=module) for mixer in mixers
    }
    attention = attention_of_layers(tuple(kinds.values()))
    tables: tuple[RotaryTable, ...] = ()
    if attention is not None and text.text("position_embedding_type") == "rope":
        positions = text.integer("max_position_embeddings")
        tables = (read_rotary_table(text, attention.head_dim, positions),)
    around = Surroundings(
        tie_word_embeddings=text.flag("tie_word_embeddings", default=False),
        rotary_tables=tables,
        ends_on_every_stage=True,
        names=GRANITE_NAMES,
    )
    layers = tuple(kinds[id(mixer)] for mixer in mixers)
    return assemble(Source(reader, text, architecture, name), layers, around)


def granite_feed_forward(text: ConfigReader) -> FeedForward | None:
    """Routed experts, a network that all tokens pass, both, or neither."""
    shared_width = text.integer("shared_intermediate_size", minimum=0)
    experts = text.integer("num_local_experts", minimum=0)
    if experts:
        return MoeMlp(
            experts,
            text.integer("num_experts_per_tok"),
            text.integer("intermediate_size"),
            shared_width,
            shared_name="shared_mlp",
        )
    return DenseMlp(shared_width) if shared_width else None


READERS: Final[Mapping[str, Callable[[ConfigReader, str, str], Model]]] = {
    "JambaForCausalLM": jamba,
    "MambaForCausalLM": mamba,
    "FalconMambaForCausalLM": mamba,
    "Mamba2ForCausalLM": mamba2,
    "FalconH1ForCausalLM": falcon_h1,
    "GraniteMoeHybridForCausalLM": granite_hybrid,
}
