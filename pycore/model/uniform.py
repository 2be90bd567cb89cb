"""Decoders whose every layer has the same full attention: read from a family's row."""

from pycore.errors import UnsupportedModel
from pycore.model.basics import (
    architecture_numbers,
    read_dtype,
    read_length,
    read_num_layers,
    uniform_integer,
)
from pycore.model.config_fields import ConfigReader
from pycore.model.families import FAMILIES, Family, Flag, Moe
from pycore.model.layers import DenseMlp, FeedForward, FullAttention, Layer, MoeMlp
from pycore.model.model import Model
from pycore.model.quantization import read_quantization
from pycore.model.rotary import read_rotary_table


def read_uniform(reader: ConfigReader, architecture: str, name: str) -> Model:
    """A model of one of the ``FAMILIES``."""
    refuse_windows(reader, architecture)
    family = FAMILIES[architecture]
    attention = read_attention(reader, family)
    hidden_size = reader.integer("hidden_size")
    layers = read_layers(reader, family, attention, hidden_size)
    limit_field, limit = read_length(reader)
    dtype, stated = read_dtype(reader)
    positions = limit if family.prefer_model_max_length else reader.integer(limit_field)
    model = Model(
        name=name,
        architecture=architecture,
        hidden_size=hidden_size,
        vocab_size=reader.integer("vocab_size"),
        tie_word_embeddings=reader.flag("tie_word_embeddings", default=family.tied_default),
        dtype=dtype,
        dtype_is_stated=stated,
        model_limit_tokens=limit,
        model_limit_field=limit_field,
        layers=layers,
        rotary_tables=()
        if family.transformers_backend
        else (read_rotary_table(reader, attention.head_dim, positions),),
        final_norm_size=hidden_size * (2 if family.norm_bias else 1),
        quantization=read_quantization(reader),
        ends_on_every_stage=family.ends_on_every_stage,
        # Inverse frequencies twice over, float32, half a head wide.
        extra_buffer_bytes=attention.head_dim * 4 if family.transformers_backend else 0,
        defaulted=reader.defaulted,
        config_read=reader.read,
    )
    model.architecture_numbers.update(architecture_numbers(model, attention))
    return model


def refuse_windows(reader: ConfigReader, architecture: str) -> None:
    """Refuse a config that turns on sliding windows: not every layer keeps every token."""
    if architecture.startswith("Qwen"):
        uses_window = reader.flag("use_sliding_window", default=False)
    else:
        uses_window = reader.has("sliding_window")
    if uses_window and reader.has("sliding_window"):
        reader.raw("sliding_window")
        raise UnsupportedModel(
            "config.sliding_window",
            "unsupported_architecture",
            f"{architecture} with a sliding window cannot be sized yet",
        )
    for name in ("vision_config", "audio_config", "layer_types", "mamba_d_state"):
        layer_types = reader.fields.get(name)
        if layer_types is None or (
            isinstance(layer_types, list) and set(map(str, layer_types)) <= {"full_attention"}
        ):
            continue
        raise UnsupportedModel(
            f"config.{name}",
            "unsupported_architecture",
            f"{architecture} with {name} cannot be sized yet",
        )


def resolve(reader: ConfigReader, flag: Flag | bool) -> bool:
    """A family's yes or no, read from the config where the family says so."""
    if isinstance(flag, bool):
        return flag
    return reader.flag(flag.field, default=flag.default)


def read_attention(reader: ConfigReader, family: Family) -> FullAttention:
    """The attention that every layer has."""
    heads = reader.integer("num_attention_heads")
    kv_heads = reader.integer("num_key_value_heads", default=heads)
    if reader.has("head_dim"):
        head_dim = reader.integer("head_dim")
    else:
        head_dim = reader.integer("hidden_size") // heads
        if head_dim == 0:
            raise reader.invalid("num_attention_heads", heads, "at most hidden_size")
    if heads % kv_heads:
        raise reader.invalid(
            "num_key_value_heads", kv_heads, f"a divisor of num_attention_heads ({heads})"
        )
    flag = family.qk_norm_flag
    return FullAttention(
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        v_head_dim=head_dim,
        qkv_bias=resolve(reader, family.qkv_bias),
        output_bias=resolve(reader, family.output_bias),
        qk_norm=family.qk_norm if flag is None or resolve(reader, flag) else "none",
    )


def read_layers(
    reader: ConfigReader, family: Family, attention: FullAttention, hidden_size: int
) -> tuple[Layer, ...]:
    """The layers in order; alike ones are one object."""
    count = read_num_layers(reader)
    norms = (hidden_size,) * family.num_norms

    def layer(feed_forward: FeedForward) -> Layer:
        return Layer(attention, feed_forward, norms, family.norm_bias)

    moe = family.moe
    if moe is None:
        mlp_bias = resolve(reader, family.mlp_bias)
        width = reader.integer("intermediate_size")
        return (layer(DenseMlp(width, family.gated, mlp_bias)),) * count
    routed = layer(read_moe(reader, moe))
    pattern = [layer_is_routed(reader, moe, index, count) for index in range(count)]
    if all(pattern):
        return (routed,) * count
    mlp_bias = resolve(reader, family.mlp_bias)
    dense = layer(DenseMlp(reader.integer("intermediate_size"), family.gated, mlp_bias))
    return tuple(routed if is_routed else dense for is_routed in pattern)


def layer_is_routed(reader: ConfigReader, moe: Moe, index: int, count: int) -> bool:
    """Whether layer ``index`` has routed experts, by the family's own rule."""
    if moe.first_dense:
        return index >= reader.integer(*moe.first_dense, default=0, minimum=0)
    if moe.sparse_step:
        dense = reader.sequence("mlp_only_layers") or ()
        step = reader.integer("decoder_sparse_step", default=1)
        return index not in dense and (index + 1) % step == 0
    if moe.interval:
        start = reader.integer("moe_layer_start_index", default=0, minimum=0)
        end = reader.integer("moe_layer_end_index", default=count - 1, minimum=-1)
        step = reader.integer("moe_layer_interval", default=1)
        last = count - 1 if end == -1 else end
        return (index + 1) % step == 0 and start <= index <= last
    return True


def read_moe(reader: ConfigReader, moe: Moe) -> MoeMlp:
    """The routed and shared experts of a layer."""
    width = uniform_integer(reader, moe.width)
    shared = 0
    if moe.shared_count:
        shared = width * uniform_integer(reader, moe.shared_count, default=0, minimum=0)
    elif moe.shared_width:
        shared = reader.integer(*moe.shared_width, minimum=0)
    return MoeMlp(
        num_experts=uniform_integer(reader, moe.num_experts),
        num_experts_per_tok=uniform_integer(reader, moe.experts_per_tok),
        moe_intermediate_size=width,
        shared_intermediate_size=shared,
        shared_expert_gate=moe.shared_gate and shared > 0,
        router_bias=resolve(reader, moe.router_bias),
        router_dtype=moe.router_dtype,
    )
