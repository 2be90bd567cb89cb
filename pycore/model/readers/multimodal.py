"""Models that read pictures: a text decoder of a family, and a tower before it.

Source: vLLM 0.33.0, model_executor/models/ (gemma3_mm.py, mistral3.py, qwen2_vl.py, qwen2_5_vl.py,
qwen3_vl.py, glm4_1v.py, mllama4.py), config/vllm.py (with_hf_config, for tied embeddings).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.model import Model
from pycore.model.module_names import ModuleNames
from pycore.model.readers.assembly import Source
from pycore.model.readers.families import FAMILIES, GEMMA3, GLM4, LLAMA4, QWEN3
from pycore.model.readers.family import Family
from pycore.model.readers.uniform import read_decoder
from pycore.model.tensors import OuterTensor
from pycore.model.towers.gemma3 import gemma3_tower
from pycore.model.towers.glm4v import glm4v_tower
from pycore.model.towers.llama4 import llama4_tower
from pycore.model.towers.pixtral import mistral3_tower
from pycore.model.towers.qwen2 import qwen2_5_tower, qwen2_tower
from pycore.model.towers.qwen3 import qwen3_vision_tower

Tower = Callable[[ConfigReader, ConfigReader, ConfigReader], tuple[OuterTensor, ...]]
"""From the whole config, its part about vision and its part about text."""

INNER: Final = ModuleNames(
    layers="language_model.model.layers",
    head="language_model.lm_head",
    prefixes=(
        ("model.language_model.", "language_model.model."),
        ("model.visual.", "visual."),
        ("model.vision_tower.", "vision_tower."),
        ("model.vision_model.", "vision_model."),
        ("model.multi_modal_projector.", "multi_modal_projector."),
        ("lm_head.", "language_model.lm_head."),
    ),
)


@dataclass(frozen=True, slots=True)
class Multimodal:
    """A decoder's family, its tower, and where such configs say that embeddings are tied."""

    family: Family
    tower: Tower
    tied_default: bool = False
    tied_in_text: bool = False
    """The part about text may say so as well, as older files do."""
    text_at_top: bool = False
    """Older files state the numbers of the text beside, not in a part of their own."""
    needs_text: bool = False
    """Without a part about text it is not one of the family's defaults that transformers takes."""


DEEPSTACK: Final = [8, 16, 24]
"""Blocks whose output the text sees as well, where a Qwen3-VL config does not say."""


def qwen3_vl_tower(vision: ConfigReader) -> tuple[OuterTensor, ...]:
    """Qwen3-VL's tower, with mergers for what it hands to the first layers of the text."""
    vision.completions = {"deepstack_visual_indexes": DEEPSTACK, **vision.completions}
    return qwen3_vision_tower(vision)


MULTIMODAL: Final[dict[str, Multimodal]] = {
    "Gemma3ForConditionalGeneration": Multimodal(
        GEMMA3, lambda _, vision, text: gemma3_tower(vision, text), tied_default=True
    ),
    "Mistral3ForConditionalGeneration": Multimodal(
        FAMILIES["MistralForCausalLM"], mistral3_tower, tied_default=True, needs_text=True
    ),
    "Qwen2VLForConditionalGeneration": Multimodal(
        FAMILIES["Qwen2ForCausalLM"],
        lambda _, vision, __: qwen2_tower(vision),
        tied_in_text=True,
        text_at_top=True,
    ),
    "Qwen2_5_VLForConditionalGeneration": Multimodal(
        FAMILIES["Qwen2ForCausalLM"],
        lambda _, vision, __: qwen2_5_tower(vision),
        tied_in_text=True,
        text_at_top=True,
    ),
    "Qwen3VLForConditionalGeneration": Multimodal(
        replace(QWEN3, sections_factor=1), lambda _, vision, __: qwen3_vl_tower(vision)
    ),
    "Qwen3VLMoeForConditionalGeneration": Multimodal(
        replace(FAMILIES["Qwen3MoeForCausalLM"], sections_factor=1),
        lambda _, vision, __: qwen3_vl_tower(vision),
    ),
    "Glm4vForConditionalGeneration": Multimodal(
        GLM4,
        lambda _, vision, __: glm4v_tower(vision),
        tied_in_text=True,
    ),
    "Glm4vMoeForConditionalGeneration": Multimodal(
        FAMILIES["Glm4MoeForCausalLM"], lambda _, vision, __: glm4v_tower(vision)
    ),
    "Llama4ForConditionalGeneration": Multimodal(
        LLAMA4, lambda _, vision, text: llama4_tower(vision, text)
    ),
}


def read_multimodal(reader: ConfigReader, architecture: str, name: str) -> Model:
    """A model of one of the ``MULTIMODAL`` classes."""
    row = MULTIMODAL[architecture]
    vision = reader.part("vision_config")
    if row.needs_text and not reader.has("text_config"):
        raise reader.missing("text_config", "it says how text is generated")
    text = text_reader(reader, at_top=row.text_at_top)
    tied = reader.flag("tie_word_embeddings", default=row.tied_default)
    if row.tied_in_text and text.has("tie_word_embeddings"):
        tied = tied or text.flag("tie_word_embeddings", default=False)
    return read_decoder(
        Source(reader, text, architecture, name),
        row.family,
        tied=tied,
        outer_tensors=row.tower(reader, vision, text),
        names=INNER,
    )


READERS: Final = dict.fromkeys(MULTIMODAL, read_multimodal)
