"""Mixers of models that keep the state of a delta rule or of a convolution in most layers.

Source: vLLM 0.33.0, the layer patterns and state shapes of model_executor/models/
(qwen3_next.py, qwen3_5.py, olmo_hybrid.py, lfm2*.py, bailing_moe_linear.py) and models/kimi_k3/;
transformers 5.24.0 for the defaults.
"""

from dataclasses import replace

from pycore.model.config_fields import ConfigReader
from pycore.model.layers import AnyMixer
from pycore.model.readers.grouped_mixers import read_attention
from pycore.model.readers.latent_mixers import read_latent
from pycore.model.readers.layer_pattern import arranged, every, named, read_kinds, read_num_layers
from pycore.model.readers.recurrent_mixers import read_state_dtype
from pycore.model.recurrent import (
    GatedDeltaNet,
    KimiDeltaAttention,
    LinearAttention,
    ShortConvolution,
)

Mixers = tuple[AnyMixer, ...]


def read_qwen_gdn(reader: ConfigReader, *, is_packed: bool = False) -> Mixers:
    """Qwen3-Next and Qwen3.5: full attention in every fourth layer, gated delta nets in the rest.

    ``is_packed`` is whether the checkpoint is quantised to packed integers (AWQ, GPTQ).

    Qwen3.5's recurrent state has the type that its config names.
    Source: vLLM 0.33.0, model_executor/models/config.py.
    """
    is_next = reader.text("model_type") == "qwen3_next"
    stated = None if is_next else read_state_dtype(reader, "mamba_ssm_dtype")
    count = read_num_layers(reader)
    period = reader.integer("full_attention_interval", default=4)
    kinds = read_kinds(reader, count, every(period, "full_attention", "linear_attention"))
    attention = replace(
        read_attention(reader),
        qkv_bias=reader.has("qkv_bias") and reader.flag("qkv_bias", default=False),
        qk_norm="head",
        output_gate=not reader.has("attn_output_gate")
        or reader.flag("attn_output_gate", default=True),
    )
    state = replace(
        _delta_net(reader, stated),
        interleaved=is_next,
        gates_are_whole=is_packed and not is_next,
    )
    return arranged(reader, kinds, named(attention, state))


def _delta_net(reader: ConfigReader, ssm_dtype: str | None) -> GatedDeltaNet:
    return GatedDeltaNet(
        linear_num_key_heads=reader.integer("linear_num_key_heads", default=16),
        linear_num_value_heads=reader.integer("linear_num_value_heads", default=32),
        linear_key_head_dim=reader.integer("linear_key_head_dim", default=128),
        linear_value_head_dim=reader.integer("linear_value_head_dim", default=128),
        linear_conv_kernel_dim=reader.integer("linear_conv_kernel_dim", default=4),
        ssm_dtype=ssm_dtype,
    )


def read_olmo_hybrid(reader: ConfigReader) -> Mixers:
    """OLMo Hybrid: like Qwen3-Next, with as many linear heads as attention heads."""
    heads = reader.integer("num_attention_heads")
    key_heads = reader.integer("linear_num_key_heads", default=heads)
    key_dim = reader.integer(
        "linear_key_head_dim", default=max(3 * reader.integer("hidden_size") // 4 // key_heads, 1)
    )
    state = GatedDeltaNet(
        linear_num_key_heads=key_heads,
        linear_num_value_heads=reader.integer("linear_num_value_heads", default=heads),
        linear_key_head_dim=key_dim,
        linear_value_head_dim=reader.integer("linear_value_head_dim", default=2 * key_dim),
        linear_conv_kernel_dim=reader.integer("linear_conv_kernel_dim", default=4),
        flashinfer_prefill=False,
        decay_dtype=None,
    )
    attention = replace(read_attention(reader, of_own_width=False), qk_norm="full")
    kinds = read_kinds(
        reader, read_num_layers(reader), every(4, "full_attention", "linear_attention")
    )
    return arranged(reader, kinds, named(attention, state))


def read_lfm2(reader: ConfigReader) -> Mixers:
    """LFM2: a short convolution in most layers, attention in the others."""
    state = ShortConvolution(
        width=reader.integer("conv_dim", "hidden_size"),
        conv_kernel=reader.integer("conv_L_cache", default=3),
        bias=reader.flag("conv_bias", default=False),
    )
    count = read_num_layers(reader)
    attention = replace(read_attention(reader, of_own_width=False), qk_norm="head")
    listed = reader.sequence("full_attn_idxs")
    if listed is not None and not reader.has("layer_types"):
        return tuple(attention if index in listed else state for index in range(count))
    kinds = read_kinds(reader, count, None)
    return arranged(reader, kinds, {"full_attention": attention, "conv": state})


def read_kimi_linear(reader: ConfigReader) -> Mixers:
    """Kimi-Linear and Kimi-K3: delta attention in most layers, latent attention in the rest."""
    linear = reader.section("linear_attn_config")
    if linear is None:
        raise reader.missing("linear_attn_config", "it says which layers keep a state")
    full_rank_gate = linear.flag("use_full_rank_gate", default=False)
    state = KimiDeltaAttention(
        num_heads=linear.integer("num_heads"),
        head_dim=linear.integer("head_dim"),
        conv_kernel=linear.integer("short_conv_kernel_size"),
        has_bounded_gate=full_rank_gate and linear.has("gate_lower_bound"),
        full_rank_gate=full_rank_gate,
    )
    listed = linear.sequence("kda_layers")
    if listed is None:
        raise linear.missing("kda_layers", "it says which layers keep a state")
    states = {linear.checked_integer("kda_layers", layer) for layer in listed}
    gate = reader.flag("mla_use_output_gate", default=False)
    latent = replace(read_latent(reader), output_gate=gate, num_scales=5)
    count = read_num_layers(reader)
    return tuple(state if index + 1 in states else latent for index in range(count))


def read_bailing_linear(reader: ConfigReader) -> Mixers:
    """Ring and Ling 2.5: lightning attention, and latent attention at the end of each group."""
    heads = reader.integer("num_attention_heads")
    head_dim = reader.optional_integer("head_dim") or reader.derived(
        "head_dim", reader.integer("hidden_size") // heads
    )
    state = LinearAttention(heads, head_dim)
    attention = read_latent(reader) if reader.has("kv_lora_rank") else read_attention(reader)
    group = reader.integer("layer_group_size")
    return tuple(
        state if (index + 1) % group else attention for index in range(read_num_layers(reader))
    )
