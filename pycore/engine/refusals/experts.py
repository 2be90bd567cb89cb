"""Refusals of ranks that routed experts cannot be dealt to.

Source: vLLM 0.33.0, config/model.py and model_executor/models/.
"""

from typing import Final

from pycore.engine.refusals.ranks import working_sizes
from pycore.engine.refusals.refusal import Refusal
from pycore.model.layers import MoeMlp
from pycore.model.model import Model, distinct_layers
from pycore.scenario import Scenario

# Classes that want an expert for each rank of TP at least.
# Source: vLLM 0.33.0, model_executor/models/ (the constructors of their blocks of experts).
COUNTS_EXPERTS: Final = frozenset(
    (
        "Ernie4_5_MoeForCausalLM",
        "ExaoneMoEForCausalLM",
        "HYV3ForCausalLM",
        "Lfm2MoeForCausalLM",
        "MiMoV2FlashForCausalLM",
        "MiMoV2ForCausalLM",
        "MiniMaxM2ForCausalLM",
        "MiniMaxM3SparseForConditionalGeneration",
        "Qwen2MoeForCausalLM",
        "Qwen3MoeForCausalLM",
        "Qwen3NextForCausalLM",
        "Qwen3OmniMoeForConditionalGeneration",
        "Qwen3VLMoeForConditionalGeneration",
        "Qwen3_5MoeForCausalLM",
        "Qwen3_5MoeForConditionalGeneration",
        "Step3p5ForCausalLM",
    )
)

DIVIDED_BY_ALL: Final = ("GptOssForCausalLM",)

# Classes whose experts the engine does not find in their configs.
# Source: vLLM 0.33.0, transformers_utils/model_arch_config_convertor.py, get_num_experts.
UNCOUNTED: Final = ("DbrxForCausalLM",)


def no_experts(scenario: Scenario, model: Model) -> Refusal | None:
    """Expert parallelism of a model that has no experts.

    Source: vLLM 0.33.0, config/model.py, _verify_with_expert_parallelism.
    """
    if not scenario.enable_expert_parallel:
        return None
    counted = model.architecture not in UNCOUNTED
    if counted and any(isinstance(layer.feed_forward, MoeMlp) for layer in model.layers):
        return None
    message = (
        "Number of experts in the model must be greater than 0 when expert parallelism is enabled."
    )
    return Refusal("indivisible_other", message, "enable_expert_parallel", (False,))


def odd_world(scenario: Scenario, model: Model) -> Refusal | None:
    """All ranks together, stages and replicas too, that do not divide gpt-oss's experts.

    The engine's assertion has no words of its own; what a user reads is its line.

    Source: vLLM 0.33.0, model_executor/models/gpt_oss.py, MLPBlock.
    """
    if model.architecture not in DIVIDED_BY_ALL:
        return None
    stages, replicas = scenario.pipeline_parallel_size, scenario.data_parallel_size
    others = stages * replicas
    widths = [
        layer.feed_forward.moe_intermediate_size
        for layer in distinct_layers(model)
        if isinstance(layer.feed_forward, MoeMlp)
    ]
    if all(width % (scenario.tensor_parallel_size * others) == 0 for width in widths):
        return None
    return Refusal(
        "indivisible_other",
        "AssertionError: assert config.intermediate_size % self.world_size == 0",
        "tensor_parallel_size",
        tuple(
            size
            for size in working_sizes(model)
            if all(width % (size * others) == 0 for width in widths)
        ),
    )


def few_experts(scenario: Scenario, model: Model) -> Refusal | None:
    """More ranks than experts, whether experts are divided or dealt out whole."""
    if model.architecture not in COUNTS_EXPERTS:
        return None
    experts = [
        layer.feed_forward.num_experts
        for layer in distinct_layers(model)
        if isinstance(layer.feed_forward, MoeMlp)
    ]
    limit, size = min(experts, default=0), scenario.tensor_parallel_size
    if not limit or size <= limit:
        return None
    return Refusal(
        "indivisible_other",
        f"Tensor parallel size {size} is greater than the number of experts {limit}.",
        "tensor_parallel_size",
        tuple(works for works in working_sizes(model) if works <= limit),
    )
