"""What vLLM chooses where the user left the choice to it.

Source: vLLM 0.33.0, engine/arg_utils.py (get_batch_defaults) and config/model.py.
"""

from dataclasses import dataclass
from typing import Final

from pycore import dtypes
from pycore.engine.runners import uses_v2_runner
from pycore.engine.versions import EngineVersion, find_version
from pycore.hardware.accelerators import Accelerator
from pycore.model.latent import LatentAttention
from pycore.model.model import Model, distinct_layers
from pycore.model.quantization.methods import ONLINE, Quantization
from pycore.scenario import Scenario
from pycore.units import GIB

# Classes that overflow in float16, and what the engine calls their type of model.
# Source: vLLM 0.33.0, config/model.py, _FLOAT16_NOT_SUPPORTED_MODELS.
WITHOUT_FLOAT16: Final = {
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3_text",
    "Gemma3ForConditionalGeneration": "gemma3",
    "Glm4ForCausalLM": "glm4",
}

BFLOAT16_CAPABILITY = (8, 0)


@dataclass(frozen=True, slots=True)
class Settings:
    """The engine's settings with every choice made."""

    version: EngineVersion
    dtype: str
    quantization: Quantization | None
    kv_cache_dtype: str
    gpu_memory_utilization: float
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    max_in_flight_tokens: int
    auto_fit: bool
    v2_runner: bool
    """Whether the newer of vLLM's two model runners serves the model."""


def choose_settings(scenario: Scenario, model: Model, accelerator: Accelerator) -> Settings:
    """Every setting of the engine for this scenario."""
    version = find_version(scenario.engine_version)
    asked = scenario.max_model_len
    unasked = model.default_max_model_len or model.model_limit_tokens
    max_model_len = asked if isinstance(asked, int) else unasked
    least = 0 if scenario.language_model_only else model.least_batched_tokens
    sequences, batched = batch_sizes(scenario, accelerator, max_model_len, least)
    utilization = scenario.gpu_memory_utilization
    dtype = resolve_dtype(scenario.dtype, model, accelerator)
    v2_runner = uses_v2_runner(version, model, accelerator)
    steps = in_flight_steps(version, scenario.pipeline_parallel_size, v2_runner=v2_runner)
    return Settings(
        version=version,
        dtype=dtype,
        quantization=resolve_quantization(scenario, model),
        kv_cache_dtype=resolve_kv_cache_dtype(scenario.kv_cache_dtype, dtype, model),
        gpu_memory_utilization=version.default_gpu_memory_utilization
        if utilization is None
        else utilization,
        max_model_len=max_model_len,
        max_num_seqs=sequences,
        max_num_batched_tokens=batched,
        max_in_flight_tokens=max_in_flight_tokens(
            max_num_batched_tokens=batched, in_flight_steps=steps
        ),
        auto_fit=asked == "auto",
        v2_runner=v2_runner,
    )


def max_in_flight_tokens(*, max_num_batched_tokens: int, in_flight_steps: int) -> int:
    """Tokens of steps that have begun and not settled, each as large as a step may be.

    Source: vLLM 0.33.0, config/vllm.py, max_in_flight_tokens, with async scheduling.
    """
    return in_flight_steps * max_num_batched_tokens


def in_flight_steps(version: EngineVersion, pipeline_parallel_size: int, *, v2_runner: bool) -> int:
    """Steps that have begun and not settled: one a stage, and one more where they overlap.

    Up to vLLM 0.25 a window was sized for one step alone.
    Source: vLLM 0.26.0, config/vllm.py, max_concurrent_batches; 0.25.1, kv_cache_interface.py.
    """
    if version.in_flight_steps == "one":
        return 1
    overlaps = v2_runner or pipeline_parallel_size == 1
    return pipeline_parallel_size + 1 if overlaps else pipeline_parallel_size


def default_batch(accelerator: Accelerator, version: EngineVersion) -> tuple[int, int]:
    """max_num_batched_tokens and max_num_seqs of ``vllm serve``, by the GPU's memory.

    An A100 80GB counts among the small ones. So does a GB10: the driver did not tell its memory,
    and since it does the engine leaves it out by name.
    Source: vLLM 0.10.2 to 0.33.0, engine/arg_utils.py, get_batch_defaults.
    """
    largest = version.largest_batch_from_gib
    if largest is not None and accelerator.total_bytes >= largest * GIB:
        return 16384, 1024
    if accelerator.total_bytes >= 70 * GIB and not accelerator.small_batch_by_name:
        return 8192, 1024
    return 2048, 256


def batch_sizes(
    scenario: Scenario, accelerator: Accelerator, max_model_len: int, least_tokens: int = 0
) -> tuple[int, int]:
    """max_num_seqs and max_num_batched_tokens, chosen where the user did not.

    ``least_tokens`` is the largest item of a model that must take it whole.
    """
    version = find_version(scenario.engine_version)
    default_tokens, default_sequences = default_batch(accelerator, version)
    sequences = scenario.max_num_seqs
    batched = scenario.max_num_batched_tokens
    if batched is None:
        batched = max(default_tokens, least_tokens)
        batched = min(batched, (sequences or default_sequences) * max_model_len)
    if sequences is None:
        sequences = min(default_sequences, batched)
    return sequences, batched


def resolve_dtype(asked: str, model: Model, accelerator: Accelerator) -> str:
    """The element type of weights and activations.

    "auto" serves float32 checkpoints in the first type that GPU and model both have, and takes
    that too for what one of them lacks: bfloat16 on older GPUs, float16 in Gemma 3.
    Source: vLLM 0.33.0, config/model.py, _resolve_auto_dtype.
    """
    if asked != "auto":
        return dtypes.canonical(asked)
    supported = ["float32"]
    if model.architecture not in WITHOUT_FLOAT16:
        supported.insert(0, "float16")
    if has_bfloat16(accelerator):
        supported.insert(0, "bfloat16")
    is_kept = model.dtype in supported and model.dtype != "float32"
    return model.dtype if is_kept else supported[0]


def has_bfloat16(accelerator: Accelerator) -> bool:
    """Whether the GPU computes in bfloat16: all but NVIDIA's before compute capability 8.0."""
    capability = accelerator.compute_capability
    return capability is None or capability >= BFLOAT16_CAPABILITY


def resolve_kv_cache_dtype(asked: str, dtype: str, model: Model) -> str:
    """The element type of the KV cache: "auto" is the checkpoint's own scheme, else the model's.

    Source: vLLM 0.33.0, utils/torch_utils.py, resolve_kv_cache_dtype_string.
    """
    if asked != "auto":
        return asked
    quantization = model.quantization
    if quantization is None:
        return dtype
    if any(isinstance(layer.mixer, LatentAttention) for layer in distinct_layers(model)):
        return quantization.latent_kv_cache_dtype or dtype
    return quantization.kv_cache_dtype or dtype


def resolve_quantization(scenario: Scenario, model: Model) -> Quantization | None:
    """The form of the weights: the checkpoint's own, or quantised while loading."""
    if model.quantization is None and scenario.quantization is not None:
        return ONLINE.get(scenario.quantization)
    return model.quantization
