"""Models that put a tower before a decoder of any family: LLaVA, PaliGemma, SmolVLM, InternVL.

The part about text is a config of its own, and says of which class it is.
Source: vLLM 0.33.0, model_executor/models/ (llava.py, llava_next.py, llava_onevision.py,
paligemma.py, idefics3.py, internvl.py).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from pycore.errors import UnsupportedModel
from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.model import Model
from pycore.model.model_classes import MODEL_CLASSES
from pycore.model.readers.assembly import Source
from pycore.model.readers.families import FAMILIES
from pycore.model.readers.multimodal import INNER
from pycore.model.readers.uniform import read_decoder
from pycore.model.tensors import OuterTensor, Tensor, Vector
from pycore.model.towers.parts import inward, norm, outward, placed, whole
from pycore.model.towers.pixtral import pixtral_tower
from pycore.model.towers.plain import CLIP, IDEFICS, SIGLIP, intern_tower, plain_tower

CLIP_LARGE: Final[dict[str, object]] = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 336,
    "patch_size": 14,
}
"""The tower that transformers takes for a LLaVA without one."""

TowerReader = Callable[[ConfigReader, ConfigReader, int], tuple[OuterTensor, ...]]
"""From the whole config, its part about vision, and the text's width."""


@dataclass(frozen=True, slots=True)
class Encased:
    """A tower, and whether the head is tied where no part of the config says."""

    tower: TowerReader
    tied_default: bool = False
    text_class: str = ""
    """What the text is whatever its config says."""
    supports_pipeline: bool = True


def depth_of(reader: ConfigReader, vision: ConfigReader, default: int) -> int:
    """Blocks that are built: up to the deepest whose output is taken.

    Source: vLLM 0.33.0, model_executor/models/vision.py, get_layer_index.
    """
    count = vision.integer("num_hidden_layers")
    stated = reader.raw("vision_feature_layer")
    taken = stated if isinstance(stated, list) and stated else [stated]
    layers = [layer if isinstance(layer, int) else default for layer in taken]
    return max(count + layer + 1 if layer < 0 else layer for layer in layers)


def llava_vision(
    reader: ConfigReader, vision: ConfigReader, default: int
) -> tuple[OuterTensor, ...]:
    """CLIP's tower, SigLIP's or Pixtral's, by the part about vision."""
    kind = vision.text("model_type", default="clip_vision_model")
    if kind == "pixtral":
        return pixtral_tower(vision, reader)
    if not vision.fields:
        vision.completions = CLIP_LARGE
    plain = SIGLIP if kind == "siglip_vision_model" else CLIP
    vision.completions = {**plain.defaults, **vision.completions}
    return plain_tower(plain, vision, depth_of(reader, vision, default), last_norm=False)


def llava(reader: ConfigReader, vision: ConfigReader, width: int) -> tuple[OuterTensor, ...]:
    """LLaVA: two linears that lead to the text, divided over the ranks."""
    tower = llava_vision(reader, vision, -2)
    return (*tower, *placed(divided_projector(reader, vision.integer("hidden_size"), width)))


def llava_next(reader: ConfigReader, vision: ConfigReader, width: int) -> tuple[OuterTensor, ...]:
    """LLaVA-NeXT: the same, and a vector for the end of a row."""
    return (*llava(reader, vision, width), newline(width))


def onevision(reader: ConfigReader, vision: ConfigReader, width: int) -> tuple[OuterTensor, ...]:
    """LLaVA-OneVision: the same, its two linears whole on each rank."""
    tower = llava_vision(reader, vision, -1)
    bias = reader.flag("multimodal_projector_bias", default=True)
    name = "multi_modal_projector"
    own = (
        whole(f"{name}.linear_1", width, vision.integer("hidden_size"), bias=bias),
        whole(f"{name}.linear_2", width, width, bias=bias),
    )
    return (*tower, *placed(own), newline(width))


def newline(width: int) -> OuterTensor:
    """The vector for the end of a row of patches, which every stage holds."""
    return OuterTensor(Vector("embedding", "image_newline", width))


def divided_projector(reader: ConfigReader, inputs: int, width: int) -> Iterator[Tensor]:
    """Two linears to the text's width, divided over the ranks."""
    bias = reader.flag("multimodal_projector_bias", default=True)
    yield outward("multi_modal_projector.linear_1", width, inputs, bias=bias)
    yield inward("multi_modal_projector.linear_2", width, width, bias=bias)


def paligemma(_: ConfigReader, vision: ConfigReader, width: int) -> tuple[OuterTensor, ...]:
    """PaliGemma: SigLIP and one linear."""
    tower = plain_tower(SIGLIP, vision)
    rows = vision.integer("projection_dim", default=width)
    return (
        *tower,
        *placed(
            [whole("multi_modal_projector.linear", rows, vision.integer("hidden_size"), bias=True)]
        ),
    )


def idefics3(reader: ConfigReader, vision: ConfigReader, width: int) -> tuple[OuterTensor, ...]:
    """Idefics 3 and SmolVLM: SigLIP for pictures of any shape, and one linear from merged patches."""
    tower = plain_tower(IDEFICS, vision)
    merged = vision.integer("hidden_size") * reader.integer("scale_factor", default=2) ** 2
    return (*tower, *placed([whole("connector.modality_projection.proj", width, merged)]))


def internvl(reader: ConfigReader, vision: ConfigReader, width: int) -> tuple[OuterTensor, ...]:
    """InternVL: a norm and two linears from merged patches."""
    count = vision.integer("num_hidden_layers", default=48)
    layer = reader.integer("select_layer", default=-1, minimum=-count)
    tower = intern_tower(vision, count + layer + 1 if layer < 0 else layer + 1)
    side = int(1 / reader.number("downsample_ratio", default=0.5))
    merged = vision.integer("hidden_size") * side**2
    own = (
        norm("mlp1.0", merged),
        whole("mlp1.1", width, merged, bias=True),
        whole("mlp1.3", width, width, bias=True),
    )
    return (*tower, *placed(own))


IDEFICS_3: Final = Encased(idefics3, text_class="LlamaForCausalLM", supports_pipeline=False)

ENCASED: Final[dict[str, Encased]] = {
    "LlavaForConditionalGeneration": Encased(llava),
    "LlavaNextForConditionalGeneration": Encased(llava_next),
    "LlavaOnevisionForConditionalGeneration": Encased(onevision),
    "PaliGemmaForConditionalGeneration": Encased(paligemma, tied_default=True),
    "Idefics3ForConditionalGeneration": IDEFICS_3,
    "SmolVLMForConditionalGeneration": IDEFICS_3,
    "InternVLChatModel": Encased(internvl),
}


def inner_class(text: ConfigReader) -> str:
    """The class of the text's config."""
    listed = text.sequence("architectures")
    stated = str(listed[0]) if listed else MODEL_CLASSES.get(text.text("model_type"), "")
    if stated not in FAMILIES:
        raise UnsupportedModel(
            f"{text.path}.architectures",
            "unsupported_architecture",
            f"a text model of class {stated or 'unknown'} behind a tower cannot be sized yet",
        )
    return stated


def read_encased(reader: ConfigReader, architecture: str, name: str) -> Model:
    """A model of one of the ``ENCASED`` classes."""
    row = ENCASED[architecture]
    text = text_reader(reader, at_top=False)
    tied = reader.flag("tie_word_embeddings", default=row.tied_default)
    if not tied and text.has("tie_word_embeddings"):
        tied = text.flag("tie_word_embeddings", default=False)
    inner = row.text_class or inner_class(text)
    vision = reader.part("vision_config")
    width = text.integer("hidden_size", default=4096)
    return read_decoder(
        Source(reader, text, architecture, name),
        replace(FAMILIES[inner], supports_pipeline=row.supports_pipeline),
        tied=tied,
        text_class=inner,
        outer_tensors=row.tower(reader, vision, width),
        names=INNER,
    )


READERS: Final = dict.fromkeys(ENCASED, read_encased)
