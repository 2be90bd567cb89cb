"""The tensors of feed-forward networks: dense ones, routed experts, and experts that all share."""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from pycore.model.layers import DenseMlp, Layer, MoeMlp
from pycore.model.tensors import Linear, Rows, Split, Tensor, Vector


def feed_forward_tensors(layer: Layer, hidden_size: int) -> Iterator[Tensor]:
    """The tensors of a dense or a routed feed-forward network."""
    name = layer.feed_forward_name
    match layer.feed_forward:
        case DenseMlp(is_whole=True) as mlp:
            yield from whole_mlp_tensors(mlp, hidden_size, name)
        case DenseMlp() as mlp:
            for linear in gated_mlp_tensors(
                "mlp", name, hidden_size, mlp.intermediate_size, gated=mlp.gated, bias=mlp.bias
            ):
                whole = mlp.is_whole_in_sequence
                yield replace(linear, whole_in_sequence=whole, divided_in_pipelines=whole)
        case MoeMlp() as moe:
            yield from moe_tensors(moe, hidden_size, name)
        case None:
            return
        case _:
            assert_never(layer.feed_forward)


def whole_mlp_tensors(mlp: DenseMlp, hidden_size: int, name: str) -> Iterator[Linear]:
    """A network that the ranks do not share out."""
    width, parts = mlp.intermediate_size, 2 if mlp.gated else 1
    for own, rows, columns in (("up", parts * width, hidden_size), ("down", hidden_size, width)):
        kept = (Rows(rows, Split.REPLICATED),)
        yield Linear("mlp", f"{name}.{own}_proj", kept, columns, bias=mlp.bias, bias_split=False)


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
            quantizable=False,
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
        quantizable=False,
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
