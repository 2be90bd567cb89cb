"""Which of vLLM's two model runners serves a model: they profile and account differently.

Source: vLLM 0.22.1 to 0.33.0, config/vllm.py, use_v2_model_runner.
"""

from pycore.engine.versions import EngineVersion
from pycore.hardware.accelerators import Accelerator
from pycore.model.layers import MoeMlp
from pycore.model.model import Model, distinct_layers
from pycore.model.recurrent import Recurrent

# From this version on V1 counts CUDA graphs on AMD's GPUs too, where these classes stay with it.
GRAPHS_COUNTED_ON_AMD = (0, 26)
V1_ON_AMD = frozenset({"DeepseekV32ForCausalLM", "DeepseekV4ForCausalLM", "GlmMoeDsaForCausalLM"})


def uses_v2_runner(version: EngineVersion, model: Model, accelerator: Accelerator) -> bool:
    """Whether this version serves the model with V2."""
    listed = model.architecture in version.v2_architectures
    match version.v2_runner:
        case "always":
            return not (accelerator.vendor == "AMD" and model.architecture in V1_ON_AMD)
        case "dense_or_listed":
            return listed or not (is_moe(model) or keeps_states(model))
        case "listed":
            return listed
        case "listed_plain":
            return listed and not is_moe(model) and model.quantization is None
        case _:
            return False


def is_moe(model: Model) -> bool:
    """Whether any layer has routed experts."""
    return any(isinstance(layer.feed_forward, MoeMlp) for layer in distinct_layers(model))


def keeps_states(model: Model) -> bool:
    """Whether any layer keeps a state of fixed size instead of, or beside, keys and values."""
    return any(
        isinstance(getattr(layer.mixer, "recurrent", layer.mixer), Recurrent)
        for layer in distinct_layers(model)
    )


def takes_cuda_graphs_from_budget(
    version: EngineVersion, accelerator: Accelerator, *, v2_runner: bool
) -> bool:
    """Whether an estimate for CUDA graphs is taken from the budget before the KV pool.

    Where it is not, graphs come out of the memory that the budget leaves. On AMD's GPUs V1 does so
    later than elsewhere.
    Source: vLLM 0.20.2 (V1), 0.26.0 (V1 on AMD) and 0.29.0 (V2), v1/worker/gpu_worker.py and
    model_runner.py.
    """
    if v2_runner:
        return version.v2_cuda_graphs_in_budget
    if accelerator.vendor == "AMD":
        return version.version >= GRAPHS_COUNTED_ON_AMD
    return version.cuda_graphs_in_budget
