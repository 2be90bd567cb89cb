"""Fields that a config.json leaves out, completed as transformers itself would.

Published files may be as short as a model_type: the rest is what the configuration class says.
Every field completed so is remembered by the reader, for the answer to say.

Source: transformers 5.24.0, models/*/configuration_*.py (data/config_defaults.jsonl).
"""

from collections.abc import Mapping
from functools import cache
from typing import Final, cast

from pycore.data import rows
from pycore.model.config_fields import TEXT_SECTIONS, ConfigReader

# Model types that name a whole model, to the type of the part that generates text.
TEXT_TYPES: Final = {
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text",
    "llama4": "llama4_text",
    "mistral3": "mistral",
    "qwen2_vl": "qwen2_vl_text",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen2_5_omni_text": "qwen2_5_vl_text",
    "qwen3_omni_moe_text": "qwen3_moe",
    "glm4v": "glm4v_text",
    "glm4v_moe": "glm4v_moe_text",
    "kimi_k2": "deepseek_v3",
    "kimi_k25": "deepseek_v3",
    "kimi_k3": "kimi_linear",
}


@cache
def by_model_type() -> dict[str, Mapping[str, object]]:
    """The defaults of every known model type."""
    return {
        str(row["model_type"]): cast("Mapping[str, object]", row["fields"])
        for row in rows("config_defaults")
    }


def text_reader(reader: ConfigReader, *, at_top: bool = True) -> ConfigReader:
    """The part of the config that says how text is generated, completed with its defaults.

    Where there is no such part the whole stands for it; or, unless ``at_top``, an empty one, as
    for classes that read nothing about text from elsewhere.
    """
    text = reader.section(*TEXT_SECTIONS)
    if text is None:
        text = reader if at_top else reader.part(TEXT_SECTIONS[0])
    stated = text.text("model_type") or reader.text("model_type")
    model_type = TEXT_TYPES.get(stated, stated)
    fields = by_model_type().get(model_type, {})
    text.completions = {**fields, "model_type": model_type} if model_type else fields
    return text


def model_type_of(text: ConfigReader) -> str:
    """The model type under the name that its defaults have."""
    stated = text.text("model_type")
    return TEXT_TYPES.get(stated, stated)
