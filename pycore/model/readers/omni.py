"""Qwen's Omni models: a text that a tower for sound and one for pictures stand before.

The engine serves the thinker alone, which writes text; what speaks is no part of it.
Source: vLLM 0.33.0, model_executor/models/qwen2_5_omni_thinker.py and qwen3_omni_moe_thinker.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.model import Model
from pycore.model.readers.assembly import Source
from pycore.model.readers.families import FAMILIES
from pycore.model.readers.family import Family
from pycore.model.readers.multimodal import INNER, qwen3_vl_tower
from pycore.model.readers.uniform import read_decoder
from pycore.model.tensors import OuterTensor
from pycore.model.towers.audio import qwen2_5_hearing, qwen3_hearing
from pycore.model.towers.qwen2 import qwen2_5_tower

Tower = Callable[[ConfigReader], tuple[OuterTensor, ...]]


@dataclass(frozen=True, slots=True)
class Omni:
    """A text's family and its two towers."""

    family: Family
    sees: Tower
    hears: Tower


OMNI: Final[dict[str, Omni]] = {
    "Qwen2_5OmniModel": Omni(FAMILIES["Qwen2ForCausalLM"], qwen2_5_tower, qwen2_5_hearing),
    "Qwen2_5OmniForConditionalGeneration": Omni(
        FAMILIES["Qwen2ForCausalLM"], qwen2_5_tower, qwen2_5_hearing
    ),
    "Qwen3OmniMoeForConditionalGeneration": Omni(
        FAMILIES["Qwen3MoeForCausalLM"], qwen3_vl_tower, qwen3_hearing
    ),
}


def omni(reader: ConfigReader, architecture: str, name: str) -> Model:
    """The thinker of an Omni model."""
    row = OMNI[architecture]
    thinker = reader.part("thinker_config")
    text = text_reader(thinker, at_top=False)
    tied = text.flag("tie_word_embeddings", default=False)
    vision, audio = thinker.part("vision_config"), thinker.part("audio_config")
    return read_decoder(
        Source(reader, text, architecture, name),
        row.family,
        tied=tied,
        outer_tensors=(*row.sees(vision), *row.hears(audio)),
        names=INNER,
    )


READERS: Final = dict.fromkeys(OMNI, omni)
