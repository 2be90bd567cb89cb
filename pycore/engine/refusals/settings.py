"""Refusals of a setting by itself: its length, its batch, its element types.

Source: vLLM 0.33.0, config/model.py, config/scheduler.py.
"""

from typing import Final

from pycore.engine.refusals.quantization import start_errors
from pycore.engine.refusals.refusal import Refusal
from pycore.engine.vllm import WITHOUT_FLOAT16, Settings, has_bfloat16
from pycore.hardware.accelerators import Accelerator
from pycore.model.latent import CompressedAttention
from pycore.model.model import Model, distinct_layers
from pycore.scenario import Scenario

HALF_PRECISION: Final = ("float16", "bfloat16")


def over_long(settings: Settings, model: Model) -> Refusal | None:
    """A max_model_len above what the model was made for, where its config sets a limit."""
    if settings.auto_fit or settings.max_model_len <= model.model_limit_tokens:
        return None
    if not model.model_limit_field:
        return None
    limit = model.model_limit_tokens
    named = f"{model.model_limit_field}={float(limit)}"
    longest = limit if model.model_limit_field == "model_max_length" else None
    return Refusal(
        "max_model_len_above_model",
        f"User-specified max_model_len ({settings.max_model_len}) is greater than the derived "
        f"max_model_len ({named} or model_max_length={longest} in model's config.json). To allow "
        "overriding this maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1.",
        "max_model_len",
        (limit,),
    )


def few_batched_tokens(settings: Settings) -> Refusal | None:
    """Fewer tokens a step than sequences: some would never move."""
    if settings.max_num_batched_tokens >= settings.max_num_seqs:
        return None
    return Refusal(
        "batched_tokens_too_small",
        f"max_num_batched_tokens ({settings.max_num_batched_tokens}) must be greater than or "
        f"equal to max_num_seqs ({settings.max_num_seqs}).",
        "max_num_batched_tokens",
        (settings.max_num_seqs,),
    )


def dtype_missing(settings: Settings, accelerator: Accelerator) -> Refusal | None:
    """bfloat16 on a GPU that does not compute in it."""
    if settings.dtype != "bfloat16" or has_bfloat16(accelerator):
        return None
    return Refusal(
        "dtype_not_on_accelerator",
        "Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your "
        f"{accelerator.name} GPU has compute capability {capability_text(accelerator)}. You can "
        "use float16 instead by explicitly setting the `dtype` flag in CLI, for example: "
        "--dtype=half.",
        "dtype",
    )


def overflowing(settings: Settings, model: Model) -> Refusal | None:
    """float16 asked for in a model whose numbers grow out of it.

    Source: vLLM 0.33.0, config/model.py, _check_valid_dtype.
    """
    if settings.dtype != "float16" or model.architecture not in WITHOUT_FLOAT16:
        return None
    return Refusal(
        "dtype_not_on_accelerator",
        f"The model type '{WITHOUT_FLOAT16[model.architecture]}' does not support float16. "
        "Reason: Numerical instability. Please use bfloat16 or float32 instead.",
        "dtype",
    )


def other_cache_dtype(settings: Settings) -> Refusal | None:
    """A cache in the other half-precision type than the model's.

    Source: vLLM 0.33.0, config/vllm.py, _reject_mismatched_float_kv_cache.
    """
    cache, own = settings.kv_cache_dtype, settings.dtype
    if cache not in HALF_PRECISION or cache == own:
        return None
    allowed = f"`auto` or `{own}`" if own in HALF_PRECISION else "`auto`"
    message = (
        f'kv_cache_dtype="{cache}" is incompatible with dtype="{own}". Please set '
        f"`--kv-cache-dtype` to {allowed}."
    )
    return Refusal("no_attention_backend", message, "kv_cache_dtype")


def packed_cache(scenario: Scenario, model: Model) -> Refusal | None:
    """DeepSeek-V4's vectors in the model's own type: its kernels read packed fp8.

    Source: vLLM 0.33.0, models/deepseek_v4/attention.py.
    """
    asked = scenario.kv_cache_dtype
    mixers = (layer.mixer for layer in distinct_layers(model))
    compressed = any(isinstance(mixer, CompressedAttention) for mixer in mixers)
    if asked not in HALF_PRECISION or not compressed:
        return None
    message = (
        f"DeepseekV4 fp8_ds_mla layout only supports fp8 kv-cache, got {asked}. Please set "
        "`--kv-cache-dtype fp8` or select a backend that supports bfloat16 KV cache."
    )
    return Refusal("no_attention_backend", message, "kv_cache_dtype")


def capability_text(accelerator: Accelerator) -> str:
    """A compute capability as the engine prints it."""
    major, minor = accelerator.compute_capability or (0, 0)
    return f"{major}.{minor}"


def quantization_refused(
    scenario: Scenario, model: Model, settings: Settings, accelerator: Accelerator
) -> Refusal | None:
    """A quantisation that the engine does not start with, here or at all."""
    found = next(start_errors(scenario, model, settings, accelerator), None)
    return None if found is None else Refusal(*found, "quantization")
