"""Checkpoints whose routed experts are four-bit floats (MXFP4), all else in the model's dtype."""

from dataclasses import replace
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.module_names import ModuleNames
from pycore.model.quantization.rule import Choose, Quantization, Rule
from pycore.model.quantization.weight_formats import MXFP4, WeightFormat

GPT_OSS: Final = replace(MXFP4, filling="gpt_oss")
FILLED_MXFP4: Final = replace(MXFP4, filling="mxfp4")


def experts_only(form: WeightFormat) -> Rule:
    """One form for routed experts and none for anything else, whatever the checkpoint lists.

    Source: vLLM 0.33.0, quantization/mxfp4.py, Mxfp4Config.get_quant_method.
    """

    def rule(names: ModuleNames) -> Choose:
        del names
        return lambda module: form if module.kind == "experts" else None

    return rule


def read_mxfp4(section: ConfigReader, *, is_gpt_oss: bool) -> Quantization:
    """``quant_method: mxfp4``: gpt-oss, which has kernels of its own, and others."""
    form = GPT_OSS if is_gpt_oss else FILLED_MXFP4
    return Quantization(
        "gpt_oss_mxfp4" if is_gpt_oss else "mxfp4",
        experts_only(form),
        lowest_capability=80,
        forms={"mxfp4": (None, form)},
        dtypes=("bfloat16",),
        declared=section,
    )
