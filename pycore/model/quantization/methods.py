"""How a checkpoint stores its weights, read from ``quantization_config``.

hf_quant_config.json is read from the same place: the caller puts it there, as the engine does.
What is not understood is refused by name.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pycore.errors import InvalidRequest
from pycore.model.config_fields import ConfigReader
from pycore.model.quantization.compressed_tensors import read_compressed_tensors
from pycore.model.quantization.float8 import read_deepseek_v4, read_fbgemm, read_fp8
from pycore.model.quantization.four_bit_experts import read_mxfp4
from pycore.model.quantization.integer_groups import read_awq, read_bitsandbytes, read_gptq
from pycore.model.quantization.modelopt import METHODS as MODELOPT_METHODS
from pycore.model.quantization.modelopt import read_modelopt, read_mxfp8
from pycore.model.quantization.online import ONLINE
from pycore.model.quantization.resolved_table import with_table
from pycore.model.quantization.rule import Quantization, unsupported

__all__ = ["ONLINE", "Quantization", "read_quantization"]

READERS: Final[Mapping[str, Callable[[ConfigReader], Quantization]]] = {
    "fp8": read_fp8,
    "fbgemm_fp8": read_fbgemm,
    "awq": read_awq,
    "gptq": read_gptq,
    "compressed-tensors": read_compressed_tensors,
    "modelopt": read_modelopt,
    "mxfp8": read_mxfp8,
    "bitsandbytes": read_bitsandbytes,
}


def read_quantization(reader: ConfigReader) -> Quantization | None:
    """The checkpoint's own quantisation, or None when its weights are in the model's dtype."""
    section = quantization_section(reader)
    if section is None:
        refuse_mlx(reader, "quantization")
        return None
    method = method_name(section)
    if method == "":
        refuse_mlx(reader, "quantization_config")
        return None
    return with_table(section, read_method(reader, section, method))


def read_method(reader: ConfigReader, section: ConfigReader, method: str) -> Quantization:
    """What a method says; some depend on the model that it stands in."""
    model_type = reader.text("model_type")
    if is_kimi_k3(reader) and section.text("format") == "mxfp4-pack-quantized":
        method = "mxfp4"
    if method == "fp8" and model_type == "deepseek_v4":
        return read_deepseek_v4(section, reader.text("expert_dtype", default="fp4"))
    if method == "mxfp4":
        return read_mxfp4(section, is_gpt_oss=model_type == "gpt_oss")
    if method not in READERS:
        raise InvalidRequest(
            f"{section.path}.quant_method",
            "unsupported_quantization",
            f"weights quantised with {method[:40]} cannot be sized yet",
            (*READERS, "mxfp4"),
        )
    return READERS[method](section)


def refuse_mlx(reader: ConfigReader, name: str) -> None:
    """Refuse what MLX writes: bits and groups without a method, which no GPU engine loads."""
    fields = reader.fields.get(name)
    if isinstance(fields, dict) and {"bits", "group_size"} <= set(fields):
        raise unsupported(reader, name, "weights quantised for MLX")


def is_kimi_k3(reader: ConfigReader) -> bool:
    """Whether the engine takes four-bit floats of compressed-tensors as its own MXFP4.

    Source: vLLM 0.33.0, model_executor/models/config.py, KimiK3ForConditionalGenerationConfig.
    """
    return reader.fields.get("architectures") == ["KimiK3ForConditionalGeneration"]


def quantization_section(reader: ConfigReader) -> ConfigReader | None:
    """Where the quantisation is described: at the top, or in the part about text.

    Source: vLLM 0.33.0, transformers_utils/model_arch_config_convertor.py.
    """
    section = reader.section("quantization_config", "compression_config")
    if section is not None:
        return section
    text = reader.fields.get("text_config")
    if isinstance(text, Mapping) and text.get("quantization_config") is not None:
        inner = reader.section("text_config")
        return None if inner is None else inner.section("quantization_config")
    return None


def method_name(section: ConfigReader) -> str:
    """The method; ModelOpt's older files name only their producer, and without one are ignored.

    Source: vLLM 0.33.0, transformers_utils/model_arch_config_convertor.py,
    _normalize_quantization_config.
    """
    producer = section.fields.get("producer")
    inner = section.fields.get("quantization")
    by_modelopt = isinstance(producer, Mapping) and producer.get("name") == "modelopt"
    if isinstance(inner, Mapping) and (by_modelopt or "modelopt_quant_config" in inner):
        algorithm = str(inner.get("quant_algo") or "").upper()
        if algorithm in MODELOPT_METHODS:
            return "modelopt"
    method = section.text("quant_method").lower().replace("_", "-")
    if method.startswith("modelopt"):
        return "modelopt"
    return "fbgemm_fp8" if method == "fbgemm-fp8" else method
