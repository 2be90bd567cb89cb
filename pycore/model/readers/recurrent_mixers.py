"""Mixers of models that keep a Mamba's state in some layers or in all.

Source: vLLM 0.33.0, the get_mamba_state_shape_from_config and the layer patterns of
model_executor/models/ (jamba.py, mamba*.py, falcon_h1.py, granitemoehybrid.py, nemotron_h.py,
zamba2.py); transformers 5.24.0 for the defaults.
"""

from dataclasses import replace
from typing import Final

from pycore import dtypes
from pycore.model.config_fields import MISSING, ConfigReader
from pycore.model.layers import AnyMixer, FullAttention, NoMixer, ParallelMixers
from pycore.model.readers.grouped_mixers import read_attention
from pycore.model.readers.layer_pattern import (
    ATTENTION_NAMES,
    MOST_LAYERS,
    STATE_NAMES,
    arranged,
    checked_kinds,
    named,
    read_kinds,
    read_num_layers,
)
from pycore.model.recurrent import Mamba1, Mamba2
from pycore.units import ceil_div

Mixers = tuple[AnyMixer, ...]

NEMOTRON_LETTERS: Final = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def read_state_dtype(reader: ConfigReader, name: str, default: str = "auto") -> str | None:
    """The element type of the recurrent part of a state; None is the model's."""
    stated = reader.text(name, default=default)
    if stated == "auto":
        return None
    dtype = dtypes.canonical(stated)
    if dtype not in dtypes.MODEL_DTYPES:
        raise reader.invalid(name, stated, f"auto or one of {', '.join(dtypes.MODEL_DTYPES)}")
    return dtype


def read_jamba(reader: ConfigReader) -> Mixers:
    """Jamba: attention in one layer of each period, Mamba in the rest."""
    state = Mamba1(
        intermediate_size=reader.integer("mamba_expand", default=2) * reader.integer("hidden_size"),
        state_size=reader.integer("mamba_d_state", default=16),
        conv_kernel=reader.integer("mamba_d_conv", default=4),
        time_step_rank=read_time_step_rank(reader, "mamba_dt_rank"),
        conv_bias=reader.flag("mamba_conv_bias", default=True),
        proj_bias=reader.flag("mamba_proj_bias", default=False),
        inner_norms=True,
    )
    attention = read_attention(reader, of_own_width=False)
    period = reader.integer("attn_layer_period", default=8)
    offset = reader.integer("attn_layer_offset", default=4, minimum=0)
    count = read_num_layers(reader)
    return tuple(attention if index % period == offset else state for index in range(count))


def read_time_step_rank(reader: ConfigReader, name: str) -> int:
    """Width of what time steps are projected from: a sixteenth of the model's, unless stated."""
    if reader.raw(name) in (MISSING, "auto"):
        rank = ceil_div(reader.integer("hidden_size", "d_model"), 16)
        reader.defaulted[name] = rank
        return rank
    return reader.integer(name)


def read_mamba(reader: ConfigReader) -> Mixers:
    """Mamba and Falcon Mamba: nothing but states."""
    hidden_size = reader.integer("hidden_size", "d_model")
    width = reader.optional_integer("intermediate_size", "d_inner")
    state = Mamba1(
        intermediate_size=width or reader.integer("expand", default=2) * hidden_size,
        state_size=reader.integer("state_size", default=16),
        conv_kernel=reader.integer("conv_kernel", default=4),
        time_step_rank=read_time_step_rank(reader, "time_step_rank"),
        conv_bias=reader.flag("use_conv_bias", default=True),
        proj_bias=reader.flag("use_bias", default=False),
    )
    return (state,) * read_num_layers(reader)


def read_mamba2(reader: ConfigReader) -> Mixers:
    """Mamba 2: nothing but states."""
    state = Mamba2(
        num_heads=reader.integer("num_heads", default=128),
        head_dim=reader.integer("head_dim", default=64),
        n_groups=reader.integer("n_groups", default=8),
        state_size=reader.integer("state_size", default=128),
        conv_kernel=reader.integer("conv_kernel", default=4),
        intermediate_size=reader.integer("expand", default=2) * reader.integer("hidden_size"),
        conv_bias=reader.flag("use_conv_bias", default=True),
        proj_bias=reader.flag("use_bias", default=False),
    )
    return (state,) * read_num_layers(reader)


def read_falcon_h1(reader: ConfigReader) -> Mixers:
    """Falcon-H1: attention and Mamba 2 side by side in every layer."""
    heads = reader.integer("mamba_n_heads", default=128)
    width = reader.optional_integer("mamba_d_ssm")
    if width is None:
        width = reader.integer("mamba_expand", default=2) * reader.integer("hidden_size")
    state = replace(
        _bamba_state(reader, heads, width),
        gated_norm=reader.flag("mamba_rms_norm", default=False),
        multipliers=True,
    )
    both = ParallelMixers(read_attention(reader), state)
    return (both,) * read_num_layers(reader)


def _bamba_state(reader: ConfigReader, heads: int, width: int) -> Mamba2:
    stated = reader.raw("mamba_d_head")
    return Mamba2(
        num_heads=heads,
        head_dim=width // heads if stated == "auto" else reader.integer("mamba_d_head"),
        n_groups=reader.integer("mamba_n_groups", default=1),
        state_size=reader.integer("mamba_d_state", default=256),
        conv_kernel=reader.integer("mamba_d_conv", default=4),
        intermediate_size=width,
        conv_bias=reader.flag("mamba_conv_bias", default=True),
        proj_bias=reader.flag("mamba_proj_bias", default=False),
    )


def read_granite_hybrid(reader: ConfigReader) -> Mixers:
    """Granite 4: Mamba 2 in most layers; its small models have attention in all."""
    count = read_num_layers(reader)
    kinds = read_kinds(
        reader, count, lambda _: "linear_attention", "layer_types", "layers_block_type"
    )
    bias = reader.flag("attention_bias", default=False)
    attention = replace(read_attention(reader, of_own_width=False), qkv_bias=bias, output_bias=bias)
    if all(kind in ATTENTION_NAMES for kind in kinds):
        return (attention,) * count
    heads = reader.integer("mamba_n_heads", default=128)
    width = reader.integer("mamba_expand", default=2) * reader.integer("hidden_size")
    return arranged(reader, kinds, named(attention, _bamba_state(reader, heads, width)))


def read_nemotron_h(reader: ConfigReader) -> Mixers:
    """Nemotron-H: Mamba 2, attention, and feed-forwards as layers of their own.

    Its states are float32 unless the config says otherwise.
    Source: vLLM 0.33.0, model_executor/models/config.py, NemotronHForCausalLMConfig.
    """
    heads = reader.integer("mamba_num_heads", default=128)
    head_dim = reader.integer("mamba_head_dim", default=64)
    state = Mamba2(
        num_heads=heads,
        head_dim=head_dim,
        n_groups=reader.integer("n_groups", "mamba_n_groups", default=8),
        state_size=reader.integer("ssm_state_size", default=128),
        conv_kernel=reader.integer("conv_kernel", "mamba_d_conv", default=4),
        intermediate_size=heads * head_dim,
        ssm_dtype=read_state_dtype(reader, "mamba_ssm_cache_dtype", "float32"),
        conv_bias=reader.flag("use_conv_bias", "mamba_conv_bias", default=True),
        proj_bias=reader.flag("use_bias", default=False),
    )
    nothing = NoMixer()
    mixers = {**named(read_attention(reader), state), "mlp": nothing, "moe": nothing}
    return arranged(reader, read_nemotron_kinds(reader), mixers)


def read_nemotron_kinds(reader: ConfigReader) -> tuple[str, ...]:
    """What each layer of a Nemotron-H is: a list of names, or a letter for each."""
    listed = reader.sequence("layers_block_type", "layer_types")
    if listed is not None:
        kinds = checked_kinds(reader, "layers_block_type", listed, len(listed))
    else:
        pattern = reader.text("hybrid_override_pattern")
        kinds = tuple(NEMOTRON_LETTERS.get(letter, letter) for letter in pattern)
    if not 0 < len(kinds) <= MOST_LAYERS:
        raise reader.missing("hybrid_override_pattern", "it says what each layer is")
    return kinds


def read_zamba2(reader: ConfigReader) -> Mixers:
    """Zamba 2: Mamba 2 in every layer, and a shared attention beside it in some."""
    hidden_size = reader.integer("hidden_size")
    attention_heads = reader.integer("num_attention_heads", default=32)
    kv_heads = reader.integer("num_key_value_heads", default=attention_heads)
    head_dim = 2 * hidden_size // attention_heads
    heads = reader.integer("n_mamba_heads", default=8)
    width = reader.integer("mamba_expand", default=2) * hidden_size
    state = Mamba2(
        num_heads=heads,
        head_dim=width // heads,
        n_groups=reader.integer("mamba_ngroups", default=1),
        state_size=reader.integer("mamba_d_state", default=64),
        conv_kernel=reader.integer("mamba_d_conv", default=4),
        intermediate_size=width,
        conv_bias=reader.flag("use_conv_bias", default=True),
        proj_bias=reader.flag("add_bias_linear", default=False),
    )
    both = ParallelMixers(
        FullAttention(attention_heads, kv_heads, head_dim, head_dim),
        state,
        attention_is_shared=True,
    )
    count = read_num_layers(reader)
    kinds = read_kinds(reader, count, None, "layers_block_type", "layer_types")
    return arranged(reader, kinds, {"hybrid": both, **dict.fromkeys(STATE_NAMES, state)})
