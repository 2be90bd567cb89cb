"""What vLLM refuses for a model's own architecture: classes it dropped, groups it cannot share.

Source: vLLM 0.33.0, model_executor/models/registry.py, config/model.py
(verify_with_parallel_config), layers/mamba/mamba_mixer2.py.
"""

from typing import Final

from pycore.engine.mixer_specs import recurrent_of
from pycore.engine.refusals import Refusal, working_sizes
from pycore.engine.versions import parse_version
from pycore.model.model import Model, distinct_layers
from pycore.model.recurrent import Mamba2, Recurrent
from pycore.scenario import Scenario

# The last version that ran a class which neither the engine nor transformers has any more.
LAST_VERSIONS: Final = {
    "MiniMaxM1ForCausalLM": (0, 23),
    "MiniMaxText01ForCausalLM": (0, 23),
}


def architecture_refusals(scenario: Scenario, model: Model) -> tuple[Refusal, ...]:
    """Every rule about the model's class that this deployment breaks."""
    found = (
        dropped_class(scenario, model),
        no_pipeline(scenario, model),
        odd_states(scenario, model),
    )
    return tuple(refusal for refusal in found if refusal is not None)


def dropped_class(scenario: Scenario, model: Model) -> Refusal | None:
    """A class that this version has no longer."""
    last = LAST_VERSIONS.get(model.architecture)
    if last is None or parse_version(scenario.engine_version) <= last:
        return None
    return Refusal(
        "unsupported_architecture",
        f"Model architecture {model.architecture} was supported in vLLM until "
        f"v{last[0]}.{last[1]}.0, and is not supported anymore. Please use an older version of "
        "vLLM if you want to use this model architecture.",
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
