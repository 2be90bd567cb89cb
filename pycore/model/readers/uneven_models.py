"""Models whose layers differ in heads and widths: Nemotron Super, MiMo-V2, Step 3.5.

Source: vLLM 0.33.0, model_executor/models/nemotron_nas.py, mimo_v2.py and
step3p5.py.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import (
    AnyMixer,
    DenseMlp,
    FeedForward,
    FullAttention,
    Layer,
    MoeMlp,
    NoMixer,
    SlidingWindowAttention,
)
from pycore.model.model import Model
from pycore.model.readers.assembly import Source, Surroundings, assemble
from pycore.model.readers.basics import read_length
from pycore.model.readers.grouped_mixers import Mixers, attention_inside, dressed
from pycore.model.readers.rope import DEFAULT_THETA, Rope, distinct_tables, read_rope
from pycore.model.readers.uneven_mixers import read_decilm, read_mimo_v2, read_step3p5
from pycore.units import round_up

DECILM_MULTIPLE: Final = 256


def decilm(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Nemotron from architecture search: layers without attention, MLPs of many widths."""
    text = text_reader(reader)
    has_bias = text.flag("attention_bias", default=False)
    qkv_bias = text.flag("qkv_bias", default=has_bias) if text.has("qkv_bias") else has_bias
    mixers = dressed(
        read_decilm(text),
        lambda attention: replace(attention, qkv_bias=qkv_bias, output_bias=has_bias),
    )
    hidden_size = text.integer("hidden_size")
    layers = alike(
        Layer(mixer, feed_forward, norms_of(hidden_size, mixer, feed_forward))
        for mixer, feed_forward in zip(mixers, decilm_networks(text, hidden_size), strict=False)
    )
    around = Surroundings(
        rotary_tables=distinct_tables(
            [(read_rope(text), head_dim_of(mixers))], read_length(text)[1]
        ),
        tie_word_embeddings=text.flag("tie_word_embeddings", default=False),
    )
    return assemble(Source(reader, text, architecture, name), layers, around)


def norms_of(
    hidden_size: int, mixer: AnyMixer, feed_forward: FeedForward | None
) -> tuple[int, ...]:
    """One norm before each part that the layer has."""
    parts = (not isinstance(mixer, NoMixer), feed_forward is not None)
    return (hidden_size,) * sum(parts)


def decilm_networks(text: ConfigReader, hidden_size: int) -> Iterator[FeedForward | None]:
    """The MLP of each layer: of a stated width, or of a multiple rounded up to 256; or none."""
    bias = text.flag("mlp_bias", default=False)
    for index, block in enumerate(text.sequence("block_configs") or ()):
        fields = block if isinstance(block, dict) else {}
        part = ConfigReader(fields, f"{text.path}.block_configs[{index}]").part("ffn")
        if part.flag("no_op", default=False):
            yield None
            continue
        if not part.has("ffn_mult"):
            yield DenseMlp(part.integer("intermediate_size"), bias=bias)
            continue
        width = int(2 * part.number("ffn_mult", default=1.0) * hidden_size / 3)
        yield DenseMlp(max(DECILM_MULTIPLE, round_up(width, DECILM_MULTIPLE)), bias=bias)


def head_dim_of(mixers: Mixers) -> int:
    """The head width of the first attention."""
    attention = next(filter(None, map(attention_inside, mixers)), None)
    return 0 if attention is None else attention.head_dim


def mimo_v2(reader: ConfigReader, architecture: str, name: str) -> Model:
    """MiMo-V2: windowed layers with heads and a rotation of their own, experts in most layers."""
    text = text_reader(reader)
    bias = text.flag("attention_bias", default=False)
    full_sinks = text.flag("add_full_attention_sink_bias", default=False)

    def dress(attention: FullAttention) -> FullAttention:
        return replace(attention, qkv_bias=bias, sinks=attention.sinks or full_sinks)

    mixers = dressed(read_mimo_v2(text), dress)
    norms = (text.integer("hidden_size"),) * 2
    layers = alike(
        Layer(mixer, feed_forward, norms)
        for mixer, feed_forward in zip(mixers, mimo_networks(text, len(mixers)), strict=True)
    )
    ropes = [
        (mimo_rope(text, mixer), attention.head_dim)
        for mixer in dict.fromkeys(mixers)
        if (attention := attention_inside(mixer)) is not None
    ]
    around = Surroundings(
        rotary_tables=distinct_tables(ropes, read_length(text)[1]),
        tie_word_embeddings=text.flag("tie_word_embeddings", default=False),
    )
    return assemble(Source(reader, text, architecture, name), layers, around)


def mimo_rope(text: ConfigReader, mixer: AnyMixer) -> Rope:
    """Windowed layers rotate from a base of their own; both rotate the same part of a head."""
    windowed = isinstance(mixer, SlidingWindowAttention)
    rope = read_rope(text, "sliding_attention" if windowed else "full_attention")
    theta = text.number("swa_rope_theta", default=rope.theta) if windowed else rope.theta
    return Rope(theta=theta, share=rope.share)


def mimo_networks(text: ConfigReader, count: int) -> Iterator[FeedForward]:
    """Routed experts where moe_layer_freq has a one, an MLP elsewhere."""
    pattern = text.sequence("moe_layer_freq")
    if pattern is None or len(pattern) < count:
        raise text.missing("moe_layer_freq", "it says which layers have routed experts")
    dense = DenseMlp(text.integer("intermediate_size"))
    width = text.integer("moe_intermediate_size")
    shared = text.optional_integer("n_shared_experts", minimum=0) or 0
    routed = MoeMlp(
        num_experts=text.integer("n_routed_experts"),
        num_experts_per_tok=text.integer("num_experts_per_tok"),
        moe_intermediate_size=width,
        shared_intermediate_size=shared * width,
        router_bias=text.text("topk_method") == "noaux_tc",
        router_dtype="float32",
    )
    for is_routed in pattern[:count]:
        yield routed if is_routed else dense


def step3p5(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Step 3.5: more query heads in windowed layers, a gate for each head, experts from layer 3."""
    text = text_reader(reader)
    bias = text.flag("attention_bias", default=False)
    gates = text.flag("use_head_wise_attn_gate", default=False)
    mixers = dressed(
        read_step3p5(text),
        lambda attention: replace(attention, qkv_bias=bias, qk_norm="head", gate_heads=gates),
    )
    norms = (text.integer("hidden_size"),) * 2
    layers = alike(
        Layer(
            mixer,
            network,
            norms,
            feed_forward_name="moe" if isinstance(network, MoeMlp) else "mlp",
        )
        for mixer, network in zip(mixers, step_networks(text, len(mixers)), strict=True)
    )
    ropes = [
        (step_rope(text, mixer, index), attention.head_dim)
        for index, mixer in enumerate(mixers)
        if mixer not in mixers[:index] and (attention := attention_inside(mixer)) is not None
    ]
    around = Surroundings(
        rotary_tables=distinct_tables(ropes, read_length(text)[1]),
        tie_word_embeddings=text.flag("tie_word_embeddings", default=False),
    )
    return assemble(Source(reader, text, architecture, name), layers, around)


def step_networks(text: ConfigReader, count: int) -> Iterator[FeedForward]:
    """Routed experts with one shared where the config says so, from layer 3 where it does not."""
    if not text.flag("use_moe_router_bias", default=False):
        raise text.invalid("use_moe_router_bias", False, "true: the engine supports nothing else")
    kinds = text.sequence("mlp_layer_types")
    listed = text.raw("moe_layers_enum")
    numbers = (
        listed.split(",") if isinstance(listed, str) else [str(index) for index in range(3, count)]
    )
    dense = DenseMlp(text.integer("intermediate_size"))
    routed = MoeMlp(
        num_experts=text.integer("moe_num_experts", "n_routed_experts"),
        num_experts_per_tok=text.integer("moe_top_k", "num_experts_per_tok"),
        moe_intermediate_size=text.integer("moe_intermediate_size"),
        shared_intermediate_size=text.integer("share_expert_dim"),
        shared_name="moe.share_expert",
        router_bias=True,
        router_dtype="float32" if text.flag("need_fp32_gate", default=False) else None,
    )
    for index in range(count):
        is_routed = str(index) in numbers if kinds is None else kinds[index] == "sparse"
        yield routed if is_routed else dense


def step_rope(text: ConfigReader, mixer: AnyMixer, index: int) -> Rope:
    """A base and a share for each layer; its scaling is of the kinds that the config names."""
    windowed = isinstance(mixer, SlidingWindowAttention)
    kind = "sliding_attention" if windowed else "full_attention"
    scaled = text.sequence("yarn_only_types")
    theta, share = (
        listed_number(text, field, index) for field in ("rope_theta", "partial_rotary_factors")
    )
    if text.has("rope_scaling", "rope_parameters") and (scaled is None or kind in scaled):
        return replace(read_rope(text, kind), theta=theta or DEFAULT_THETA, share=share or 1.0)
    return Rope(theta=theta or DEFAULT_THETA, share=share or 1.0)


def listed_number(text: ConfigReader, field: str, index: int) -> float | None:
    """A number that a config states for each layer, or once for all."""
    value = text.raw(field)
    if isinstance(value, list):
        if index >= len(value):
            raise text.invalid(field, value, "a number for each layer")
        value = value[index]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def alike(layers: Iterator[Layer]) -> tuple[Layer, ...]:
    """The layers in order; alike ones are one object."""
    seen: dict[Layer, Layer] = {}
    return tuple(seen.setdefault(layer, layer) for layer in layers)


READERS: Final = {
    "DeciLMForCausalLM": decilm,
    "Step3p5ForCausalLM": step3p5,
    "MiMoV2FlashForCausalLM": mimo_v2,
    "MiMoV2ForCausalLM": mimo_v2,
}
