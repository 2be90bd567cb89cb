"""The tensors that a model is made of, and how each is split over tensor-parallel ranks.

Every weight is a ``Linear`` (one matrix, or the matrices that an engine fuses into one, such as
query, key and value) or a ``Vector`` (a norm, a bias, a router's correction). A linear of routed
experts holds ``num_experts`` copies. Sizes here are of the whole model; ``rank_shape`` tells what
one rank holds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from pycore.model.layers import (
    ChunkedLocalAttention,
    DenseMlp,
    FullAttention,
    Layer,
    MoeMlp,
    SlidingWindowAttention,
)


class Split(Enum):
    """How the rows of a tensor are divided over tensor-parallel ranks."""

    REPLICATED = "every rank holds all rows"
    EVEN = "each rank holds an equal share"
    KV_HEADS = "each rank holds its key-value heads, at least one"


@dataclass(frozen=True, slots=True)
class Rows:
    """Output rows of one matrix inside a linear.

    ``unit`` is the rows of one head where the split is by heads, else 1.
    """

    count: int
    split: Split = Split.EVEN
    unit: int = 1

    def on_rank(self, tensor_parallel_size: int) -> int:
        """Rows that one rank holds."""
        match self.split:
            case Split.REPLICATED:
                return self.count
            case Split.EVEN:
                return self.count // tensor_parallel_size
            case Split.KV_HEADS:
                return max(1, self.count // self.unit // tensor_parallel_size) * self.unit
            case _:
                assert_never(self.split)


@dataclass(frozen=True, slots=True)
class Linear:
    """One or more matrices of ``columns`` inputs that the engine keeps as one weight."""

    component: str
    name: str
    rows: tuple[Rows, ...]
    columns: int
    columns_split: bool = False
    bias: bool = False
    bias_split: bool = True
    num_experts: int = 0
    quantisable: bool = True
    dtype: str | None = None

    @property
    def num_rows(self) -> int:
        """Output rows of the whole model."""
        return sum(rows.count for rows in self.rows)

    @property
    def num_elements(self) -> int:
        """Elements of the whole model, biases included."""
        matrix = self.num_rows * self.columns + (self.num_rows if self.bias else 0)
        return matrix * max(1, self.num_experts)


@dataclass(frozen=True, slots=True)
class Vector:
    """A one-dimensional weight: norm scales and biases, router corrections."""

    component: str
    name: str
    length: int
    split: bool = False
    dtype: str | None = None

    @property
    def num_elements(self) -> int:
        """Elements of the whole model."""
        return self.length


Tensor = Linear | Vector


def layer_tensors(layer: Layer, hidden_size: int) -> Iterator[Tensor]:
    """Every tensor of one decoder layer."""
    yield from mixer_tensors(layer, hidden_size)
    yield from feed_forward_tensors(layer, hidden_size)
    for index, size in enumerate(layer.norm_sizes):
        yield Vector("norm", f"norm.{index}", size * (2 if layer.norm_bias else 1))


def mixer_tensors(layer: Layer, hidden_size: int) -> Iterator[Tensor]:
    """The tensors of what mixes tokens."""
    match layer.mixer:
        case FullAttention():
            yield from attention_tensors(layer.mixer, hidden_size)
        case SlidingWindowAttention(attention=attention):
            yield from attention_tensors(attention, hidden_size)
        case ChunkedLocalAttention(attention=attention):
            yield from attention_tensors(attention, hidden_size)
        case _:
            assert_never(layer.mixer)


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
