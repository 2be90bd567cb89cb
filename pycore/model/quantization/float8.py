"""Checkpoints of fp8 weights in the forms of the engine's ``fp8`` method and its relatives."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

from pycore.model.config_fields import ConfigReader
from pycore.model.module_names import Module, ModuleNames, is_skipped, sort_names
from pycore.model.quantization.four_bit_experts import FILLED_MXFP4
from pycore.model.quantization.rule import KV_SCALES, Choose, Quantization, Rule, unsupported
from pycore.model.quantization.weight_formats import (
    FLOAT32,
    FP8_CHANNEL,
    FP8_TENSOR,
    FP8_TENSOR_STATIC,
    NVFP4,
    Extras,
    WeightFormat,
    fp8_block,
)

FBGEMM: Final = replace(FP8_CHANNEL, name="fbgemm fp8", extras=Extras(linear_bytes=FLOAT32))
"""A scale for each row, and the bound of the activations' scale: one float32."""

FBGEMM_REFUSAL: Final = (
    "The quantization method fbgemm_fp8 is deprecated and will be removed in future versions of "
    "vLLM. To bypass, set `--allow-deprecated-quantization`."
)


def name_list(section: ConfigReader, *fields: str) -> tuple[str, ...]:
    """A list of module names; the first of ``fields`` that is there and not empty."""
    for name in fields:
        entries = section.sequence(name)
        if entries:
            for entry in entries:
                if not isinstance(entry, str):
                    raise section.invalid(name, entry, "a list of module names")
            return tuple(str(entry) for entry in entries)
    return ()


def skipping(
    linear: WeightFormat,
    experts: WeightFormat | None,
    ignored: Sequence[str],
    mode: Literal["exact", "part"] = "exact",
) -> Rule:
    """The rule of one form for every linear but those that a list names; heads keep the dtype."""

    def rule(names: ModuleNames) -> Choose:
        entries = sort_names(names.rename(entry) for entry in ignored)

        def choose(module: Module) -> WeightFormat | None:
            if module.kind == "head" or is_skipped(module, entries, mode):
                return None
            return experts if module.kind == "experts" else linear

        return choose

    return rule


def read_fp8(section: ConfigReader) -> Quantization:
    """``quant_method: fp8``: one scale a matrix, or one for each block of rows and columns.

    Source: vLLM 0.33.0, quantization/fp8.py, Fp8Config.
    """
    form = read_fp8_format(section)
    experts = FILLED_MXFP4 if section.text("store_dtype") == "mxfp4" else form
    ignored = name_list(section, "ignored_layers", "modules_to_not_convert")
    return Quantization(
        "fp8",
        skipping(form, experts, ignored),
        lowest_capability=75,
        forms={"fp8": (form, experts)},
        attention_scales=KV_SCALES,
        carries_cache_scales=True,
        declared=section,
    )


def read_fp8_format(section: ConfigReader, scale_bits: int = 32) -> WeightFormat:
    """The form of a linear, by the section's block size and activation scheme."""
    scheme = section.text("activation_scheme")
    if not scheme:
        scheme = section.defaulted["activation_scheme"] = "dynamic"
    if scheme not in ("static", "dynamic"):
        raise section.invalid("activation_scheme", scheme, "static or dynamic")
    block = read_block(section)
    if block is None:
        return FP8_TENSOR_STATIC if scheme == "static" else FP8_TENSOR
    if scheme == "static":
        raise unsupported(section, "activation_scheme", "blocks of weights with static activations")
    return fp8_block(*block, scale_bits=scale_bits)


def read_block(section: ConfigReader) -> tuple[int, int] | None:
    """Rows and columns that share one scale."""
    block = section.sequence("weight_block_size")
    if block is None:
        return None
    if len(block) != 2:
        raise section.invalid("weight_block_size", block, "two whole numbers")
    rows, columns = (section.checked_integer("weight_block_size", size) for size in block)
    return rows, columns


def read_deepseek_v4(section: ConfigReader, expert_dtype: str) -> Quantization:
    """DeepSeek-V4: fp8 blocks whose scales are bytes, and experts of four-bit floats.

    Source: vLLM 0.33.0, models/deepseek_v4/quant_config.py.
    """
    if expert_dtype not in ("fp4", "fp8"):
        raise unsupported(section, "expert_dtype", f"experts in {expert_dtype}")
    is_fp4 = expert_dtype == "fp4"
    form = read_fp8_format(section, scale_bits=8 if is_fp4 else 32)
    experts = form
    if is_fp4:
        experts = NVFP4 if section.text("moe_quant_algo").upper() == "NVFP4" else FILLED_MXFP4
    ignored = name_list(section, "ignored_layers", "modules_to_not_convert")
    return Quantization(
        "deepseek_v4_fp8",
        skipping(form, experts, ignored),
        lowest_capability=75,
        forms={"fp8": (form, experts)},
        attention_scales=KV_SCALES,
        declared=section,
    )


def read_fbgemm(section: ConfigReader) -> Quantization:
    """Meta's own fp8 of Llama 3.1 405B, which the engine has given up.

    Source: vLLM 0.33.0, quantization/fbgemm_fp8.py and DEPRECATED_QUANTIZATION_METHODS.
    """
    ignored = name_list(section, "modules_to_not_convert")
    return Quantization(
        "fbgemm_fp8",
        skipping(FBGEMM, None, ignored),
        lowest_capability=80,
        forms={"fp8": (FBGEMM, None)},
        refusal=FBGEMM_REFUSAL,
        declared=section,
    )
