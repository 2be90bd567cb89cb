"""Where a run's settings are not the scenario's: said once, before any figure is compared."""

from typing import Final

from pycore.evidence.reading.numbers import gib_text
from pycore.evidence.reading.readings import Findings, Sighting
from pycore.evidence.reading.sightings import MEMORY
from pycore.evidence.recognise import Recognised
from pycore.hardware import accelerators
from pycore.model.catalogue import catalogue as models
from pycore.scenario import Scenario
from pycore.sizing.result import SizeResult

# Fields that a reader knows by another word than the contract's.
NAMES: Final = {
    "model": "model",
    "accelerator": "GPU",
    "engine_version": "vLLM",
    "tensor_parallel_size": "TP",
    "pipeline_parallel_size": "PP",
    "data_parallel_size": "DP",
}
# What a GPU of this run had is a figure of it, not a setting.
FIGURES: Final = frozenset({"accelerator_free_bytes", "config"})
# Errors that are explained by the model's own sizes.
OF_MEMORY: Final = frozenset(
    {*(item.kind for item in MEMORY), "disk_full", "out_of_host_memory", "probe_failed"}
)
UNKNOWN: Final = (None, "auto")


def differences(
    found: Recognised, stated: object, asked: Scenario, sized: SizeResult | None
) -> str | None:
    """One sentence of every setting that the text has and the scenario has otherwise.

    ``stated`` is the form of the checkpoint that the engine printed, whoever chose it.
    """
    if asked.model is None and asked.config is None and asked.accelerator is None:
        return None
    told = []
    printed = {**found.request}
    if isinstance(stated, str) and sized is not None and sized.chosen["quantization"] is None:
        printed.setdefault("quantization", stated)
    total = printed.pop("accelerator_total_bytes", None)
    if isinstance(total, int) and asked.accelerator is not None:
        told.append(f"GPU of {gib_text(total)}, not {shown('accelerator', asked.accelerator)}")
    for name, value in printed.items():
        own = effective(name, asked, sized)
        if name in FIGURES or value in UNKNOWN or is_same(name, value, own):
            continue
        if own in UNKNOWN and (name != "quantization" or sized is None):
            continue
        told.append(f"{NAMES.get(name, name)} {shown(name, value)}, not {shown(name, own)}")
    if not told:
        return None
    return f"The run is not the scenario, and is compared as it ran: {'; '.join(told)}."


def assumed(found: Recognised, findings: Findings, asked: Scenario) -> str | None:
    """What the text does not name, and the scenario lends it; None where nothing rests on it."""
    if not findings.figures() and not any(error.kind in OF_MEMORY for error in findings.errors):
        return None
    missing = []
    if found.model_name is None and (asked.model or asked.config):
        missing.append("model")
    # The size of its memory tells a GPU as well as its name.
    told = findings.accelerator_names or findings.value("total_bytes") is not None
    if asked.accelerator and not told:
        missing.append("GPU")
    if not missing:
        return None
    verb = "is" if len(missing) == 1 else "are"
    return f"The text names no {' and no '.join(missing)}: the scenario's {verb} assumed."


def unexpected(errors: list[Sighting], predicted: SizeResult | None) -> str | None:
    """The refusal that Napkin expects of a run that the engine did not refuse so."""
    if predicted is None or not predicted.refusals:
        return None
    refusal = predicted.refusals[0]
    if any(error.kind == refusal.kind for error in errors):
        return None
    first = refusal.message.removeprefix("ValueError: ").split(". ")[0].removesuffix(".")
    return f"Napkin expects that the engine refuses this run: {first}."


def effective(name: str, asked: Scenario, sized: SizeResult | None) -> object:
    """A field as the scenario has it: as it was asked for, else as the engine would choose."""
    own: object = getattr(asked, name)
    if own in UNKNOWN and sized is not None:
        if name == "max_model_len":
            return sized.max_model_len
        return sized.chosen.get(name)
    return own


def is_same(name: str, value: object, own: object) -> bool:
    """Whether two values of a field mean the same."""
    if name == "engine_version":
        return str(value).split("+")[0].removeprefix("v") == str(own).removeprefix("v")
    if isinstance(value, float | int) and isinstance(own, float | int):
        return abs(value - own) < 1e-6
    return value == own or {value, own} == {"fp8", "fp8_e4m3"}


def shown(name: str, value: object) -> str:
    """A value as it is shown: names for entries of the catalogue, thousands with commas."""
    if name == "model" and isinstance(value, str):
        return str(models().get(value, {}).get("hf_id", value))
    if name == "accelerator" and isinstance(value, str) and value in accelerators.catalogue():
        return accelerators.find(value).name
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int) else str(value)
