"""From a model's layers to the KV pool's plan on its ranks and stages."""

from dataclasses import dataclass
from functools import lru_cache

from pycore.engine.cache_settings import CacheSettings
from pycore.engine.kv.groups import KVCachePlan, plan
from pycore.engine.kv.layer_specs import CacheLayers, cache_layers
from pycore.engine.kv.specs import RequestLimits
from pycore.engine.shards import layers_by_stage
from pycore.model.model import Model


@dataclass(frozen=True, slots=True)
class KVPool:
    """What every layer keeps, and the groups that share the pool."""

    layers: CacheLayers
    plan: KVCachePlan


@lru_cache(maxsize=256)
def kv_pool(
    model: Model,
    settings: CacheSettings,
    pipeline_parallel_size: int,
    limits: RequestLimits,
    *,
    hybrid_kv_cache_manager: bool,
) -> KVPool:
    """The groups of the pool, and the bytes of a block on each stage.

    Raises ``NoAttentionBackendError`` or ``PagesDoNotUnifyError`` where the engine would refuse.
    """
    mixers = tuple(layer.mixer for layer in model.layers)
    layers = cache_layers(mixers, layers_by_stage(len(mixers), pipeline_parallel_size), settings)
    groups = plan(
        layers.layers,
        limits,
        hybrid_kv_cache_manager=hybrid_kv_cache_manager,
        block_outermost=layers.block_outermost,
    )
    return KVPool(layers, groups)
