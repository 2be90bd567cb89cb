"""Mistral Small 4: DeepSeek's kind of decoder behind Pixtral's tower.

Its config.json is of the same class as Mistral 3's; the engine reads the repository's own file
beside it, and runs the text as Mistral Large 3.
Source: vLLM 0.33.0, transformers_utils/configs/mistral.py, model_executor/models/
mistral_large_3.py; transformers 5.24.0, models/mistral4/configuration_mistral4.py.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.model import Model
from pycore.model.readers.assembly import Source
from pycore.model.readers.deepseek import read_parts
from pycore.model.readers.latent_models import assemble_latent
from pycore.model.readers.multimodal import INNER, read_multimodal
from pycore.model.towers.pixtral import mistral3_tower


def read_mistral(reader: ConfigReader, architecture: str, name: str) -> Model:
    """A model of Mistral 3's class, whichever generation its text is of."""
    text = reader.fields.get("text_config")
    if isinstance(text, Mapping) and text.get("model_type") == "mistral4":
        return read_mistral4(reader, architecture, name)
    return read_multimodal(reader, architecture, name)


def read_mistral4(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Latent attention, and routed experts in every layer."""
    vision = reader.part("vision_config")
    text = text_reader(reader)
    return assemble_latent(
        Source(reader, text, architecture, name),
        read_parts(text, "MistralLarge3ForCausalLM"),
        names=INNER,
        outer=mistral3_tower(reader, vision, text),
    )


READERS: Final[Mapping[str, Callable[[ConfigReader, str, str], Model]]] = {
    "Mistral3ForConditionalGeneration": read_mistral,
}
