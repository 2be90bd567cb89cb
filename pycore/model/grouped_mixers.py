"""Mixers of models with grouped attention: uniform, with windows or chunks, or of mixed heads.

Source: vLLM 0.33.0, model_executor/models/ (llama.py, gemma*.py, gpt_oss.py, llama4.py,
nemotron_nas.py, mimo_v2.py, step3p5.py, whisper.py); transformers 5.24.0 for the defaults.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from pycore.errors import UnsupportedModel
from pycore.model.config_fields import ConfigReader
from pycore.model.layer_pattern import every, read_kinds, read_num_layers
from pycore.model.layers import (
    AnyMixer,
    ChunkedLocalAttention,
    CrossAttention,
    FullAttention,
    NoMixer,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)

Mixers = tuple[AnyMixer, ...]

SLIDING: Final = "sliding_attention"
FULL: Final = "full_attention"


@dataclass(frozen=True, slots=True)
class Defaults:
    """What transformers completes a sparse config with; None where it cannot."""

    num_hidden_layers: int | None = None
    num_attention_heads: int | None = None
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    sliding_window: int | None = None
    kinds: Callable[[int], str] | None = None
    extra_window_tokens: int = 0
    """Tokens that the engine adds to the window (Cohere's sees itself and 4,096 more)."""


NO_DEFAULTS: Final = Defaults()

BY_MODEL_TYPE: Final[dict[str, Defaults]] = {
    "gemma2": Defaults(26, 8, 4, 256, 4096, every(2, FULL, SLIDING)),
    "gemma3_text": Defaults(26, 8, 4, 256, 4096, every(6, FULL, SLIDING)),
    "gemma3n_text": Defaults(35, 8, 2, 256, 512, every(5, FULL, SLIDING)),
    "gemma4_text": Defaults(30, 8, 4, 256, 512, every(6, FULL, SLIDING)),
    "cohere2": Defaults(40, 64, None, None, 4096, every(4, FULL, SLIDING), 1),
    "cohere2_moe": Defaults(None, None, None, None, 4096, every(4, FULL, SLIDING), 1),
    "exaone4": Defaults(32, 32, 32, None, 4096, every(4, FULL, SLIDING)),
    "exaone_moe": Defaults(32, 32, 32, None, 4096, every(4, FULL, SLIDING)),
    "olmo3": Defaults(32, 32, None, None, 4096, every(4, FULL, SLIDING)),
    "afmoe": Defaults(32, None, None, 128, 1024, every(4, FULL, SLIDING)),
    "gpt_oss": Defaults(36, 64, 8, 64, 128),
    "llama4_text": Defaults(48, 40, 8, 128),
    "mistral": Defaults(32, 32, 8, None, 4096),
    "ministral3": Defaults(34, 32, 8, 128),
    "step3p5": Defaults(45, 64, 8, 128),
}


def defaults_of(reader: ConfigReader, model_type: str = "") -> Defaults:
    """The defaults of the config's own model type, or of ``model_type`` where it names none."""
    stated = reader.text("model_type", default=model_type)
    return BY_MODEL_TYPE.get(stated, NO_DEFAULTS)


def read_attention(
    reader: ConfigReader, defaults: Defaults = NO_DEFAULTS, *, sinks: bool = False
) -> FullAttention:
    """The heads that a layer of the config has."""
    heads = reader.integer(
        "num_attention_heads", "n_head", "n_heads", default=defaults.num_attention_heads
    )
    kv_heads = reader.integer(
        "num_key_value_heads",
        "num_kv_heads",
        "n_head_kv",
        "multi_query_group_num",
        "num_attention_groups",
        default=defaults.num_key_value_heads or heads,
    )
    head_dim = reader.optional_integer("head_dim", "attention_head_dim", "kv_channels")
    if head_dim is None:
        head_dim = defaults.head_dim
        if head_dim is None:
            head_dim = reader.integer("hidden_size", "n_embd", "d_model") // heads
        if head_dim == 0:
            raise reader.invalid("num_attention_heads", heads, "at most hidden_size")
    return FullAttention(heads, kv_heads, head_dim, head_dim, sinks=sinks)


def read_window(reader: ConfigReader, defaults: Defaults) -> int | None:
    """The window's tokens; None where a null or a zero turns it off."""
    if "sliding_window" in reader.fields:
        return reader.optional_integer("sliding_window", minimum=0) or None
    if defaults.sliding_window is not None:
        reader.defaulted["sliding_window"] = defaults.sliding_window
    return defaults.sliding_window


def full_everywhere(_: int) -> str:
    """The kind of every layer where nothing says otherwise."""
    return FULL


def windowed(attention: FullAttention, window: int | None) -> AnyMixer:
    """Attention with a window, or without one."""
    return attention if window is None else SlidingWindowAttention(attention, window)


def read_uniform(reader: ConfigReader) -> Mixers:
    """The same attention in every layer, unless the config itself lists windows.

    Where it lists no kinds, its window counts for every layer: Mistral 7B v0.1, Phi-3.
    """
    defaults = defaults_of(reader)
    attention = read_attention(reader, defaults)
    count = read_num_layers(reader, defaults.num_hidden_layers)
    window = read_window(reader, defaults)
    if reader.text("model_type").startswith("qwen"):
        return read_qwen_windows(reader, attention, count, window)
    if reader.has("layer_types"):
        return by_kind(reader, attention, read_kinds(reader, count, None), window)
    return (windowed(attention, window),) * count


def read_qwen_windows(
    reader: ConfigReader, attention: FullAttention, count: int, window: int | None
) -> Mixers:
    """Qwen's window counts only where it is switched on, and then in all layers or in none.

    Source: transformers 5.24.0, models/qwen2/configuration_qwen2.py; vLLM 0.33.0,
    model_executor/models/qwen2.py, which refuses windows in some layers only.
    """
    if window is None or not reader.flag("use_sliding_window", default=False):
        return (attention,) * count
    first = reader.integer("max_window_layers", default=28, minimum=0)
    if 0 < first < count:
        raise UnsupportedModel(
            f"{reader.path}.max_window_layers",
            "unsupported_architecture",
            f"vLLM refuses a Qwen model with a window in some layers only ({first} of {count} "
            "without)",
        )
    return (windowed(attention, window if first == 0 else None),) * count


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
    defaults = defaults_of(reader)
    count = read_num_layers(reader, defaults.num_hidden_layers)
    attention = read_attention(reader, defaults)
    window = read_window(reader, defaults)
    period = reader.raw("sliding_window_pattern", "global_attn_every_n_layers")
    default = defaults.kinds
    if isinstance(period, int) and not isinstance(period, bool) and period > 0:
        default = every(period, FULL, SLIDING)
    kinds = read_kinds(reader, count, full_everywhere if window is None else default)
    if window is None:
        return (attention,) * count
    return by_kind(reader, attention, kinds, window + defaults.extra_window_tokens)


def read_gemma3n(reader: ConfigReader) -> Mixers:
    """Gemma 3n: the last layers read the keys and values of earlier ones."""
    mixers = read_windowed(reader)
    shared = reader.integer("num_kv_shared_layers", default=15, minimum=0)
    return sharing_last(mixers, shared)


def sharing_last(mixers: Mixers, shared: int) -> Mixers:
    """The last ``shared`` layers keep nothing of their own."""
    first = max(len(mixers) - shared, 0)
    sharers = {
        id(mixer): SharedKeyValueAttention(
            mixer.attention if isinstance(mixer, SlidingWindowAttention) else mixer
        )
        for mixer in mixers
        if isinstance(mixer, FullAttention | SlidingWindowAttention)
    }
    return mixers[:first] + tuple(sharers[id(mixer)] for mixer in mixers[first:])


def read_gemma4(reader: ConfigReader) -> Mixers:
    """Gemma 4: full layers have wider and fewer heads, and the last layer is always full."""
    mixers = read_windowed(reader)
    sliding = read_attention(reader, defaults_of(reader))
    kv_heads = sliding.num_key_value_heads
    if reader.flag("attention_k_eq_v", default=False):
        kv_heads = reader.integer("num_global_key_value_heads", default=kv_heads)
    width = reader.integer("global_head_dim", default=512)
    full = replace(sliding, num_key_value_heads=kv_heads, head_dim=width, v_head_dim=width)
    mixers = tuple(full if isinstance(mixer, FullAttention) else mixer for mixer in mixers)
    shared = reader.integer("num_kv_shared_layers", default=0, minimum=0)
    return sharing_last((*mixers[:-1], full), shared)


def read_gpt_oss(reader: ConfigReader) -> Mixers:
    """gpt-oss: a window in every other layer, whatever the config lists, and sinks in all."""
    defaults = defaults_of(reader, "gpt_oss")
    attention = read_attention(reader, defaults, sinks=True)
    sliding = windowed(attention, read_window(reader, defaults))
    count = read_num_layers(reader, defaults.num_hidden_layers)
    return tuple(attention if index % 2 else sliding for index in range(count))


def read_llama4(reader: ConfigReader) -> Mixers:
    """Llama 4: chunks in the layers with rotary positions, full attention in every fourth."""
    defaults = defaults_of(reader, "llama4_text")
    attention = read_attention(reader, defaults)
    count = read_num_layers(reader, defaults.num_hidden_layers)
    chunk: int | None = 8192
    if "attention_chunk_size" in reader.fields:
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


def read_decilm(reader: ConfigReader) -> Mixers:
    """Nemotron from architecture search: some layers without attention, others of other groups."""
    count = read_num_layers(reader)
    heads = reader.integer("num_attention_heads")
    head_dim = reader.optional_integer("head_dim") or reader.integer("hidden_size") // heads
    blocks = reader.sequence("block_configs")
    if blocks is None or len(blocks) < count:
        raise reader.missing("block_configs", "it says what each layer is")
    nothing = NoMixer()
    kinds: dict[int, FullAttention] = {}
    mixers: list[AnyMixer] = []
    for index in range(count):
        block = blocks[index]
        if not isinstance(block, dict):
            raise reader.invalid("block_configs", block, "a list of objects")
        attention = ConfigReader(block, f"{reader.path}.block_configs[{index}]").section(
            "attention"
        )
        if attention is None or attention.flag("no_op", default=False):
            mixers.append(nothing)
            continue
        group = attention.integer("n_heads_in_group")
        mixers.append(
            kinds.setdefault(group, FullAttention(heads, heads // group, head_dim, head_dim))
        )
    return tuple(mixers)


def read_mimo_v2(reader: ConfigReader) -> Mixers:
    """MiMo-V2: windowed layers have heads of their own, and values narrower than keys."""
    full = read_attention(reader)
    width = reader.optional_integer("v_head_dim") or full.head_dim
    full = replace(full, v_head_dim=width)
    swa_head_dim = reader.integer("swa_head_dim", default=full.head_dim)
    sliding = FullAttention(
        reader.integer("swa_num_attention_heads", default=full.num_attention_heads),
        reader.integer("swa_num_key_value_heads", default=full.num_key_value_heads),
        swa_head_dim,
        reader.optional_integer("swa_v_head_dim") or swa_head_dim,
        sinks=reader.flag("add_swa_attention_sink_bias", default=False),
    )
    window = SlidingWindowAttention(sliding, reader.integer("sliding_window_size"))
    count = read_num_layers(reader)
    pattern = reader.sequence("hybrid_layer_pattern")
    if pattern is None or len(pattern) < count:
        raise reader.missing("hybrid_layer_pattern", "it says which layers have a window")
    return tuple(window if slides == 1 else full for slides in pattern[:count])


def read_step3p5(reader: ConfigReader) -> Mixers:
    """Step 3.5: windowed layers have more query heads, but the same keys and values."""
    defaults = defaults_of(reader, "step3p5")
    count = read_num_layers(reader, defaults.num_hidden_layers)
    attention = read_attention(reader, defaults)
    kinds = read_kinds(reader, count, full_everywhere)
    return by_kind(reader, attention, kinds, read_window(reader, defaults))


def read_whisper(reader: ConfigReader) -> Mixers:
    """Whisper's decoder: each layer attends to itself and to the encoder."""
    heads = reader.integer("decoder_attention_heads")
    head_dim = reader.integer("d_model") // heads
    attention = FullAttention(heads, heads, head_dim, head_dim)
    return (CrossAttention(attention, attention),) * reader.integer("decoder_layers")
