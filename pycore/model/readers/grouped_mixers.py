"""Mixers of models with the same grouped attention in every layer, but for windows.

Source: vLLM 0.33.0, model_executor/models/ (llama.py, qwen2.py, gemma*.py, commandr.py,
gpt_oss.py, llama4.py) and engine/arg_utils.py; transformers 5.24.0 for the periods.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from pycore.errors import UnsupportedModel
from pycore.model.completions import model_type_of
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import (
    AnyMixer,
    ChunkedLocalAttention,
    FullAttention,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)
from pycore.model.readers.layer_pattern import every, read_kinds, read_num_layers

Mixers = tuple[AnyMixer, ...]
Dress = Callable[[FullAttention], FullAttention]

SLIDING: Final = "sliding_attention"
FULL: Final = "full_attention"

# Which layers see all tokens, where a config lists no kinds: one in so many.
# Source: transformers 5.24.0, models/*/configuration_*.py.
PERIODS: Final = {
    "gemma2": 2,
    "gemma3_text": 6,
    "gemma3n_text": 5,
    "gemma4_text": 6,
    "cohere2": 4,
    "cohere2_moe": 4,
    "exaone4": 4,
    "exaone_moe": 4,
    "olmo3": 4,
    "afmoe": 4,
}

# Cohere's window is of the tokens before the current one; the engine counts that one too.
# Source: vLLM 0.33.0, model_executor/models/commandr.py.
EXCLUSIVE_WINDOWS: Final = ("cohere2", "cohere2_moe")


def read_attention(
    reader: ConfigReader, *, sinks: bool = False, of_own_width: bool = True
) -> FullAttention:
    """The heads that a layer of the config has.

    ``of_own_width`` is False for classes that divide the model's width by its heads, whatever
    head_dim says.
    """
    heads = reader.integer("num_attention_heads", "n_head", "n_heads")
    kv_heads = reader.integer(
        "num_key_value_heads",
        "num_kv_heads",
        "n_head_kv",
        "multi_query_group_num",
        "num_attention_groups",
        default=heads,
    )
    stated = reader.optional_integer("head_dim", "kv_channels", minimum=0) if of_own_width else None
    head_dim = stated or reader.derived(
        "head_dim", reader.integer("hidden_size", "n_embd", "d_model") // heads
    )
    if head_dim == 0:
        raise reader.invalid("num_attention_heads", heads, "at most hidden_size")
    return FullAttention(heads, kv_heads, head_dim, head_dim, sinks=sinks)


def attention_inside(mixer: AnyMixer) -> FullAttention | None:
    """The heads of a mixer that has one attention."""
    match mixer:
        case FullAttention():
            return mixer
        case SlidingWindowAttention() | ChunkedLocalAttention() | SharedKeyValueAttention():
            return mixer.attention
        case _:
            return None


def dressed(mixers: Mixers, dress: Dress) -> Mixers:
    """The same mixers with each attention as ``dress`` makes it; alike ones stay one object."""
    made: dict[int, AnyMixer] = {}
    for mixer in mixers:
        if id(mixer) in made:
            continue
        match mixer:
            case FullAttention():
                made[id(mixer)] = dress(mixer)
            case SlidingWindowAttention() | ChunkedLocalAttention() | SharedKeyValueAttention():
                made[id(mixer)] = replace(mixer, attention=dress(mixer.attention))
            case _:
                made[id(mixer)] = mixer
    return tuple(made[id(mixer)] for mixer in mixers)


def read_window(reader: ConfigReader) -> int | None:
    """The window's tokens; None where a null, a zero or a switch turns it off."""
    if reader.has("use_sliding_window") and not reader.flag("use_sliding_window", default=True):
        return None
    return reader.optional_integer("sliding_window", minimum=0) or None


def windowed(attention: FullAttention, window: int | None) -> AnyMixer:
    """Attention with a window, or without one."""
    return attention if window is None else SlidingWindowAttention(attention, window)


def full_everywhere(_: int) -> str:
    """The kind of every layer where nothing says otherwise."""
    return FULL


def read_uniform(reader: ConfigReader) -> Mixers:
    """The same attention in every layer, unless the config itself lists windows.

    Where it lists no kinds, its window counts for every layer: Mistral 7B v0.1, Phi-3.
    """
    attention = read_attention(reader)
    count = read_num_layers(reader)
    window = read_window(reader)
    if window and model_type_of(reader).startswith("qwen"):
        return read_qwen_windows(reader, attention, count, window)
    if reader.has("layer_types"):
        return by_kind(reader, attention, read_kinds(reader, count, None), window)
    return (windowed(attention, window),) * count


def read_qwen_windows(
    reader: ConfigReader, attention: FullAttention, count: int, window: int
) -> Mixers:
    """Qwen's window, where it is switched on: in all layers or in none.

    Source: transformers 5.24.0, models/qwen2/configuration_qwen2.py; vLLM 0.33.0,
    model_executor/models/qwen2.py, which refuses windows in some layers only.
    """
    first = reader.integer("max_window_layers", default=28, minimum=0)
    if 0 < first < count:
        raise UnsupportedModel(
            f"{reader.path}.max_window_layers",
            "unsupported_architecture",
            "vLLM refuses a Qwen model with a window in some layers only "
            f"({first} of {count} without)",
        )
    return (windowed(attention, window if first == 0 else None),) * count


def read_dots1(reader: ConfigReader) -> Mixers:
    """dots.llm1: a window in the layers after max_window_layers, which is none as published.

    Source: transformers 5.24.0, models/dots1/configuration_dots1.py.
    """
    attention, count, window = read_attention(reader), read_num_layers(reader), read_window(reader)
    if window is None:
        return (attention,) * count
    first = reader.integer("max_window_layers", default=62, minimum=0)
    kinds = read_kinds(reader, count, lambda index: SLIDING if index >= first else FULL)
    return by_kind(reader, attention, kinds, window)


def by_kind(
    reader: ConfigReader,
    attention: FullAttention,
    kinds: tuple[str, ...],
    window: int | None,
) -> Mixers:
    """A window where the list of kinds says so."""
    if SLIDING in kinds and window is None:
        raise reader.missing("sliding_window", "layer_types lists layers with a window")
    known = {FULL: attention, SLIDING: windowed(attention, window)}
    for kind in kinds:
        if kind not in known:
            raise reader.invalid("layer_types", kind, f"one of {', '.join(known)}")
    return tuple(known[kind] for kind in kinds)


def read_windowed(reader: ConfigReader) -> Mixers:
    """Windows in most layers and full attention in the rest, by a list or by a period."""
    attention = read_attention(reader)
    count = read_num_layers(reader)
    window = read_window(reader)
    if window is None:
        return (attention,) * count
    model_type = model_type_of(reader)
    period = reader.raw("sliding_window_pattern", "global_attn_every_n_layers")
    if isinstance(period, bool) or not isinstance(period, int) or period < 1:
        period = PERIODS.get(model_type)
    kinds = read_kinds(reader, count, every(period, FULL, SLIDING) if period else None)
    return by_kind(reader, attention, kinds, window + (model_type in EXCLUSIVE_WINDOWS))


def read_cohere2_moe(reader: ConfigReader) -> Mixers:
    """Command A's kind with experts: its first, dense layers have a period of their own.

    Source: transformers 5.24.0, models/cohere2_moe/configuration_cohere2_moe.py.
    """
    attention = read_attention(reader)
    count = read_num_layers(reader)
    dense = reader.integer("first_k_dense_replace", default=0, minimum=0)
    first = every(reader.integer("prefix_dense_sliding_window_pattern", default=1), FULL, SLIDING)
    later = every(reader.integer("sliding_window_pattern", default=4), FULL, SLIDING)

    def kind(index: int) -> str:
        return first(index) if index < dense else later(index - dense)

    window = read_window(reader)
    kinds = read_kinds(reader, count, kind)
    # The engine counts the current token too, as in all of Cohere's.
    return by_kind(reader, attention, kinds, None if window is None else window + 1)


def read_gemma3n(reader: ConfigReader) -> Mixers:
    """Gemma 3n: the last layers read the keys and values of earlier ones."""
    shared = reader.integer("num_kv_shared_layers", default=15, minimum=0)
    return sharing_last(reader, read_windowed(reader), shared)


def sharing_last(reader: ConfigReader, mixers: Mixers, shared: int) -> Mixers:
    """The last ``shared`` layers keep nothing of their own: each reads an earlier one of its kind.

    Source: vLLM 0.33.0, model_executor/models/gemma4.py, which ends where there is none.
    """
    first = max(len(mixers) - shared, 0)
    kept = {type(mixer) for mixer in mixers[:first]}
    if any(type(mixer) not in kept for mixer in mixers[first:]):
        wanted = f"so small that of {len(mixers)} layers one of each kind keeps its own"
        raise reader.invalid("num_kv_shared_layers", shared, wanted)
    sharers = {
        id(mixer): SharedKeyValueAttention(
            mixer.attention if isinstance(mixer, SlidingWindowAttention) else mixer
        )
        for mixer in mixers
        if isinstance(mixer, FullAttention | SlidingWindowAttention)
    }
    return mixers[:first] + tuple(sharers[id(mixer)] for mixer in mixers[first:])


def read_gpt_oss(reader: ConfigReader) -> Mixers:
    """gpt-oss: a window in every other layer, whatever the config lists, and sinks in all."""
    attention = read_attention(reader, sinks=True)
    sliding = windowed(attention, read_window(reader))
    count = read_num_layers(reader)
    return tuple(attention if index % 2 else sliding for index in range(count))


def read_llama4(reader: ConfigReader) -> Mixers:
    """Llama 4: chunks in the layers with rotary positions, full attention in every fourth."""
    attention = read_attention(reader)
    count = read_num_layers(reader)
    chunk = reader.optional_integer("attention_chunk_size")
    if chunk is None:
        return (attention,) * count
    local = ChunkedLocalAttention(attention, chunk)
    listed = reader.sequence("no_rope_layers")
    if listed:
        if len(listed) < count:
            raise reader.invalid("no_rope_layers", listed, f"a list of {count} numbers")
        return tuple(local if has_rotary else attention for has_rotary in listed[:count])
    interval = reader.integer("no_rope_layer_interval", default=4)
    return tuple(local if (index + 1) % interval else attention for index in range(count))
