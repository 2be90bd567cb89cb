"""Mixers of models whose layers differ in their heads, or that have two attentions in a layer.

Source: vLLM 0.33.0, model_executor/models/ (gemma4.py, nemotron_nas.py, mimo_v2.py, step3p5.py,
falcon.py, dbrx.py, whisper.py).
"""

from dataclasses import replace

from pycore.model.config_fields import ConfigReader
from pycore.model.layers import (
    AnyMixer,
    CrossAttention,
    FullAttention,
    NoMixer,
    SlidingWindowAttention,
)
from pycore.model.readers.grouped_mixers import (
    Mixers,
    by_kind,
    full_everywhere,
    read_attention,
    read_window,
    read_windowed,
    sharing_last,
)
from pycore.model.readers.layer_pattern import read_kinds, read_num_layers


def read_gemma4(reader: ConfigReader) -> Mixers:
    """Gemma 4: full layers have wider and fewer heads, and the last layer is always full."""
    mixers = read_windowed(reader)
    sliding = read_attention(reader)
    kv_heads = sliding.num_key_value_heads
    if reader.flag("attention_k_eq_v", default=False):
        kv_heads = reader.integer("num_global_key_value_heads", default=kv_heads)
    width = reader.integer("global_head_dim", default=512)
    full = replace(sliding, num_key_value_heads=kv_heads, head_dim=width, v_head_dim=width)
    mixers = tuple(full if isinstance(mixer, FullAttention) else mixer for mixer in mixers)
    shared = reader.integer("num_kv_shared_layers", default=0, minimum=0)
    return sharing_last(reader, (*mixers[:-1], full), shared)


def read_decilm(reader: ConfigReader) -> Mixers:
    """Nemotron from architecture search: some layers without attention, others of other groups."""
    heads = reader.integer("num_attention_heads")
    head_dim = read_attention(reader).head_dim
    blocks = reader.sequence("block_configs")
    count = read_num_layers(reader)
    if blocks is None or len(blocks) < count:
        raise reader.missing("block_configs", "it says what each layer is")
    nothing = NoMixer()
    kinds: dict[int, FullAttention] = {}
    mixers: list[AnyMixer] = []
    for index, block in enumerate(blocks[:count]):
        if not isinstance(block, dict):
            raise reader.invalid("block_configs", block, "a list of objects")
        path = f"{reader.path}.block_configs[{index}]"
        attention = ConfigReader(block, path).section("attention")
        if attention is None or attention.flag("no_op", default=False):
            mixers.append(nothing)
            continue
        group = attention.integer("n_heads_in_group")
        kv_heads = max(heads // group, 1)
        mixers.append(kinds.setdefault(group, FullAttention(heads, kv_heads, head_dim, head_dim)))
    return tuple(mixers)


def read_mimo_v2(reader: ConfigReader) -> Mixers:
    """MiMo-V2: windowed layers have heads of their own, and values narrower than keys."""
    full = read_attention(reader)
    full = replace(full, v_head_dim=reader.optional_integer("v_head_dim") or full.head_dim)
    head_dim = reader.integer("swa_head_dim", default=full.head_dim)
    sliding = FullAttention(
        reader.integer("swa_num_attention_heads", default=full.num_attention_heads),
        reader.integer("swa_num_key_value_heads", default=full.num_key_value_heads),
        head_dim,
        reader.optional_integer("swa_v_head_dim") or head_dim,
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
    kinds = read_kinds(reader, read_num_layers(reader), full_everywhere)
    full = read_attention(reader)
    other = reader.section("attention_other_setting")
    heads = reader.optional_integer("num_sliding_attention_heads")
    if heads is None and other is not None:
        heads = other.optional_integer("num_attention_heads")
    mixers = by_kind(reader, full, kinds, read_window(reader))
    sliding = replace(full, num_attention_heads=heads or full.num_attention_heads)
    wide = {
        id(mixer): replace(mixer, attention=sliding)
        for mixer in mixers
        if isinstance(mixer, SlidingWindowAttention)
    }
    return tuple(wide.get(id(mixer), mixer) for mixer in mixers)


def read_multi_query(reader: ConfigReader) -> Mixers:
    """ChatGLM and GPT-BigCode: a flag says whether queries share keys and values."""
    attention = read_attention(reader, of_own_width=False)
    heads = attention.num_attention_heads
    kv_heads = attention.num_key_value_heads
    shares = reader.flag("multi_query_attention", "multi_query", default=kv_heads != heads)
    stated = reader.optional_integer("multi_query_group_num", "num_key_value_heads")
    attention = replace(attention, num_key_value_heads=(stated or 1) if shares else heads)
    return (attention,) * read_num_layers(reader)


def read_falcon(reader: ConfigReader) -> Mixers:
    """Falcon: one KV head in its first generation, several in the second."""
    attention = read_attention(reader)
    if not reader.flag("new_decoder_architecture", default=False):
        kv_heads = attention.num_attention_heads
        if reader.flag("multi_query", default=True):
            kv_heads = 1
        attention = replace(attention, num_key_value_heads=kv_heads)
    rotates = not reader.flag("alibi", default=False)
    return (replace(attention, keeps_model_dtype=rotates),) * read_num_layers(reader)


def read_dbrx(reader: ConfigReader) -> Mixers:
    """DBRX keeps its KV heads in a section of their own."""
    attention = read_attention(reader)
    section = reader.section("attn_config")
    if section is not None:
        kv_heads = section.integer("kv_n_heads", default=attention.num_attention_heads)
        attention = replace(attention, num_key_value_heads=kv_heads)
    return (attention,) * read_num_layers(reader)


def read_whisper(reader: ConfigReader) -> Mixers:
    """Whisper's decoder: each layer attends to itself and to the encoder."""
    heads = reader.integer("decoder_attention_heads")
    head_dim = max(reader.integer("d_model") // heads, 1)
    attention = FullAttention(heads, heads, head_dim, head_dim, qkv_bias=True, output_bias=True)
    layers = reader.integer("decoder_layers")
    return (CrossAttention(attention, attention),) * layers
