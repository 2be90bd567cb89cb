"""Quantising while loading: ``--quantization`` on a checkpoint in the model's dtype.

The sizes are of what is left when loading is done; while it loads, a layer at a time is held in
the model's dtype.
Source: vLLM 0.33.0, config/quantization.py and quantization/online.
"""

from dataclasses import replace
from typing import Final

from pycore.model.module_names import Module, ModuleNames
from pycore.model.quantization.four_bit_experts import FILLED_MXFP4
from pycore.model.quantization.rule import Choose, Quantization, Rule
from pycore.model.quantization.weight_formats import (
    FLOAT32,
    FP8_CHANNEL,
    FP8_TENSOR,
    INT8_CHANNEL,
    MXFP4,
    MXFP8,
    NF4,
    NVFP4,
    Extras,
    WeightFormat,
    fp8_block,
)

ONE_SCALE: Final = Extras(linear_bytes=FLOAT32)
FP8_WHOLE: Final = replace(FP8_TENSOR, extras=ONE_SCALE, routed_extras=ONE_SCALE)
"""One scale for a linear with all that is fused in it."""

BLOCKS: Final = replace(fp8_block(128, 128), alignment="none", filling="block")


def everywhere(linear: WeightFormat | None, experts: WeightFormat | None) -> Rule:
    """One form for linears and one for routed experts; embeddings and heads keep the dtype."""

    def rule(names: ModuleNames) -> Choose:
        del names
        return lambda module: form_of(module, linear, experts)

    return rule


def form_of(
    module: Module, linear: WeightFormat | None, experts: WeightFormat | None
) -> WeightFormat | None:
    """The form of a module by its kind."""
    match module.kind:
        case "linear":
            return linear
        case "experts":
            return experts
        case "head":
            return None


def online(
    method: str,
    linear: WeightFormat | None,
    experts: WeightFormat | None,
    lowest_capability: int = 75,
    refusal: str = "",
) -> Quantization:
    """A quantisation at load."""
    return Quantization(
        method,
        everywhere(linear, experts),
        lowest_capability,
        capability_refusal=refusal,
        online=True,
    )


BLACKWELL_ONLY: Final = "nvfp4_per_token online quantization requires a Blackwell (SM100) GPU."
ACTIVATIONS_TOO: Final = (
    "FP8 PTPC online quant requires a kernel that honors per-token activation quantization; "
    "MarlinFP8 is W8A16 weight-only. Requires SM89+ for Cutlass FP8 or ROCm MI3xx for rowwise "
    "scaled_mm."
)


ONLINE: Final = {
    # The engine takes the short name as the first of these.
    "fp8": online("fp8", FP8_WHOLE, FP8_WHOLE),
    "fp8_per_tensor": online("fp8_per_tensor", FP8_WHOLE, FP8_WHOLE),
    "fp8_per_channel": online("fp8_per_channel", FP8_CHANNEL, FP8_CHANNEL, 89, ACTIVATIONS_TOO),
    "fp8_per_block": online("fp8_per_block", BLOCKS, BLOCKS),
    "mxfp8": online("mxfp8", MXFP8, MXFP8),
    "mxfp4": online("mxfp4", MXFP4, FILLED_MXFP4),
    "int8_per_channel_weight_only": online("int8_per_channel_weight_only", None, INT8_CHANNEL),
    "experts_int8": online("experts_int8", None, INT8_CHANNEL, 80),
    "nvfp4_per_token": online("nvfp4_per_token", None, NVFP4, 100, BLACKWELL_ONLY),
    "bitsandbytes": online("bitsandbytes", NF4, NF4),
}
