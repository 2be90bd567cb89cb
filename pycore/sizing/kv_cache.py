"""From a model's layers to the KV pool's plan on its ranks and stages."""

from functools import lru_cache
from typing import Final

from pycore.dtypes import element_bytes
from pycore.engine.kv_groups import KVCachePlan, plan
from pycore.engine.kv_layers import LayerSpecs
from pycore.engine.kv_specs import FullAttentionSpec, RequestLimits
from pycore.model.layers import FullAttention
from pycore.model.model import Model
from pycore.sizing.weights import layers_by_stage

DEFAULT_BLOCK_SIZE: Final = 16


def kv_heads_per_rank(*, num_key_value_heads: int, tensor_parallel_size: int) -> int:
    """Key-value heads on one rank: at least one, so ranks beyond the heads hold copies.

    Source: vLLM 0.33.0, config/model.py, get_num_kv_heads.
    """
    return max(1, num_key_value_heads // tensor_parallel_size)


@lru_cache(maxsize=256)
def kv_plan(
    model: Model,
    kv_cache_dtype: str,
    block_size: int,
    tensor_parallel_size: int,
    pipeline_parallel_size: int,
    limits: RequestLimits,
) -> KVCachePlan:
    """The groups of the pool, and the bytes of a block on each stage."""
    stages = layers_by_stage(len(model.layers), pipeline_parallel_size)
    counts: dict[FullAttentionSpec, list[int]] = {}
    first = 0
    for stage, count in enumerate(stages):
        for layer in model.layers[first : first + count]:
            if not isinstance(layer.mixer, FullAttention):
                raise TypeError(layer.mixer)
            spec = attention_spec(layer.mixer, kv_cache_dtype, block_size, tensor_parallel_size)
            counts.setdefault(spec, [0] * len(stages))[stage] += 1
        first += count
    return plan([LayerSpecs(spec, tuple(per_stage)) for spec, per_stage in counts.items()], limits)


def attention_spec(
    attention: FullAttention, kv_cache_dtype: str, block_size: int, tensor_parallel_size: int
) -> FullAttentionSpec:
    """What one layer of full attention keeps on one rank."""
    width = element_bytes(kv_cache_dtype)
    return FullAttentionSpec(
        block_size=block_size,
        num_kv_heads=kv_heads_per_rank(
            num_key_value_heads=attention.num_key_value_heads,
            tensor_parallel_size=tensor_parallel_size,
        ),
        head_size=attention.head_dim,
        head_size_v=attention.v_head_dim,
        bytes_per_kv_head=(attention.head_dim + attention.v_head_dim) * width,
    )
