"""config.json → Model: the only place that knows how checkpoints spell things.

Only architectures whose every layer has the same full attention are read here; any other is
refused by name, with what stands in the way.
"""

import json
from collections.abc import Mapping

from pycore import dtypes
from pycore.errors import InvalidRequest, UnsupportedModel
from pycore.model.config_fields import MISSING, ConfigReader
from pycore.model.families import FAMILIES, NOT_YET, Family, Flag, Moe
from pycore.model.layers import DenseMlp, FeedForward, FullAttention, Layer, MoeMlp
from pycore.model.model import Model
from pycore.model.quantization import read_quantization
from pycore.model.rotary import read_rotary_table

# Where a config states how long the model can go, in the engine's order.
# Source: vLLM 0.33.0, transformers_utils/model_arch_config_convertor.py.
LENGTH_FIELDS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)

# Longest stack of layers that is read: six times the deepest model published.
MOST_LAYERS = 1024


def read_model(config: Mapping[str, object], name: str = "") -> Model:
    """The model that a config.json describes.

    Raises ``UnsupportedModel`` for an architecture that cannot be sized, and ``InvalidRequest``
    for a field that is missing or of the wrong type.
    """
    reader = ConfigReader(config)
    architecture = read_architecture(reader)
    family = FAMILIES[architecture]
    attention = read_attention(reader, family)
    hidden_size = reader.integer("hidden_size")
    layers = read_layers(reader, family, attention, hidden_size)
    limit_field, limit = read_length(reader, family)
    dtype, stated = read_dtype(reader)
    positions = limit if family.prefer_model_max_length else reader.integer(limit_field)
    model = Model(
        name=name or str(config.get("_name_or_path") or architecture),
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


def read_architecture(reader: ConfigReader) -> str:
    """The model's class, refused by name where it cannot be sized."""
    names = reader.sequence("architectures")
    if not names:
        raise reader.missing("architectures", "it names the model class that the engine runs")
    architecture = names[0]
    if not isinstance(architecture, str):
        raise reader.invalid("architectures", architecture, "a list of class names")
    if architecture not in FAMILIES:
        why = NOT_YET.get(architecture, "an architecture whose rules are not known here")
        raise UnsupportedModel(
            "config.architectures",
            "unsupported_architecture",
            f"{architecture} cannot be sized yet: {why}",
            sorted(FAMILIES),
        )
    refuse_windows(reader, architecture)
    return architecture


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
    count = reader.integer("num_hidden_layers", "n_layer", "num_layers")
    if count > MOST_LAYERS:
        raise reader.invalid("num_hidden_layers", count, f"at most {MOST_LAYERS}")
    norms = (hidden_size,) * family.num_norms

    def layer(feed_forward: FeedForward) -> Layer:
        return Layer(attention, feed_forward, norms, family.norm_bias)

    moe = family.moe
    if moe is None:
        mlp_bias = resolve(reader, family.mlp_bias)
        width = reader.integer("intermediate_size")
        return (layer(DenseMlp(width, family.gated, mlp_bias)),) * count
    routed = layer(read_moe(reader, moe, hidden_size))
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


def read_moe(reader: ConfigReader, moe: Moe, hidden_size: int) -> MoeMlp:
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


def uniform_integer(
    reader: ConfigReader, names: tuple[str, ...], default: int | None = None, minimum: int = 1
) -> int:
    """A whole number, or a list that holds the same one for every layer."""
    value = reader.raw(*names)
    if isinstance(value, list) and value:
        if any(item != value[0] for item in value):
            raise UnsupportedModel(
                f"{reader.path}.{names[0]}",
                "unsupported_architecture",
                f"{names[0]} differs from layer to layer, which cannot be sized yet",
            )
        return reader.checked_integer(names[0], value[0], minimum)
    return reader.integer(*names, default=default, minimum=minimum)


def read_length(reader: ConfigReader, family: Family) -> tuple[str, int]:
    """The field that limits the model's length, and the limit in tokens.

    Source: vLLM 0.33.0, config/model.py (_get_and_verify_max_len).
    """
    if family.prefer_model_max_length and reader.has("model_max_length"):
        return "model_max_length", reader.integer("model_max_length")
    found = [
        (reader.checked_integer(name, value), name)
        for name in LENGTH_FIELDS
        if (value := reader.raw(name)) is not MISSING
    ]
    if not found:
        raise reader.missing("max_position_embeddings", "nothing limits the model's length")
    limit, name = min(found)
    scaling = reader.section("rope_scaling", "rope_parameters")
    if scaling is not None:
        kind = scaling.text("rope_type", "type")
        if kind not in ("su", "longrope", "llama3", "yarn", "deepseek_yarn"):
            limit = int(limit * scaling.number("factor", default=1.0))
    return name, limit


def read_dtype(reader: ConfigReader) -> tuple[str, bool]:
    """The checkpoint's element type, and whether the config states it."""
    value = dtypes.canonical(reader.text("dtype", "torch_dtype"))
    if not value:
        reader.defaulted["torch_dtype"] = "float32"
        return "float32", False
    if value not in dtypes.MODEL_DTYPES:
        raise InvalidRequest(
            "config.torch_dtype",
            "wrong_type",
            f"torch_dtype {value!r} is not one that weights come in",
            dtypes.MODEL_DTYPES,
        )
    return value, True


def architecture_numbers(
    model: Model, attention: FullAttention
) -> dict[str, int | float | bool | str]:
    """The model's own numbers under Hugging Face's names."""
    numbers: dict[str, int | float | bool | str] = {
        "num_hidden_layers": len(model.layers),
        "hidden_size": model.hidden_size,
        "num_attention_heads": attention.num_attention_heads,
        "num_key_value_heads": attention.num_key_value_heads,
        "head_dim": attention.head_dim,
        "vocab_size": model.vocab_size,
        "max_position_embeddings": model.model_limit_tokens,
        "tie_word_embeddings": model.tie_word_embeddings,
        "dtype": model.dtype,
    }
    for layer in model.layers:
        match layer.feed_forward:
            case DenseMlp() as mlp:
                numbers["intermediate_size"] = mlp.intermediate_size
            case MoeMlp() as moe:
                numbers["num_experts"] = moe.num_experts
                numbers["num_experts_per_tok"] = moe.num_experts_per_tok
                numbers["moe_intermediate_size"] = moe.moe_intermediate_size
    return numbers


def parse_config_text(text: str) -> dict[str, object]:
    """The JSON object of a config.json's text."""
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("config", "not_json", f"the config is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise InvalidRequest("config", "wrong_type", "the config must be a JSON object")
    return config
