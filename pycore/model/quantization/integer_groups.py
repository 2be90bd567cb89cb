"""Checkpoints of integer weights in groups: AWQ, GPTQ, and bitsandbytes."""

from collections.abc import Mapping
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.module_names import (
    Module,
    ModuleNames,
    all_or_none,
    expression,
    is_skipped,
    sort_names,
)
from pycore.model.quantization.float8 import name_list, skipping
from pycore.model.quantization.rule import Choose, Quantization, Rule, unsupported
from pycore.model.quantization.weight_formats import LLM_INT8, NF4, WeightFormat, awq, gptq

AWQ_BITS: Final = (4,)
GPTQ_BITS: Final = (4, 8)


def read_group_size(section: ConfigReader, *fields: str) -> int:
    """Columns that share a scale; -1 for all of them."""
    size = section.integer(*fields, minimum=-1)
    if size == 0:
        raise section.invalid(fields[0], size, "-1 or a whole number above 0")
    return size


def read_awq(section: ConfigReader) -> Quantization:
    """AWQ of 4 bits: modules are left alone by any part of their names.

    Source: vLLM 0.33.0, quantization/auto_awq.py.
    """
    bits = section.integer("w_bit", "bits")
    if bits not in AWQ_BITS:
        raise unsupported(section, "bits", f"AWQ of {bits} bits")
    form = awq(
        bits,
        read_group_size(section, "q_group_size", "group_size"),
        zero_point=section.flag("zero_point", default=True),
    )
    ignored = name_list(section, "modules_to_not_convert")
    head = form if section.flag("lm_head", default=False) else None
    return Quantization(
        "auto_awq",
        awq_rule(form, head, ignored),
        lowest_capability=75,
        forms={"awq": (form, form)},
        declared=section,
    )


def awq_rule(form: WeightFormat, head: WeightFormat | None, ignored: tuple[str, ...]) -> Rule:
    """One form for all but what is named in part; the head only where the checkpoint says so."""

    def rule(names: ModuleNames) -> Choose:
        entries = sort_names(names.rename(entry) for entry in ignored)

        def choose(module: Module) -> WeightFormat | None:
            if is_skipped(module, entries, "part"):
                return None
            return head if module.kind == "head" else form

        return choose

    return rule


def read_gptq(section: ConfigReader) -> Quantization:
    """GPTQ of 4 or 8 bits, with exceptions by regular expression.

    Source: vLLM 0.33.0, quantization/auto_gptq.py and quantization/utils/gptq_utils.py.
    """
    size = read_group_size(section, "group_size")
    form = gptq_format(section, section.integer("bits"), size)
    head = form if section.flag("lm_head", default=False) else None
    refusal = ""
    if section.flag("desc_act", default=False) and size != -1:
        refusal = (
            "GPTQ group activation ordering (desc_act=True) is no longer supported. Use a "
            "checkpoint with static activation ordering or desc_act=False."
        )
    elif not section.flag("sym", default=True):
        refusal = f"Unsupported quantization config: bits={form.element_bits}, sym=False"
    dynamic = read_dynamic(section, form)
    others = {pattern: (own, own) for pattern, own in dynamic if own is not None}
    return Quantization(
        "auto_gptq",
        gptq_rule(form, head, dynamic, read_quantized(section)),
        lowest_capability=60,
        forms={"gptq": (form, form), **others},
        refusal=refusal,
        declared=section,
    )


def gptq_format(section: ConfigReader, bits: int, group_size: int) -> WeightFormat:
    """A GPTQ form of known width."""
    if bits not in GPTQ_BITS:
        raise unsupported(section, "bits", f"GPTQ of {bits} bits")
    return gptq(bits, group_size)


def read_quantized(section: ConfigReader) -> tuple[str, ...]:
    """``modules_in_block_to_quantize``: parts of the names of all that is quantised, flattened."""
    found: list[str] = []
    for entry in section.sequence("modules_in_block_to_quantize") or ():
        found += [str(name) for name in entry] if isinstance(entry, list) else [str(entry)]
    return tuple(found)


Dynamic = tuple[tuple[str, WeightFormat | None], ...]


def read_dynamic(section: ConfigReader, base: WeightFormat) -> Dynamic:
    """``dynamic``: patterns with the form of what they match, or None where it is left alone."""
    rules = section.section("dynamic")
    if rules is None:
        return ()
    found: list[tuple[str, WeightFormat | None]] = []
    for pattern, changes in rules.fields.items():
        if pattern.startswith("-:"):
            found.append((pattern.removeprefix("-:"), None))
            continue
        if not isinstance(changes, Mapping):
            raise rules.invalid(pattern, changes, "an object")
        own = ConfigReader(changes, f"{rules.path}.{pattern}")
        bits = own.integer("bits", default=base.element_bits)
        size = base.block[1] if base.block else 0
        group = own.integer("group_size", default=size or -1, minimum=-1)
        found.append((pattern.removeprefix("+:"), gptq_format(own, bits, group)))
    return tuple(found)


def gptq_rule(
    form: WeightFormat, head: WeightFormat | None, dynamic: Dynamic, quantized: tuple[str, ...]
) -> Rule:
    """The first pattern that matches decides; then whether the module is among the quantised."""

    def rule(names: ModuleNames) -> Choose:
        parts = sort_names(names.rename(entry) for entry in quantized)

        def is_quantized(module: Module) -> bool:
            if not quantized or module.kind == "experts":
                return True
            near = parts.near(module)
            return all_or_none(
                module,
                lambda name: any(part in name for part in near),
                module.shards or (module.name,),
            )

        def choose(module: Module) -> WeightFormat | None:
            if module.kind == "head" and head is None:
                return None
            for pattern, own in dynamic:
                if expression(pattern).match(module.name):
                    return own if own is None or is_quantized(module) else None
            return form if is_quantized(module) else None

        return choose

    return rule


def read_bitsandbytes(section: ConfigReader) -> Quantization:
    """Weights of 4 or 8 bits: what is named in ``llm_int8_skip_modules`` is left alone."""
    is_4bit = section.flag("load_in_4bit", "_load_in_4bit", default=False)
    form = NF4 if is_4bit else LLM_INT8
    ignored = name_list(section, "llm_int8_skip_modules")
    return Quantization(
        "bitsandbytes",
        skipping(form, form, ignored, "part"),
        lowest_capability=70,
        forms={"bitsandbytes": (form, form)},
        declared=section,
    )
