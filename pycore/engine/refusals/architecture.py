"""What vLLM refuses for a model's own architecture: classes it dropped, groups it cannot share.

Source: vLLM 0.33.0, model_executor/models/registry.py, config/model.py
(verify_with_parallel_config), layers/mamba/mamba_mixer2.py.
"""

from typing import Final

from pycore.engine.kv.mixer_specs import recurrent_of
from pycore.engine.refusals.ranks import working_sizes
from pycore.engine.refusals.refusal import Refusal
from pycore.engine.shards import layers_by_stage
from pycore.engine.versions import parse_version
from pycore.model.layers import AnyMixer, SharedKeyValueAttention
from pycore.model.model import Model, distinct_layers
from pycore.model.recurrent import Mamba2, Recurrent
from pycore.scenario import Scenario

# The last version that ran a class which neither the engine nor transformers has any more, or
# which the engine cannot run through transformers (attention across to a tower's output).
LAST_VERSIONS: Final = {
    "AquilaForCausalLM": "0.24.0",
    "BaichuanForCausalLM": "0.23.0",
    "BaiChuanForCausalLM": "0.23.0",
    "MiniMaxM1ForCausalLM": "0.23.0",
    "MiniMaxText01ForCausalLM": "0.23.0",
    "MllamaForConditionalGeneration": "0.10.2",
    "MPTForCausalLM": "0.28.0",
    "MptForCausalLM": "0.28.0",
    "Phi3SmallForCausalLM": "0.9.2",
}

# Classes that are counted here but sized for no version: what older ones kept is not known.
NEVER_SIZED: Final = ("MllamaForConditionalGeneration", "Phi3SmallForCausalLM")


def architecture_refusals(scenario: Scenario, model: Model) -> tuple[Refusal, ...]:
    """Every rule about the model's class that this deployment breaks."""
    found = (
        dropped_class(scenario, model),
        no_pipeline(scenario, model),
        odd_states(scenario, model),
        divided_sharing(scenario, model),
    )
    return tuple(refusal for refusal in found if refusal is not None)


def dropped_class(scenario: Scenario, model: Model) -> Refusal | None:
    """A class that this version has no longer."""
    last = LAST_VERSIONS.get(model.architecture)
    if last is None:
        return None
    is_old = parse_version(scenario.engine_version) <= parse_version(last)
    if is_old and model.architecture not in NEVER_SIZED:
        return None
    return Refusal(
        "unsupported_architecture",
        f"Model architecture {model.architecture} was supported in vLLM until v{last}, and is not "
        "supported anymore. Please use an older version of vLLM if you want to use this model "
        "architecture.",
        "engine_version",
    )


def no_pipeline(scenario: Scenario, model: Model) -> Refusal | None:
    """Pipeline stages for a class that cannot be dealt to them."""
    if model.supports_pipeline or scenario.pipeline_parallel_size == 1:
        return None
    return Refusal(
        "pipeline_parallel",
        "NotImplementedError: Pipeline parallelism is not supported for this model. Supported "
        "models implement the `SupportsPP` interface.",
        "pipeline_parallel_size",
        (1,),
    )


def divided_sharing(scenario: Scenario, model: Model) -> Refusal | None:
    """Layers that read the keys and values of a layer which is on another stage of the pipeline.

    Source: vLLM 0.33.0, layers/attention/attention.py (validate_kv_sharing_target).
    """
    stages = scenario.pipeline_parallel_size
    if stages == 1:
        return None
    mixers = [layer.mixer for layer in model.layers]
    shared = [index for index, mixer in enumerate(mixers) if is_sharer(mixer)]
    if not shared:
        return None
    # The last layer of each kind, with a window or without, keeps for all that share.
    keepers = {type(mixer): index for index, mixer in enumerate(mixers[: shared[0]])}
    keeper = min(keepers.values(), default=0)
    last_stage = len(mixers) - layers_by_stage(len(mixers), stages)[-1]
    if keeper >= last_stage:
        return None
    return Refusal(
        "pipeline_parallel",
        f"ValueError: Specified KV sharing target layer for model.layers."
        f"{max(last_stage, shared[0])}.self_attn.attn is not valid: target layer "
        f"model.layers.{keeper}.self_attn.attn is not a valid Attention layer in the model.",
        "pipeline_parallel_size",
        (1,),
    )


def is_sharer(mixer: AnyMixer) -> bool:
    """Whether a layer keeps no keys and values but reads an earlier one's."""
    return isinstance(mixer, SharedKeyValueAttention)


def odd_states(scenario: Scenario, model: Model) -> Refusal | None:
    """States whose heads or groups cannot be shared out evenly."""
    states = {
        recurrent
        for layer in distinct_layers(model)
        if (recurrent := recurrent_of(layer.mixer)) is not None
    }
    for state in states:
        broken = broken_rule(state, scenario.tensor_parallel_size)
        if broken:
            works = tuple(
                size
                for size in working_sizes(model)
                if not any(broken_rule(other, size) for other in states)
            )
            return Refusal(
                "indivisible_other", f"AssertionError: {broken}", "tensor_parallel_size", works
            )
    return None


def broken_rule(state: Recurrent, tensor_parallel_size: int) -> str:
    """The rule that a Mamba 2 breaks on so many ranks, in the engine's words; empty for none."""
    size = tensor_parallel_size
    if not isinstance(state, Mamba2):
        return ""
    if state.num_heads % size:
        return "Tensor parallel world size must divide num heads."
    if state.n_groups % size and state.n_groups != 1:
        return (
            "If tensor parallel world size does not divide num_groups, then num_groups must "
            "equal 1."
        )
    if state.intermediate_size % size:
        return "Tensor parallel world size must divide hidden size."
    return ""
