"""Checkpoints of NVIDIA's ModelOpt: fp8, MXFP8, NVFP4, or a mixture named module by module.

Older ones describe themselves in hf_quant_config.json under ``quantization``; newer ones in
``quantization_config`` itself. Both are read here.
Source: vLLM 0.33.0, quantization/modelopt.py.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.module_names import Module, ModuleNames, sort_names
from pycore.model.quantization.float8 import name_list
from pycore.model.quantization.modelopt_names import algorithm_of, excluded_names, excludes
from pycore.model.quantization.resolved_table import MODULES
from pycore.model.quantization.rule import (
    KV_SCALES,
    NO_SCALES,
    Choose,
    Pair,
    Quantization,
    Rule,
    unsupported,
)
from pycore.model.quantization.weight_formats import (
    FLOAT32,
    FP8_CHANNEL,
    FP8_TENSOR_STATIC,
    MXFP8,
    NVFP4,
    Extras,
    WeightFormat,
    fp8_block,
)

W4A16_NVFP4: Final = replace(
    NVFP4,
    name="nvfp4, 16-bit activations",
    extras=Extras(matrix_bytes=FLOAT32, matrix_elements=1),
)
"""A linear's input scales are made in the model's dtype, and dropped when it is loaded."""

METHODS: Final = {
    "FP8": "modelopt",
    "FP8_PER_CHANNEL_PER_TOKEN": "modelopt",
    "FP8_PB_WO": "modelopt",
    "NVFP4": "modelopt_fp4",
    "W4A16_NVFP4": "modelopt_fp4",
    "MXFP8": "modelopt_mxfp8",
    "MIXED_PRECISION": "modelopt_mixed",
}
ALGORITHMS: Final = (*METHODS, "FP8_BLOCK_SCALES")
CAPABILITIES: Final = {
    "modelopt": 80,
    "modelopt_fp4": 75,
    "modelopt_mxfp8": 80,
    "modelopt_mixed": 75,
}
KV_CACHE_DTYPES: Final = {"fp8": "fp8_e4m3", "nvfp4": "nvfp4"}
# Towers that older exporters left alone without a word.
TOWERS: Final = ("vision_tower", "vision_model", "vit_large_projector")


def algorithm_format(algorithm: str, group_size: int) -> WeightFormat | None:
    """The form that an algorithm's name stands for; None for a name that is not known."""
    match algorithm:
        case "FP8":
            return FP8_TENSOR_STATIC
        case "FP8_PER_CHANNEL_PER_TOKEN":
            return FP8_CHANNEL
        case "FP8_PB_WO" | "FP8_BLOCK_SCALES":
            return replace(fp8_block(128, 128), alignment="none")
        case "MXFP8":
            return MXFP8
        case "NVFP4":
            return replace(NVFP4, block=(1, group_size))
        case "W4A16_NVFP4":
            return replace(W4A16_NVFP4, block=(1, group_size))
        case _:
            return None


def named_forms(group_size: int) -> dict[str, Pair]:
    """The form of every algorithm that is known, by its name."""
    forms = {name: algorithm_format(name, group_size) for name in ALGORITHMS}
    return {name: (form, form) for name, form in forms.items()}


def read_modelopt(section: ConfigReader) -> Quantization:
    """Any ModelOpt checkpoint."""
    inner = section.section("quantization") or section
    algorithm = inner.text("quant_algo").upper()
    if algorithm not in METHODS:
        raise unsupported(inner, "quant_algo", f"ModelOpt weights of {algorithm or 'no'} algorithm")
    if algorithm == "NVFP4" and quantizes_weights_only(section):
        algorithm = "W4A16_NVFP4"
    method = METHODS[algorithm]
    excluded = name_list(inner, "ignore", "exclude_modules")
    group_size = inner.integer("group_size", default=16)
    is_mixed = algorithm == "MIXED_PRECISION"
    kv_dtype = read_kv_cache_dtype(section, inner)
    if is_mixed:
        rule = mixed_rule(excluded, read_layers(inner), group_size)
    else:
        rule = uniform_rule(excluded, algorithm_format(algorithm, group_size))
    scales = KV_SCALES if not is_mixed or kv_dtype else NO_SCALES
    return Quantization(
        method,
        rule,
        lowest_capability=CAPABILITIES[method],
        forms=named_forms(group_size),
        dtypes=("bfloat16",) if method == "modelopt_mxfp8" else ("bfloat16", "float16"),
        kv_cache_dtype=kv_dtype,
        latent_kv_cache_dtype=kv_dtype,
        attention_scales=scales,
        carries_cache_scales=scales is KV_SCALES,
        latent_scales=NO_SCALES if is_mixed else scales,
        declared=section,
    )


def quantizes_weights_only(section: ConfigReader) -> bool:
    """Whether every group of ``config_groups`` leaves the inputs alone."""
    groups = section.section("config_groups")
    if groups is None or not groups.fields:
        return False
    return all(
        isinstance(group, Mapping) and group.get("input_activations") is None
        for group in groups.fields.values()
    )


def read_kv_cache_dtype(section: ConfigReader, inner: ConfigReader) -> str | None:
    """What "auto" becomes for the KV cache.

    Source: vLLM 0.33.0, utils/torch_utils.py, get_kv_cache_quant_algo_string.
    """
    for name in ("kv_cache_scheme", "kv_cache_quant_algo"):
        for reader in (inner, section):
            value = reader.fields.get(name)
            if not value:
                continue
            reader.raw(name)
            if isinstance(value, Mapping):
                return scheme_dtype(value)
            return KV_CACHE_DTYPES.get(str(value).lower())
    return None


def scheme_dtype(scheme: Mapping[str, object]) -> str | None:
    """The dtype of a ``kv_cache_scheme``."""
    if scheme.get("type") != "float":
        return None
    if scheme.get("num_bits") == 8 and scheme.get("dynamic") is False:
        return "fp8_e4m3"
    return "nvfp4" if scheme.get("num_bits") == 4 else None


def uniform_rule(excluded: tuple[str, ...], form: WeightFormat | None) -> Rule:
    """One form for all that is not excluded, the head too."""

    def rule(names: ModuleNames) -> Choose:
        entries = excluded_names(excluded, names)

        def choose(module: Module) -> WeightFormat | None:
            if excludes(module, entries) or any(tower in module.name for tower in TOWERS):
                return None
            return form

        return choose

    return rule


def read_layers(inner: ConfigReader) -> dict[str, str]:
    """``quantized_layers``: the algorithm of each module that is quantised."""
    if MODULES in inner.fields:
        return {}
    layers = inner.section("quantized_layers")
    if layers is None or not layers.fields:
        raise inner.missing("quantized_layers", "MIXED_PRECISION names every module's form there")
    found: dict[str, str] = {}
    for name, value in layers.fields.items():
        algorithm = value.get("quant_algo") if isinstance(value, dict) else None
        if not isinstance(algorithm, str):
            raise layers.invalid(name, value, "an object with quant_algo")
        found[name] = algorithm.upper()
    return found


def mixed_rule(excluded: tuple[str, ...], layers: Mapping[str, str], group_size: int) -> Rule:
    """Each module's own form, as ``quantized_layers`` names it; what is not named is left alone."""

    def rule(names: ModuleNames) -> Choose:
        entries = excluded_names(excluded, names)
        algorithms = {names.rename(name): algorithm for name, algorithm in layers.items()}
        listed = sort_names(algorithms)

        def choose(module: Module) -> WeightFormat | None:
            if excludes(module, entries):
                return None
            found = algorithm_of(module, listed, algorithms)
            return None if found is None else algorithm_format(found, group_size)

        return choose

    return rule


def read_mxfp8(section: ConfigReader) -> Quantization:
    """``quant_method: mxfp8``, as MiniMax names the same form.

    Source: vLLM 0.33.0, quantization/modelopt.py, ModelOptMxFp8Config.from_config.
    """
    return Quantization(
        "mxfp8",
        uniform_rule(name_list(section, "ignored_layers"), MXFP8),
        lowest_capability=80,
        forms={"MXFP8": (MXFP8, MXFP8)},
        dtypes=("bfloat16",),
        attention_scales=KV_SCALES,
        latent_scales=KV_SCALES,
        carries_cache_scales=True,
        declared=section,
    )
