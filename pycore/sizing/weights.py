"""Weights of each pipeline stage: parameters and buffers of its largest rank."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from pycore.engine.shards import Ranks, layers_by_stage
from pycore.model.model import Model
from pycore.model.module_forms import head_form, layer_forms
from pycore.model.quantization.methods import Quantization
from pycore.sizing.rank_tensors import (
    Held,
    cache_scales,
    layer_held,
    outer_held,
    outer_tensors_held,
    rotary_held,
)


@dataclass(frozen=True, slots=True)
class StageWeights:
    """Bytes on the largest rank of one pipeline stage, by component."""

    num_layers: int
    bytes_by_component: dict[str, int]
    loaded_bytes: int
    """What the engine reports after loading: re-arranged, copied, and as allocated."""

    @property
    def num_bytes(self) -> int:
        """All components together."""
        return sum(self.bytes_by_component.values())


@lru_cache(maxsize=256)
def stage_weights(
    model: Model, ranks: Ranks, dtype: str, quantization: Quantization | None
) -> tuple[StageWeights, ...]:
    """Bytes on the largest rank of each pipeline stage."""
    forms = layer_forms(model, quantization)
    kinds = [(layer, id(own)) for layer, own in zip(model.layers, forms, strict=True)]
    per_kind = {
        kind: (*layer_held(model, kind[0], ranks, dtype, own), cache_held)
        for kind, own in dict(zip(kinds, forms, strict=True)).items()
        for cache_held in [cache_scales(kind[0], ranks, dtype, quantization)]
    }
    head = head_form(model, quantization)
    stages = []
    first = 0
    for stage, count in enumerate(layers_by_stage(len(model.layers), ranks.pipeline_parallel_size)):
        parts: list[tuple[Held, int]] = [
            *((held, 1) for held in outer_held(model, ranks, dtype, stage, head)),
            *((held, 1) for held in rotary_held(model, ranks, dtype, first, first + count)),
            *outer_tensors_held(model, ranks, dtype, quantization, stage),
        ]
        for kind, repeats in Counter(kinds[first : first + count]).items():
            parts += [(held, repeats) for held in per_kind[kind]]
        first += count
        stages.append(summed(count, parts))
    return tuple(stages)


def checkpoint_bytes(model: Model) -> int:
    """The weights in the checkpoint's own form, all in one place: what its files should hold."""
    whole = Ranks(1, 1, 1, enable_expert_parallel=False)
    (stage,) = stage_weights(model, whole, model.dtype, model.quantization)
    parts = stage.bytes_by_component.items()
    return sum(size for component, size in parts if component != "buffers")


def summed(num_layers: int, parts: Iterable[tuple[Held, int]]) -> StageWeights:
    """A stage of tensors, each so many times."""
    total: Counter[str] = Counter()
    loaded = 0
    for held, repeats in parts:
        total[held.component] += repeats * held.num_bytes
        loaded += repeats * held.loaded_bytes
    return StageWeights(num_layers, dict(total), loaded)


def weights_bytes_per_rank(
    *,
    embedding_bytes: int,
    attention_bytes: int,
    recurrent_bytes: int,
    mlp_bytes: int,
    experts_bytes: int,
    shared_expert_bytes: int,
    router_bytes: int,
    norm_bytes: int,
    lm_head_bytes: int,
    tower_bytes: int,
    buffers_bytes: int,
) -> int:
    """Parameters and buffers of the largest rank, as the engine creates them.

    Linears are divided by TP; norms, routers and rotary tables are whole on every rank. A tower
    is what reads images or sound; recurrent layers keep a state of fixed size (Mamba).
    Source: the model's own shapes; vLLM 0.33.0 for what is divided and what is not.
    """
    return (
        embedding_bytes
        + attention_bytes
        + recurrent_bytes
        + mlp_bytes
        + experts_bytes
        + shared_expert_bytes
        + router_bytes
        + norm_bytes
        + lm_head_bytes
        + tower_bytes
        + buffers_bytes
    )
