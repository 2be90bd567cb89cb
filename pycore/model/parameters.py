"""The tensors that a decoder layer is made of."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, assert_never

from pycore.errors import UnsupportedModel
from pycore.model.delta_parameters import delta_attention_tensors
from pycore.model.latent import CompressedAttention, LatentAttention
from pycore.model.latent_parameters import compressed_tensors, latent_tensors
from pycore.model.layers import (
    AnyMixer,
    ChunkedLocalAttention,
    DenseMlp,
    FullAttention,
    Layer,
    MoeMlp,
    NoMixer,
    ParallelMixers,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)
from pycore.model.recurrent import (
    GatedDeltaNet,
    KimiDeltaAttention,
    LinearAttention,
    Mamba1,
    Mamba2,
    ShortConvolution,
)
from pycore.model.recurrent_parameters import recurrent_tensors
from pycore.model.tensors import Linear, Rows, Split, Tensor, Vector

ATTENTION: Final = "self_attn"


def layer_tensors(layer: Layer, hidden_size: int) -> Iterator[Tensor]:
    """Every tensor of one decoder layer."""
    yield from mixer_tensors(layer.mixer, hidden_size, layer.mixer_name)
    yield from feed_forward_tensors(layer, hidden_size)
    yield from layer.extra_tensors
    for index, size in enumerate(layer.norm_sizes):
        yield Vector("norm", f"norm.{index}", size * (2 if layer.norm_bias else 1))


def mixer_tensors(mixer: AnyMixer, hidden_size: int, name: str = "") -> Iterator[Tensor]:
    """The tensors of what mixes tokens, whose module the engine calls ``name``."""
    match mixer:
        case FullAttention():
            yield from attention_tensors(mixer, hidden_size, name or ATTENTION)
        case SlidingWindowAttention() | ChunkedLocalAttention() | SharedKeyValueAttention():
            yield from attention_tensors(mixer.attention, hidden_size, name or ATTENTION)
        case ParallelMixers(attention_is_shared=True):
            yield from mixer_tensors(mixer.recurrent, hidden_size, name)
        case ParallelMixers():
            yield from attention_tensors(mixer.attention, hidden_size, ATTENTION)
            yield from mixer_tensors(mixer.recurrent, hidden_size, name)
        case Mamba1() | Mamba2() | LinearAttention() | GatedDeltaNet() | ShortConvolution():
            yield from recurrent_tensors(mixer, hidden_size, name)
        case LatentAttention():
            yield from latent_tensors(mixer, hidden_size)
        case CompressedAttention():
            yield from compressed_tensors(mixer, hidden_size)
        case KimiDeltaAttention():
            yield from delta_attention_tensors(mixer, hidden_size)
        case NoMixer():
            return
        case _:
            raise UnsupportedModel(
                "config.architectures",
                "unsupported_architecture",
                f"the weights of {type(mixer).__name__} layers cannot be sized yet",
            )


def attention_tensors(
    attention: FullAttention, hidden_size: int, name: str = ATTENTION
) -> Iterator[Tensor]:
    """Query, key, value and output projections, and the norms on queries and keys."""
    if attention.unfolded_from is not None:
        yield from latent_tensors(attention.unfolded_from, hidden_size)
        return
    heads = attention.num_attention_heads
    query_rows = heads * attention.head_dim * (2 if attention.output_gate else 1)
    yield Linear(
        "attention",
        f"{name}.q_proj" if attention.queries_only else f"{name}.qkv_proj",
        (Rows(query_rows), *key_value_rows(attention)),
        hidden_size,
        bias=attention.qkv_bias,
    )
    yield Linear(
        "attention",
        f"{name}.o_proj",
        (Rows(hidden_size, Split.REPLICATED),),
        heads * attention.v_head_dim,
        columns_split=True,
        bias=attention.output_bias,
    )
    if attention.sinks:
        yield Vector("attention", f"{name}.sinks", heads, split=True)
    if attention.gate_heads:
        yield Linear("attention", f"{name}.g_proj", (Rows(heads),), hidden_size)
    yield from qk_norm_tensors(attention, name)


def key_value_rows(attention: FullAttention) -> tuple[Rows, ...]:
    """The rows of keys and of values, by heads where the engine keeps heads whole."""
    if attention.queries_only:
        return ()
    kv_heads, key, value = attention.num_key_value_heads, attention.head_dim, attention.v_head_dim
    if attention.kv_rows_even:
        return Rows(kv_heads * key), Rows(kv_heads * value)
    return (
        Rows(kv_heads * key, Split.KV_HEADS, key),
        Rows(kv_heads * value, Split.KV_HEADS, value, counts=not attention.values_are_keys),
    )


def qk_norm_tensors(attention: FullAttention, name: str = ATTENTION) -> Iterator[Tensor]:
    """Norms on queries and keys: one head wide, or as wide as all heads together."""
    heads, kv_heads = attention.num_attention_heads, attention.num_key_value_heads
    match attention.qk_norm:
        case "none":
            return
        case "head":
            yield Vector("attention", f"{name}.q_norm", attention.head_dim)
            if not attention.queries_only:
                yield Vector("attention", f"{name}.k_norm", attention.head_dim)
        case "full":
            yield Vector("attention", f"{name}.q_norm", heads * attention.head_dim)
            yield Vector("attention", f"{name}.k_norm", kv_heads * attention.head_dim)
        case "full_split":
            yield Vector("attention", f"{name}.q_norm", heads * attention.head_dim, split=True)
            yield Vector("attention", f"{name}.k_norm", kv_heads * attention.head_dim, split=True)
        case other:
            raise ValueError(other)


def feed_forward_tensors(layer: Layer, hidden_size: int) -> Iterator[Tensor]:
    """The tensors of a dense or a routed feed-forward network."""
    name = layer.feed_forward_name
    match layer.feed_forward:
        case DenseMlp() as mlp:
            for linear in gated_mlp_tensors(
                "mlp", name, hidden_size, mlp.intermediate_size, gated=mlp.gated, bias=mlp.bias
            ):
                yield replace(linear, whole_in_sequence=mlp.is_whole_in_sequence)
        case MoeMlp() as moe:
            yield from moe_tensors(moe, hidden_size, name)
        case None:
            return
        case _:
            assert_never(layer.feed_forward)


def gated_mlp_tensors(
    component: str,
    name: str,
    hidden_size: int,
    intermediate_size: int,
    *,
    gated: bool = True,
    bias: bool = False,
    num_experts: int = 0,
) -> Iterator[Linear]:
    """Gate and up fused into one linear, then down; without a gate, up and down."""
    yield Linear(
        component,
        f"{name}.gate_up_proj" if gated else f"{name}.up_proj",
        (Rows(intermediate_size),) * (2 if gated else 1),
        hidden_size,
        bias=bias,
        num_experts=num_experts,
    )
    yield Linear(
        component,
        f"{name}.down_proj",
        (Rows(hidden_size, Split.REPLICATED),),
        intermediate_size,
        columns_split=True,
        bias=bias,
        num_experts=num_experts,
    )


def moe_tensors(moe: MoeMlp, hidden_size: int, name: str = "mlp") -> Iterator[Tensor]:
    """Router, routed experts and shared experts."""
    yield from router_tensors(moe, hidden_size, name)
    for linear in gated_mlp_tensors(
        "experts",
        f"{name}.experts".removeprefix("."),
        moe.moe_latent_size or hidden_size,
        moe.moe_intermediate_size,
        gated=moe.gated,
        bias=moe.expert_bias,
        num_experts=moe.num_experts,
    ):
        yield replace(linear, least_width_per_rank=moe.least_width_per_rank)
    if moe.moe_latent_size:
        yield from latent_projections(moe, hidden_size, name)
    if moe.shared_intermediate_size:
        yield from shared_expert_tensors(moe, hidden_size)
    if moe.shared_expert_gate:
        yield Linear(
            "shared_expert",
            f"{name}.shared_expert_gate",
            (Rows(1, Split.REPLICATED),),
            hidden_size,
            quantisable=False,
        )


def router_tensors(moe: MoeMlp, hidden_size: int, name: str) -> Iterator[Tensor]:
    """The router, and what corrects it: whole on every rank."""
    yield Linear(
        "router",
        f"{name}.gate",
        (Rows(moe.num_experts, Split.REPLICATED),),
        hidden_size,
        bias=moe.router_linear_bias,
        bias_split=False,
        quantisable=False,
        dtype=moe.router_dtype,
        float32_without_kernels=moe.router_needs_kernels,
    )
    if moe.router_bias:
        yield Vector(
            "router",
            f"{name}.e_score_correction_bias",
            moe.num_experts,
            dtype="float32",
            counts=moe.router_bias_counts,
        )


def shared_expert_tensors(moe: MoeMlp, hidden_size: int) -> Iterator[Tensor]:
    """All shared experts as one network."""
    for linear in gated_mlp_tensors(
        "shared_expert",
        moe.shared_name,
        hidden_size,
        moe.shared_intermediate_size,
        gated=moe.gated,
    ):
        yield replace(
            linear,
            whole_in_sequence=moe.shared_is_whole_in_sequence,
            width_multiple=moe.shared_width_multiple,
        )


def latent_projections(moe: MoeMlp, hidden_size: int, name: str) -> Iterator[Tensor]:
    """Into the width that routed experts work in, and back: whole on every rank."""
    into, back = moe.latent_names
    if moe.latent_norm:
        yield Vector("router", f"{name}.latent_norm", moe.moe_latent_size)
    for own, rows, columns in (
        (into, moe.moe_latent_size, hidden_size),
        (back, hidden_size, moe.moe_latent_size),
    ):
        yield Linear(
            "router",
            f"{name}.{own}",
            (Rows(rows, Split.REPLICATED),),
            columns,
            bias=moe.latent_bias,
            bias_split=False,
        )
