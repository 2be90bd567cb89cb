"""What one decoder layer is made of: what it remembers between tokens, and what it computes with.

A layer's *mixer* is what mixes tokens, and so what a request must keep in memory: an attention
that caches keys and values, or a state of fixed size. Its *feed-forward* has weights only.
Everything here is of the whole model; splitting over ranks is the engine's and the sizing's work.
"""

from dataclasses import dataclass

from pycore.model.latent import Latent, LatentAttention
from pycore.model.recurrent import Recurrent
from pycore.model.tensors import Tensor


@dataclass(frozen=True, slots=True)
class BlockIndexer:
    """Small heads that choose the blocks of tokens which attention reads (MiniMax-M3)."""

    index_n_heads: int
    index_head_dim: int


@dataclass(frozen=True, slots=True)
class FullAttention:
    """Attention that keeps keys and values of every token (MHA, GQA or MQA)."""

    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    v_head_dim: int
    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: str = "none"
    """``none``; ``head``: one weight of head_dim for queries and one for keys; ``full``: weights
    as wide as all query heads and as all key heads; ``full_split``: the same, divided by TP."""
    output_gate: bool = False
    """Queries carry a gate of the same width (Qwen3-Next)."""
    sinks: bool = False
    """One learnt logit per attention head (gpt-oss)."""
    unfolded_from: LatentAttention | None = None
    """The latent attention whose keys and values are unfolded and kept at full width (MiniCPM3);
    its weights take the place of those of the other fields."""
    values_are_keys: bool = False
    """The checkpoint has no values of its own: the engine loads the keys twice (Gemma 4)."""
    queries_only: bool = False
    """No keys and values at all, in weights either: an earlier layer's are read (Gemma 4)."""
    block_indexer: BlockIndexer | None = None
    """Reads chosen blocks alone, but keeps all tokens, and a small key for each."""
    keeps_model_dtype: bool = False
    """The class tells its cache of no other type, whatever ``--kv-cache-dtype`` says (Falcon)."""
    gate_heads: bool = False
    """A gate for each head, from a linear of its own (Step 3.5)."""


@dataclass(frozen=True, slots=True)
class SlidingWindowAttention:
    """Attention that sees, and keeps, only the last ``sliding_window`` tokens."""

    attention: FullAttention
    sliding_window: int


@dataclass(frozen=True, slots=True)
class ChunkedLocalAttention:
    """Attention within chunks of ``attention_chunk_size`` tokens (Llama 4)."""

    attention: FullAttention
    attention_chunk_size: int


@dataclass(frozen=True, slots=True)
class SharedKeyValueAttention:
    """Attention that reads the keys and values of an earlier layer, and keeps none (Gemma 3n)."""

    attention: FullAttention


@dataclass(frozen=True, slots=True)
class CrossAttention:
    """Attention to the encoder's output, beside the decoder's own (Whisper)."""

    own: FullAttention
    cross: FullAttention


@dataclass(frozen=True, slots=True)
class ParallelMixers:
    """Attention and a recurrent state side by side in one layer (Falcon-H1)."""

    attention: FullAttention
    recurrent: Recurrent
    attention_is_shared: bool = False
    """The attention's weights serve several layers, and stand around them (Zamba 2)."""


@dataclass(frozen=True, slots=True)
class NoMixer:
    """A layer that mixes no tokens: a feed-forward alone (Nemotron-H), or nothing."""


AnyMixer = (
    FullAttention
    | SlidingWindowAttention
    | ChunkedLocalAttention
    | SharedKeyValueAttention
    | CrossAttention
    | Latent
    | Recurrent
    | ParallelMixers
    | NoMixer
)


@dataclass(frozen=True, slots=True)
class DenseMlp:
    """A feed-forward network: ``gated`` has gate, up and down, otherwise up and down."""

    intermediate_size: int
    gated: bool = True
    bias: bool = False
    is_whole: bool = False
    """Every rank holds all of it (GPT-BigCode, run through transformers)."""
    is_whole_in_sequence: bool = False
    """Whole on each rank where tokens are divided instead (DeepSeek-V3.2)."""


@dataclass(frozen=True, slots=True)
class MoeMlp:
    """Routed experts, of which each token takes ``num_experts_per_tok``, and shared ones."""

    num_experts: int
    num_experts_per_tok: int
    moe_intermediate_size: int
    shared_intermediate_size: int = 0
    """Width of all shared experts together; 0 when there are none."""
    shared_expert_gate: bool = False
    """A sigmoid gate on the shared expert: one row of hidden_size (Qwen2-MoE)."""
    router_bias: bool = False
    """One correction term per expert, kept in float32."""
    router_dtype: str | None = None
    """The router's own element type, when it is not the model's."""
    router_bias_counts: bool = True
    """False where transformers keeps the corrections as a buffer: no model card counts them."""
    gated: bool = True
    """Experts have gate, up and down; otherwise up and down (Nemotron-H)."""
    moe_latent_size: int = 0
    """Width that routed experts work in, between two projections (Nemotron 3); 0: the model's."""
    latent_bias: bool = False
    latent_names: tuple[str, str] = ("fc1_latent_proj", "fc2_latent_proj")
    latent_norm: bool = False
    """What comes back from that width is normalised (Kimi-K3)."""
    blackwell_routing: bool = True
    """Whether the expert kernels of Blackwell know how the router chooses (by a softmax or sigmoid
    whose winners are weighed anew, not by a plain softmax) and what the experts compute."""
    least_width_per_rank: int = 0
    """What a rank of TP holds of an expert at least: narrower slices are filled up (Kimi)."""
    shared_name: str = "mlp.shared_experts"
    shared_is_whole_in_sequence: bool = False
    """Shared experts are whole on each rank where tokens are divided instead (DeepSeek)."""
    shared_width_multiple: int = 1
    """A rank's share of them is filled up to a multiple of this (DeepSeek-V4)."""
    expert_bias: bool = False
    """Routed experts have biases (gpt-oss)."""
    router_linear_bias: bool = False
    """The router's own matrix has a bias, in the router's element type."""
    router_needs_kernels: bool = False
    """The router computes in float32: where the GPU has no kernels for it, so are its weights."""


FeedForward = DenseMlp | MoeMlp


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer."""

    mixer: AnyMixer
    feed_forward: FeedForward | None
    norm_sizes: tuple[int, ...]
    """Widths of the layer's own norms, those inside the attention excepted."""
    norm_bias: bool = False
    extra_tensors: tuple[Tensor, ...] = ()
    """Weights that only this family has."""
    mixer_name: str = ""
    """What the engine calls the mixer's module; empty: as most families do."""
    feed_forward_name: str = "mlp"
