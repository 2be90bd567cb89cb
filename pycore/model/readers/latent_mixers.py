"""Mixers of models that keep one compressed vector a token: DeepSeek V2 to V4 and their heirs.

Source: vLLM 0.33.0, model_executor/models/deepseek_v2.py, models/deepseek_v32/attention.py,
models/deepseek_v4/, model_executor/models/longcat_flash.py.
"""

from pycore.model.config_fields import ConfigReader
from pycore.model.latent import CompressedAttention, Indexer, LatentAttention
from pycore.model.layers import AnyMixer, FullAttention
from pycore.model.readers.layer_pattern import read_kinds, read_num_layers

Mixers = tuple[AnyMixer, ...]

COMPRESS_RATES = {
    "compressed_sparse_attention": 4,
    "heavily_compressed_attention": 128,
    "sliding_attention": 0,
}


def read_latent(reader: ConfigReader, indexer: Indexer | None = None) -> LatentAttention:
    """The compressed vector and what stands around it."""
    return LatentAttention(
        num_attention_heads=reader.integer("num_attention_heads"),
        q_lora_rank=reader.optional_integer("q_lora_rank"),
        kv_lora_rank=reader.integer("kv_lora_rank"),
        qk_nope_head_dim=reader.integer("qk_nope_head_dim"),
        qk_rope_head_dim=reader.integer("qk_rope_head_dim", minimum=0),
        v_head_dim=reader.integer("v_head_dim"),
        indexer=indexer,
    )


def read_deepseek(reader: ConfigReader) -> Mixers:
    """Latent attention in every layer, with an indexer where the config has one.

    DeepSeek V1's and GLM-4's small siblings without kv_lora_rank keep plain keys and values.
    """
    count = read_num_layers(reader)
    if not reader.has("kv_lora_rank"):
        heads = reader.integer("num_attention_heads")
        kv_heads = reader.integer("num_key_value_heads", default=heads)
        head_dim = reader.optional_integer("head_dim") or reader.derived(
            "head_dim", reader.integer("hidden_size") // heads
        )
        return (FullAttention(heads, kv_heads, head_dim, head_dim),) * count
    if not reader.has("index_topk"):
        return (read_latent(reader),) * count
    own = read_latent(reader, read_indexer(reader, keeps_keys=True))
    reused = read_latent(reader, read_indexer(reader, keeps_keys=False))
    return tuple(own if chooses else reused for chooses in read_choosers(reader, count))


def read_indexer(reader: ConfigReader, *, keeps_keys: bool) -> Indexer:
    """How sparse attention chooses what it reads."""
    return Indexer(
        index_n_heads=reader.integer("index_n_heads"),
        index_head_dim=reader.integer("index_head_dim"),
        index_topk=reader.integer("index_topk"),
        keeps_keys=keeps_keys,
    )


def read_choosers(reader: ConfigReader, count: int) -> tuple[bool, ...]:
    """Which layers choose for themselves; the others reuse an earlier choice (GLM-5.2).

    Source: vLLM 0.33.0, models/deepseek_v32/attention.py.
    """
    pattern = reader.raw("index_topk_pattern")
    if isinstance(pattern, str):
        return tuple(pattern[index : index + 1] != "S" for index in range(count))
    every = reader.integer("index_topk_freq", default=1)
    offset = reader.integer("index_skip_topk_offset", default=2, minimum=0)
    return tuple(max(index - offset + 1, 0) % every == 0 for index in range(count))


def read_longcat(reader: ConfigReader) -> Mixers:
    """LongCat-Flash: two latent attentions in each of its layers."""
    return (read_latent(reader),) * (2 * read_num_layers(reader))


def read_deepseek_v4(reader: ConfigReader) -> Mixers:
    """DeepSeek-V4: a window everywhere, and all tokens folded by 4 or by 128 in most layers."""
    count = read_num_layers(reader)
    ratios = read_ratios(reader, count)
    kinds = {
        ratio: CompressedAttention(
            num_attention_heads=reader.integer("num_attention_heads"),
            head_dim=reader.integer("head_dim"),
            sliding_window=reader.integer("sliding_window"),
            compress_ratio=ratio,
            index_head_dim=reader.integer("index_head_dim"),
            index_n_heads=reader.integer("index_n_heads"),
            q_lora_rank=reader.integer("q_lora_rank"),
            o_lora_rank=reader.integer("o_lora_rank"),
            o_groups=reader.integer("o_groups"),
        )
        for ratio in set(ratios)
    }
    return tuple(kinds[ratio] for ratio in ratios)


def default_kind(index: int) -> str:
    """What transformers makes of a layer where a config lists none: by 128 first, then in turn."""
    folds_by_four = index >= 2 and index % 2 == 1
    return "compressed_sparse_attention" if folds_by_four else "heavily_compressed_attention"


def read_ratios(reader: ConfigReader, count: int) -> tuple[int, ...]:
    """How many tokens each layer folds into one: 0 (none), 4 or 128."""
    listed = reader.sequence("compress_ratios")
    if reader.has("layer_types") or listed is None:
        kinds = read_kinds(reader, count, default_kind)
        listed = [COMPRESS_RATES.get(kind, kind) for kind in kinds]
        if not reader.has("layer_types"):
            reader.defaulted["compress_ratios"] = listed
    known = {0, 1, 4, 128}
    if len(listed) < count or any(ratio not in known for ratio in listed[:count]):
        raise reader.invalid("compress_ratios", listed, f"{count} numbers out of 0, 4 and 128")
    return tuple(ratio if isinstance(ratio, int) and ratio > 1 else 0 for ratio in listed[:count])
