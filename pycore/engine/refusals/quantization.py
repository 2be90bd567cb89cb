"""When the engine starts with a quantisation at all, whatever the ranks; in its own words.

Source: vLLM 0.33.0, config/model.py (_verify_quantization), config/vllm.py
(_get_quantization_config) and the methods in model_executor/layers/quantization.
"""

from collections.abc import Iterator
from typing import Final

from pycore.engine.refusals.refusal import RefusalKind
from pycore.engine.vllm import Settings
from pycore.hardware.accelerators import Accelerator
from pycore.model.model import Model
from pycore.model.module_forms import chooser, layer_forms
from pycore.model.module_names import Module
from pycore.model.quantization.methods import ONLINE, Quantization
from pycore.scenario import Scenario

# The first version that is known to refuse what older ones took.
STRICT_VERSION: Final = (0, 33)
# Methods that take a checkpoint whatever --quantization says.
UNMOVED: Final = ("modelopt", "modelopt_fp4", "modelopt_mxfp8", "modelopt_mixed")
UNMOVED_TOO: Final = ("gpt_oss_mxfp4", "deepseek_v4_fp8")
METHODS: Final = [
    "awq",
    "auto_awq",
    "fp8",
    "fbgemm_fp8",
    "fp_quant",
    "modelopt",
    "modelopt_fp4",
    "modelopt_mxfp8",
    "modelopt_mixed",
    "auto_gptq",
    "gptq",
    "gptq_marlin",
    "awq_marlin",
    "humming",
    "compressed-tensors",
    "experts_int8",
    "quark",
    "moe_wna16",
    "torchao",
    "inc",
    "mxfp4",
    "gpt_oss_mxfp4",
    "deepseek_v4_fp8",
    "online",
    "fp8_per_tensor",
    "fp8_per_block",
    "fp8_per_channel",
    "int8_per_channel_weight_only",
    "nvfp4_per_token",
    "mxfp8",
]


def start_errors(
    scenario: Scenario, model: Model, settings: Settings, accelerator: Accelerator
) -> Iterator[tuple[RefusalKind, str]]:
    """The kind and the words of every rule that is broken, in the engine's order."""
    quantization = settings.quantization
    error = mismatch(scenario.quantization, model.quantization)
    if error:
        yield "unsupported_quantisation", error
    if quantization is None:
        return
    error = given_up(quantization, settings)
    if error:
        yield "unsupported_quantisation", error
    error = too_old(quantization, model, accelerator)
    if error:
        yield "quantisation_not_on_accelerator", error
    for error in (wrong_dtype(quantization, settings), wrong_cache(quantization, settings)):
        if error:
            yield "unsupported_quantisation", error


def mismatch(asked: str | None, checkpoint: Quantization | None) -> str | None:
    """A ``--quantization`` that contradicts the checkpoint, or that it has nothing for."""
    if asked is None:
        return None
    if checkpoint is None:
        return None if asked in ONLINE else f"Cannot find the config file for {asked}"
    if asked in (checkpoint.method, checkpoint.method.removeprefix("auto_")):
        return None
    if checkpoint.method in (*UNMOVED, *UNMOVED_TOO):
        return None
    return (
        f"Quantization method specified in the model config ({checkpoint.method}) does not match "
        f"the quantization method specified in the `quantization` argument ({asked})."
    )


def given_up(quantization: Quantization, settings: Settings) -> str | None:
    """A method that this version has given up, or a variant that it does not take."""
    if settings.version.version < STRICT_VERSION:
        return None
    if quantization.refusal:
        return quantization.refusal
    if quantization.method in METHODS:
        return None
    return f"Unknown quantization method: {quantization.method}. Must be one of {METHODS}."


def too_old(quantization: Quantization, model: Model, accelerator: Accelerator) -> str | None:
    """A GPU that the method's kernels do not run on; one whose generation is assumed may do."""
    if accelerator.compute_capability is None or accelerator.is_assumed_generation:
        return None
    major, minor = accelerator.compute_capability
    current = 10 * major + minor
    if current < quantization.lowest_capability:
        if quantization.capability_refusal:
            # Said by what it would quantise: of a dense model, nvfp4_per_token has nothing.
            has_any = any(any(own.values()) for own in layer_forms(model, quantization))
            return quantization.capability_refusal if has_any else None
        return (
            f"The quantization method {quantization.method} is not supported for the current GPU. "
            f"Minimum capability: {quantization.lowest_capability}. Current capability: {current}."
        )
    needed = scheme_capability(quantization, model)
    if current >= needed:
        return None
    return (
        f"Quantization scheme is not supported for the current GPU. Min capability: {needed}. "
        f"Current capability: {current}."
    )


def scheme_capability(quantization: Quantization, model: Model) -> int:
    """What the schemes of a compressed-tensors checkpoint need."""
    if quantization.method != "compressed-tensors":
        return 0
    forms = {form for own in layer_forms(model, quantization) for form in own.values()}
    head = chooser(model, quantization)(Module(model.names.head, "head"))
    found = [form.lowest_capability for form in forms]
    return max([*found, head.lowest_capability if head else 0])


def wrong_dtype(quantization: Quantization, settings: Settings) -> str | None:
    """A model dtype that the method does not compute in."""
    if settings.dtype in quantization.dtypes:
        return None
    supported = ", ".join(f"torch.{dtype}" for dtype in quantization.dtypes)
    return (
        f"torch.{settings.dtype} is not supported for quantization method {quantization.method}. "
        f"Supported dtypes: [{supported}]"
    )


def wrong_cache(quantization: Quantization, settings: Settings) -> str | None:
    """An fp8 cache of five exponent bits under a checkpoint that may carry scales for it.

    Source: vLLM 0.33.0, layers/attention/attention.py, _init_kv_cache_quant.
    """
    if settings.kv_cache_dtype != "fp8_e5m2" or not quantization.carries_cache_scales:
        return None
    return "fp8_e5m2 kv-cache is not supported with fp8 checkpoints."
