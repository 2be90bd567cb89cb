"""The tensors of latent attention: what is compressed is whole on every rank, heads are divided.

Source: vLLM 0.33.0, model_executor/models/deepseek_v2.py, models/deepseek_v32/attention.py,
models/deepseek_v4/attention.py and compressor.py, models/kimi_k3/nvidia/mla.py.
"""

from collections.abc import Iterator
from typing import Final

from pycore.model.latent import CompressedAttention, Indexer, LatentAttention
from pycore.model.tensors import Linear, Rows, Split, Tensor, Vector

LEAST_SINKS_PER_RANK: Final = 64
"""The decoding kernel takes 64 or 128 heads, and sinks are filled up to that."""


def whole(count: int) -> Rows:
    """Rows that every rank holds."""
    return Rows(count, Split.REPLICATED)


def latent_tensors(mixer: LatentAttention, hidden_size: int) -> Iterator[Tensor]:
    """Projections down to the compressed vector, up to all heads, and out again."""
    yield from down_projections(mixer, hidden_size)
    heads = mixer.num_attention_heads
    qk_head_dim = mixer.qk_nope_head_dim + mixer.qk_rope_head_dim
    name = "self_attn.q_proj" if mixer.q_lora_rank is None else "self_attn.q_b_proj"
    yield Linear("attention", name, (Rows(heads * qk_head_dim),), mixer.q_lora_rank or hidden_size)
    yield Linear(
        "attention",
        "self_attn.kv_b_proj",
        (Rows(heads * (mixer.qk_nope_head_dim + mixer.v_head_dim)),),
        mixer.kv_lora_rank,
    )
    yield Linear(
        "attention",
        "self_attn.o_proj",
        (whole(hidden_size),),
        heads * mixer.v_head_dim,
        columns_split=True,
    )
    if mixer.indexer is not None and mixer.indexer.keeps_keys:
        yield from indexer_tensors(mixer.indexer, mixer.q_lora_rank or hidden_size, hidden_size)


def down_projections(mixer: LatentAttention, hidden_size: int) -> Iterator[Tensor]:
    """What compresses the input, with the norms on what it makes; a gate is fused with it."""
    latent = whole(mixer.kv_lora_rank + mixer.qk_rope_head_dim)
    gate = Rows(mixer.num_attention_heads * mixer.v_head_dim)
    if mixer.q_lora_rank is None:
        yield Linear("attention", "self_attn.kv_a_proj_with_mqa", (latent,), hidden_size)
        if mixer.output_gate:
            yield Linear("attention", "self_attn.g_proj", (gate,), hidden_size)
    else:
        rows: tuple[Rows, ...] = (whole(mixer.q_lora_rank), latent)
        name = "self_attn.fused_qkv_a_proj"
        if mixer.output_gate:
            rows, name = (*rows, gate), "self_attn.fused_qkv_a_g_proj"
        yield Linear("attention", name, rows, hidden_size)
        yield Vector("attention", "self_attn.q_a_layernorm", mixer.q_lora_rank)
    yield Vector("attention", "self_attn.kv_a_layernorm", mixer.kv_lora_rank)


def indexer_tensors(indexer: Indexer, query_width: int, hidden_size: int) -> Iterator[Tensor]:
    """What chooses the tokens that sparse attention reads: whole on every rank."""
    yield Linear(
        "attention",
        "self_attn.indexer.wq_b",
        (whole(indexer.index_n_heads * indexer.index_head_dim),),
        query_width,
    )
    yield Linear(
        "attention",
        "self_attn.indexer.wk_weights_proj",
        (whole(indexer.index_head_dim), whole(indexer.index_n_heads)),
        hidden_size,
        quantizable=False,
    )
    # A layer norm: scale and shift.
    yield Vector(
        "attention", "self_attn.indexer.k_norm", 2 * indexer.index_head_dim, dtype="float32"
    )


def compressed_attention_tensors(mixer: CompressedAttention, hidden_size: int) -> Iterator[Tensor]:
    """DeepSeek-V4's attention: one key-value head, and an output projection in two steps."""
    heads, head_dim = mixer.num_attention_heads, mixer.head_dim
    yield from compressed_projections(mixer, hidden_size)
    yield Vector("attention", "attn.q_norm", mixer.q_lora_rank)
    yield Vector("attention", "attn.kv_norm", head_dim)
    yield Vector(
        "attention",
        "attn.attn_sink",
        heads,
        split=True,
        dtype="float32",
        least_per_rank=LEAST_SINKS_PER_RANK,
    )
    if mixer.compress_ratio > 1:
        yield from compressor_tensors(
            "attn.compressor", mixer.compress_ratio, head_dim, hidden_size
        )
    if mixer.compress_ratio == 4:
        yield from compressed_indexer_tensors(mixer, hidden_size)


def compressed_projections(mixer: CompressedAttention, hidden_size: int) -> Iterator[Tensor]:
    """Down to a low rank and up to all heads; out again by groups of heads, then all together."""
    heads, head_dim = mixer.num_attention_heads, mixer.head_dim
    yield Linear(
        "attention",
        "attn.fused_wqa_wkv",
        (whole(mixer.q_lora_rank), whole(head_dim)),
        hidden_size,
    )
    yield Linear("attention", "attn.wq_b", (Rows(heads * head_dim),), mixer.q_lora_rank)
    yield Linear(
        "attention",
        "attn.wo_a",
        (Rows(mixer.o_groups * mixer.o_lora_rank),),
        heads * head_dim // mixer.o_groups,
    )
    yield Linear(
        "attention",
        "attn.wo_b",
        (whole(hidden_size),),
        mixer.o_groups * mixer.o_lora_rank,
        columns_split=True,
    )


def compressor_tensors(
    name: str, compress_ratio: int, head_dim: int, hidden_size: int
) -> Iterator[Tensor]:
    """What folds tokens into one; folds by four overlap, and so are twice as wide."""
    width = head_dim * (2 if compress_ratio == 4 else 1)
    yield Vector("attention", f"{name}.ape", compress_ratio * width, dtype="float32")
    yield Linear(
        "attention",
        f"{name}.fused_wkv_wgate",
        (whole(width), whole(width)),
        hidden_size,
        quantizable=False,
    )
    yield Vector("attention", f"{name}.norm", head_dim)


def compressed_indexer_tensors(mixer: CompressedAttention, hidden_size: int) -> Iterator[Tensor]:
    """The indexer of layers that fold by four, with a compressor of its own."""
    yield Linear(
        "attention",
        "attn.indexer.wq_b",
        (whole(mixer.index_n_heads * mixer.index_head_dim),),
        mixer.q_lora_rank,
    )
    yield Linear(
        "attention",
        "attn.indexer.weights_proj",
        (whole(mixer.index_n_heads),),
        hidden_size,
        quantizable=False,
    )
    yield from compressor_tensors(
        "attn.indexer.compressor", mixer.compress_ratio, mixer.index_head_dim, hidden_size
    )
