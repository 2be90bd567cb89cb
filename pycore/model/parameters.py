"""The tensors that a decoder layer is made of."""

from collections.abc import Iterator
from typing import assert_never

from pycore.errors import UnsupportedModel
from pycore.model.layers import (
    AnyMixer,
    ChunkedLocalAttention,
    DenseMlp,
    FullAttention,
    Layer,
    MoeMlp,
    NoMixer,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)
from pycore.model.tensors import Linear, Rows, Split, Tensor, Vector


def layer_tensors(layer: Layer, hidden_size: int) -> Iterator[Tensor]:
    """Every tensor of one decoder layer."""
    yield from mixer_tensors(layer.mixer, hidden_size)
    yield from feed_forward_tensors(layer, hidden_size)
    yield from layer.extra_tensors
    for index, size in enumerate(layer.norm_sizes):
        yield Vector("norm", f"norm.{index}", size * (2 if layer.norm_bias else 1))


def mixer_tensors(mixer: AnyMixer, hidden_size: int) -> Iterator[Tensor]:
    """The tensors of what mixes tokens."""
    match mixer:
        case FullAttention():
            yield from attention_tensors(mixer, hidden_size)
        case SlidingWindowAttention(attention=attention):
            yield from attention_tensors(attention, hidden_size)
        case ChunkedLocalAttention(attention=attention):
            yield from attention_tensors(attention, hidden_size)
        case SharedKeyValueAttention(attention=attention):
            yield from attention_tensors(attention, hidden_size)
        case NoMixer():
            return
        case _:
            raise UnsupportedModel(
                "config.architectures",
                "unsupported_architecture",
                f"the weights of {type(mixer).__name__} layers cannot be sized yet",
            )


def attention_tensors(attention: FullAttention, hidden_size: int) -> Iterator[Tensor]:
    """Query, key, value and output projections, and the norms on queries and keys."""
    heads, kv_heads = attention.num_attention_heads, attention.num_key_value_heads
    query_rows = heads * attention.head_dim * (2 if attention.output_gate else 1)
    yield Linear(
        "attention",
        "self_attn.qkv_proj",
        (
            Rows(query_rows),
            Rows(kv_heads * attention.head_dim, Split.KV_HEADS, attention.head_dim),
            Rows(kv_heads * attention.v_head_dim, Split.KV_HEADS, attention.v_head_dim),
        ),
        hidden_size,
        bias=attention.qkv_bias,
    )
    yield Linear(
        "attention",
        "self_attn.o_proj",
        (Rows(hidden_size, Split.REPLICATED),),
        heads * attention.v_head_dim,
        columns_split=True,
        bias=attention.output_bias,
    )
    if attention.sinks:
        yield Vector("attention", "self_attn.sinks", heads, split=True)
    yield from qk_norm_tensors(attention)


def qk_norm_tensors(attention: FullAttention) -> Iterator[Tensor]:
    """Norms on queries and keys: one head wide, or as wide as all heads together."""
    heads, kv_heads = attention.num_attention_heads, attention.num_key_value_heads
    match attention.qk_norm:
        case "none":
            return
        case "head":
            yield Vector("attention", "self_attn.q_norm", attention.head_dim)
            yield Vector("attention", "self_attn.k_norm", attention.head_dim)
        case "full":
            yield Vector("attention", "self_attn.q_norm", heads * attention.head_dim)
            yield Vector("attention", "self_attn.k_norm", kv_heads * attention.head_dim)
        case "full_split":
            yield Vector("attention", "self_attn.q_norm", heads * attention.head_dim, split=True)
            yield Vector("attention", "self_attn.k_norm", kv_heads * attention.head_dim, split=True)
        case other:
            raise ValueError(other)


def feed_forward_tensors(layer: Layer, hidden_size: int) -> Iterator[Tensor]:
    """The tensors of a dense or a routed feed-forward network."""
    match layer.feed_forward:
        case DenseMlp() as mlp:
            yield from gated_mlp_tensors(
                "mlp", "mlp", hidden_size, mlp.intermediate_size, gated=mlp.gated, bias=mlp.bias
            )
        case MoeMlp() as moe:
            yield from moe_tensors(moe, hidden_size)
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
) -> Iterator[Tensor]:
    """Gate and up fused into one linear, then down; without a gate, up and down."""
    up = (Rows(intermediate_size),) * (2 if gated else 1)
    up_name = f"{name}.gate_up_proj" if gated else f"{name}.up_proj"
    yield Linear(component, up_name, up, hidden_size, bias=bias, num_experts=num_experts)
    yield Linear(
        component,
        f"{name}.down_proj",
        (Rows(hidden_size, Split.REPLICATED),),
        intermediate_size,
        columns_split=True,
        bias=bias,
        num_experts=num_experts,
    )


def moe_tensors(moe: MoeMlp, hidden_size: int) -> Iterator[Tensor]:
    """Router, routed experts and shared experts."""
    yield Linear(
        "router",
        "mlp.gate",
        (Rows(moe.num_experts, Split.REPLICATED),),
        hidden_size,
        quantisable=False,
        dtype=moe.router_dtype,
    )
    if moe.router_bias:
        yield Vector("router", "mlp.e_score_correction_bias", moe.num_experts, dtype="float32")
    yield from gated_mlp_tensors(
        "experts",
        "mlp.experts",
        hidden_size,
        moe.moe_intermediate_size,
        num_experts=moe.num_experts,
    )
    if moe.shared_intermediate_size:
        yield from gated_mlp_tensors(
            "shared_expert", "mlp.shared_experts", hidden_size, moe.shared_intermediate_size
        )
    if moe.shared_expert_gate:
        yield Linear(
            "shared_expert",
            "mlp.shared_expert_gate",
            (Rows(1, Split.REPLICATED),),
            hidden_size,
            quantisable=False,
        )
