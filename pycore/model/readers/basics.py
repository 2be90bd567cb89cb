"""What every family of models states alike: length, element type, a list that must be uniform."""

from pycore import dtypes
from pycore.errors import InvalidRequest, UnsupportedModel
from pycore.model.config_fields import MISSING, ConfigReader
from pycore.model.layers import DenseMlp, FullAttention, MoeMlp
from pycore.model.model import Model

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

# Scalings with which a config states the length that they reach already.
# Source: vLLM 0.33.0, config/model.py (_get_and_verify_max_len).
LENGTH_INCLUDED = ("su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling")

# Longest stack of layers that is read: six times the deepest model published.
MOST_LAYERS = 1024


def read_length(reader: ConfigReader) -> tuple[str, int]:
    """The field that limits the model's length, and the limit in tokens.

    The least of those that are there, but model_max_length before all (Command-R).
    Source: vLLM 0.33.0, transformers_utils/model_arch_config_convertor.py
    (derive_max_model_len_and_key), config/model.py (_get_and_verify_max_len).
    """
    names = ("model_max_length",) if reader.has("model_max_length") else LENGTH_FIELDS
    found = [
        (reader.checked_integer(name, value), name)
        for name in names
        if (value := reader.raw(name)) is not MISSING
    ]
    if not found:
        raise reader.missing("max_position_embeddings", "nothing limits the model's length")
    limit, name = min(found)
    if "gemma3" in reader.text("model_type"):
        return name, limit  # Gemma 3 states its length with the scaling already in it.
    return name, int(limit * stretch(reader))


def stretch(reader: ConfigReader) -> float:
    """How much longer rope scaling makes requests than the length that the config states.

    The last layer kind that states a factor decides; they are taken to agree.
    """
    whole = reader.section("rope_scaling", "rope_parameters")
    if whole is None:
        return 1.0
    kinds = [name for name, value in whole.fields.items() if isinstance(value, dict)]
    sections = [part for name in kinds if (part := whole.section(name)) is not None]
    factor = 1.0
    for section in sections or [whole]:
        if section.text("rope_type", "type") not in LENGTH_INCLUDED:
            factor = section.number("factor", default=factor)
    return factor


def read_default_length(text: ConfigReader, limit: int) -> int | None:
    """The request that the engine allows unasked, where that is not the longest: with longrope.

    Longer ones would be served worse at every length, so they have to be asked for.
    Source: vLLM 0.33.0, config/model.py (_get_and_verify_max_len).
    """
    scaling = text.section("rope_scaling", "rope_parameters")
    if scaling is None or scaling.text("rope_type", "type") not in ("longrope", "su"):
        return None
    return text.optional_integer("original_max_position_embeddings") or limit


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


def read_num_layers(reader: ConfigReader) -> int:
    """Decoder layers."""
    count = reader.integer("num_hidden_layers", "n_layer", "num_layers")
    if count > MOST_LAYERS:
        raise reader.invalid("num_hidden_layers", count, f"at most {MOST_LAYERS}")
    return count


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
