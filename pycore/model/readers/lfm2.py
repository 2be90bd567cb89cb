"""LFM2: short convolutions in most layers, attention in the others; dense or with experts.

Source: vLLM 0.33.0, model_executor/models/lfm2.py and lfm2_moe.py; transformers 5.24.0,
models/lfm2*/configuration_lfm2*.py.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import DenseMlp, FeedForward, Layer, MoeMlp
from pycore.model.model import Model
from pycore.model.module_names import ModuleNames
from pycore.model.readers.assembly import Source, Surroundings, assemble, attention_of_layers
from pycore.model.readers.delta_mixers import read_lfm2
from pycore.model.rotary import read_rotary_table
from pycore.units import round_up

# The checkpoint's own names for what is called the same in most families.
NAMES: Final = ModuleNames(
    parts=(
        (".conv.", ".short_conv."),
        ("self_attn.out_proj", "self_attn.o_proj"),
        ("feed_forward.w1", "feed_forward.gate_proj"),
        ("feed_forward.w3", "feed_forward.up_proj"),
        ("feed_forward.w2", "feed_forward.down_proj"),
    )
)


def lfm2(reader: ConfigReader, architecture: str, name: str) -> Model:
    """LFM2 with a dense network in every layer."""
    text = text_reader(reader)
    feed_forward = DenseMlp(adjusted_width(text))
    return with_layers(reader, text, (architecture, name), lambda _: feed_forward)


def lfm2_moe(reader: ConfigReader, architecture: str, name: str) -> Model:
    """LFM2 with routed experts after the first layers."""
    text = text_reader(reader)
    num_dense = text.integer("num_dense_layers", minimum=0)
    dense = DenseMlp(text.integer("intermediate_size"))
    has_bias = text.flag("use_expert_bias", default=True)
    weighed_anew = not text.has("norm_topk_prob") or text.flag("norm_topk_prob", default=True)
    routed = MoeMlp(
        num_experts=text.integer("num_experts"),
        num_experts_per_tok=text.integer("num_experts_per_tok"),
        moe_intermediate_size=text.integer("moe_intermediate_size"),
        router_bias=has_bias,
        router_bias_counts=False,
        blackwell_routing=weighed_anew or not has_bias,
    )
    return with_layers(
        reader, text, (architecture, name), lambda index: dense if index < num_dense else routed
    )


def adjusted_width(text: ConfigReader) -> int:
    """The width of the feed-forward: two thirds of what is stated, rounded up, unless told not to.

    An older name of the field, block_ff_dim, goes before the usual one.
    """
    width = text.integer("block_ff_dim", "intermediate_size")
    if not text.flag("block_auto_adjust_ff_dim", default=True):
        return width
    width = int(2 * width / 3)
    width = int(text.number("block_ffn_dim_multiplier", default=1.0) * width)
    return round_up(width, text.integer("block_multiple_of", default=256))


def with_layers(
    reader: ConfigReader,
    text: ConfigReader,
    names: tuple[str, str],
    feed_forward: Callable[[int], FeedForward],
) -> Model:
    """The model; the engine ties its head to the embedding, which every stage holds."""
    norms = (text.integer("hidden_size"),) * 2
    seen: dict[Layer, Layer] = {}
    layers = []
    for index, mixer in enumerate(read_lfm2(text)):
        layer = Layer(mixer, feed_forward(index), norms, feed_forward_name="feed_forward")
        layers.append(seen.setdefault(layer, layer))
    attention = attention_of_layers(tuple(seen))
    positions = text.integer("max_position_embeddings")
    around = Surroundings(
        tie_word_embeddings=True,
        rotary_tables=()
        if attention is None
        else (read_rotary_table(text, attention.head_dim, positions),),
        embedding_on_every_stage=True,
        names=NAMES,
    )
    return assemble(Source(reader, text, *names), tuple(layers), around)


READERS: Final[Mapping[str, Callable[[ConfigReader, str, str], Model]]] = {
    "Lfm2ForCausalLM": lfm2,
    "Lfm2MoeForCausalLM": lfm2_moe,
}
