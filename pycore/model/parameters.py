"""The tensors that a decoder layer is made of."""

from collections.abc import Iterator
from typing import Final

from pycore.errors import UnsupportedModel
from pycore.model.delta_parameters import delta_attention_tensors
from pycore.model.feed_forward_parameters import feed_forward_tensors
from pycore.model.latent import CompressedAttention, LatentAttention
from pycore.model.latent_parameters import compressed_attention_tensors, latent_tensors
from pycore.model.layers import (
    AnyMixer,
    ChunkedLocalAttention,
    CrossAttention,
    FullAttention,
    Layer,
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
        case CrossAttention():
            yield from attention_tensors(mixer.own, hidden_size, name or ATTENTION)
            yield from attention_tensors(mixer.cross, hidden_size, "encoder_attn")
        case ParallelMixers():
            yield from parallel_tensors(mixer, hidden_size, name)
        case Mamba1() | Mamba2() | LinearAttention() | GatedDeltaNet() | ShortConvolution():
            yield from recurrent_tensors(mixer, hidden_size, name)
        case LatentAttention():
            yield from latent_tensors(mixer, hidden_size)
        case CompressedAttention():
            yield from compressed_attention_tensors(mixer, hidden_size)
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


def parallel_tensors(mixer: ParallelMixers, hidden_size: int, name: str) -> Iterator[Tensor]:
    """A recurrent state, and the attention beside it where that is the layer's own."""
    if not mixer.attention_is_shared:
        yield from attention_tensors(mixer.attention, hidden_size, ATTENTION)
    yield from mixer_tensors(mixer.recurrent, hidden_size, name)


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
        (Rows(query_rows), *key_value_rows(attention), *index_rows(attention)),
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
    yield from small_tensors(attention, hidden_size, name)


def small_tensors(attention: FullAttention, hidden_size: int, name: str) -> Iterator[Tensor]:
    """What an attention has beside its projections: sinks, gates, norms."""
    heads = attention.num_attention_heads
    if attention.sinks:
        yield Vector("attention", f"{name}.sinks", heads, split=True)
    if attention.gate_heads:
        yield Linear("attention", f"{name}.g_proj", (Rows(heads),), hidden_size)
    yield from qk_norm_tensors(attention, name)
    if attention.block_indexer is not None:
        width = attention.block_indexer.index_head_dim
        yield Vector("attention", f"{name}.index_norms", 2 * width)


def index_rows(attention: FullAttention) -> tuple[Rows, ...]:
    """The rows of an indexer: its queries by heads, its one key on every rank."""
    indexer = attention.block_indexer
    if indexer is None:
        return ()
    width = indexer.index_head_dim
    queries = Rows(indexer.index_n_heads * width, Split.KV_HEADS, width)
    return queries, Rows(width, Split.REPLICATED)


def key_value_rows(attention: FullAttention) -> tuple[Rows, ...]:
    """The rows of keys and of values, by heads: a rank beyond them holds a copy of one."""
    if attention.queries_only:
        return ()
    kv_heads, key, value = attention.num_key_value_heads, attention.head_dim, attention.v_head_dim
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
