"""config.json → Model: which reader an architecture has.

Readers live in modules by what their models remember; an architecture without one is refused by
name, with what stands in the way.
"""

import json
from collections.abc import Callable, Mapping
from typing import Final

from pycore.errors import InvalidRequest, UnsupportedModel
from pycore.model.config_fields import ConfigReader
from pycore.model.model import Model
from pycore.model.model_classes import MODEL_CLASSES
from pycore.model.readers import (
    bailing,
    classic,
    deepseek,
    deepseek_v4,
    encased,
    gemma3n,
    gemma4,
    hybrid,
    kimi,
    learnt_positions,
    lfm2,
    minicpm3,
    minimax_m1,
    minimax_m3,
    mistral4,
    multimodal,
    nemotron_h,
    olmo_hybrid,
    omni,
    qwen_hybrid,
    retired,
    uneven_models,
    whisper,
    zamba2,
)
from pycore.model.readers.families import FAMILIES
from pycore.model.readers.uniform import read_uniform
from pycore.model.unsupported import why_unsupported

ModelReader = Callable[[ConfigReader, str, str], Model]

READERS: Final[Mapping[str, ModelReader]] = {
    **dict.fromkeys(FAMILIES, read_uniform),
    **multimodal.READERS,
    **encased.READERS,
    **omni.READERS,
    **classic.READERS,
    **bailing.READERS,
    **learnt_positions.READERS,
    **gemma3n.READERS,
    **gemma4.READERS,
    **minimax_m3.READERS,
    **retired.READERS,
    **uneven_models.READERS,
    **hybrid.READERS,
    **lfm2.READERS,
    **nemotron_h.READERS,
    **qwen_hybrid.READERS,
    **olmo_hybrid.READERS,
    **minimax_m1.READERS,
    **zamba2.READERS,
    **whisper.READERS,
    **deepseek.READERS,
    **deepseek_v4.READERS,
    **kimi.READERS,
    **minicpm3.READERS,
    **mistral4.READERS,
}


def read_model(config: Mapping[str, object], name: str = "") -> Model:
    """The model that a config.json describes.

    Raises ``UnsupportedModel`` for an architecture that cannot be sized, and ``InvalidRequest``
    for a field that is missing or of the wrong type.
    """
    return read_from(ConfigReader(config), name)


def read_from(reader: ConfigReader, name: str = "") -> Model:
    """The model that ``reader``'s config describes; it remembers what was asked of it."""
    architecture = read_architecture(reader)
    if not reader.has("model_type"):
        # Nothing says whose defaults complete the config, so none do.
        reader.defaulted["model_type"] = None
    return READERS[architecture](reader, architecture, name or architecture)


def read_architecture(reader: ConfigReader) -> str:
    """The model's class, refused by name where it cannot be sized."""
    names = reader.sequence("architectures") or completed_class(reader)
    architecture = names[0]
    if not isinstance(architecture, str):
        raise reader.invalid("architectures", architecture, "a list of class names")
    if architecture not in READERS:
        raise UnsupportedModel(
            "config.architectures",
            "unsupported_architecture",
            why_unsupported(architecture),
            sorted(READERS),
        )
    return architecture


def completed_class(reader: ConfigReader) -> list[str]:
    """The class that transformers has for the model type of a config which names none."""
    known = MODEL_CLASSES.get(reader.text("model_type"))
    if known is None:
        raise reader.missing("architectures", "it names the model class that the engine runs")
    reader.defaulted["architectures"] = known
    return [known]


def parse_config_text(text: str, field: str = "config") -> dict[str, object]:
    """The JSON object of a config.json's text; ``field`` is the request's key that holds it."""
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(field, "not_json", f"the {field} is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise InvalidRequest(field, "wrong_type", f"the {field} must be a JSON object")
    return config
