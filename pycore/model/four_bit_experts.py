"""gpt-oss: routed experts of four-bit floats (MXFP4), everything else in the model's dtype."""

from dataclasses import replace
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.module_names import Module, ModuleNames
from pycore.model.quantization_rule import Choose, Quantization
from pycore.model.weight_formats import MXFP4, WeightFormat

GPT_OSS: Final = replace(MXFP4, filling="gpt_oss")


def experts_only(names: ModuleNames) -> Choose:
    """MXFP4 for routed experts and nothing else, whatever the checkpoint lists.

    Source: vLLM 0.33.0, quantization/mxfp4.py, Mxfp4Config.get_quant_method.
    """
    del names

    def choose(module: Module) -> WeightFormat | None:
        return GPT_OSS if module.kind == "experts" else None

    return choose


def read_mxfp4(section: ConfigReader) -> Quantization:
    """``quant_method: mxfp4``."""
    return Quantization(
        "gpt_oss_mxfp4",
        experts_only,
        lowest_capability=80,
        dtypes=("bfloat16",),
        declared=section,
    )
