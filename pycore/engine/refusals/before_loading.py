"""What vLLM refuses before it has loaded a byte, in its own words.

Each rule is one function that gives a ``Refusal`` or None; they run in the engine's order, and
the first that applies is what a user would read.
"""

from pycore.engine.refusals.context_parallel import context_parallel, parted_windows
from pycore.engine.refusals.experts import few_experts, no_experts, odd_world
from pycore.engine.refusals.ranks import (
    odd_heads,
    odd_kv_heads,
    odd_quantized_shards,
    odd_shards,
    odd_vocabulary,
    too_many,
    too_many_stages,
    uneven_groups,
)
from pycore.engine.refusals.refusal import Refusal
from pycore.engine.refusals.settings import (
    dtype_missing,
    few_batched_tokens,
    other_cache_dtype,
    over_long,
    overflowing,
    packed_cache,
    quantization_refused,
)
from pycore.engine.vllm import Settings
from pycore.hardware.accelerators import Accelerator
from pycore.model.model import Model
from pycore.scenario import Scenario


def shape_refusals(
    scenario: Scenario, model: Model, settings: Settings, accelerator: Accelerator
) -> tuple[Refusal, ...]:
    """Every rule of the engine that this deployment breaks, memory left aside."""
    found = (
        over_long(settings, model),
        few_batched_tokens(settings),
        overflowing(settings, model),
        dtype_missing(settings, accelerator),
        other_cache_dtype(settings),
        packed_cache(scenario, model),
        quantization_refused(scenario, model, settings, accelerator),
        odd_heads(scenario, model),
        too_many(scenario),
        context_parallel(scenario, model),
        parted_windows(scenario, model),
        odd_kv_heads(scenario, model),
        uneven_groups(scenario, model),
        odd_vocabulary(scenario, model),
        odd_shards(scenario, model),
        few_experts(scenario, model),
        odd_world(scenario, model),
        no_experts(scenario, model),
        odd_quantized_shards(scenario, model, settings, accelerator),
        too_many_stages(scenario, model),
    )
    return tuple(refusal for refusal in found if refusal is not None)
