"""What all readers of models with latent attention share: rope, experts, and the model's frame."""

from dataclasses import dataclass
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.layers import Layer
from pycore.model.model import Model
from pycore.model.module_names import DECODER, ModuleNames
from pycore.model.readers.assembly import Source, Surroundings, assemble
from pycore.model.rotary import RotaryTable
from pycore.model.tensors import OuterTensor

KERNEL_WIDTHS: Final = (64, 128, 256, 512)
"""What the kernels for float32 tables rotate."""

LONGER_THAN_ANY: Final = 10**8
"""Positions of a rotary table are cut at this, so that nonsense stays finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a reader found of a text model beside the frame that all models have."""

    layers: tuple[Layer, ...]
    num_attention_heads: int
    rotary_tables: tuple[RotaryTable, ...] = ()


def assemble_latent(
    source: Source,
    parts: Parts,
    *,
    names: ModuleNames = DECODER,
    outer: tuple[OuterTensor, ...] = (),
) -> Model:
    """The model, with its own numbers under Hugging Face's names.

    There is no num_key_value_heads among them: the cache holds one vector for all heads. The
    classes tie no head to its embedding, whatever a config says.
    """
    around = Surroundings(
        rotary_tables=parts.rotary_tables,
        outer_tensors=outer,
        names=names,
    )
    model = assemble(source, parts.layers, around)
    model.architecture_numbers["num_attention_heads"] = parts.num_attention_heads
    return model


def corrects_router(text: ConfigReader) -> bool:
    """Whether each expert has a correction in the router; a config that names no method has none.

    Source: vLLM 0.33.0, model_executor/models/deepseek_v2.py, DeepseekV2MoE.
    """
    if not text.has("topk_method"):
        text.defaulted["topk_method"] = "none"
    return text.text("topk_method") == "noaux_tc"


def read_latent_rotary(text: ConfigReader, *, is_compiled: bool = True) -> RotaryTable:
    """The rotary table of the part of each head that is rotated.

    Any scaling becomes DeepSeek's yarn, sized by the original length times the factor. Where the
    engine does not compile a model, it keeps that table in float32, as its kernels want it.
    Source: vLLM 0.33.0, layers/rotary_embedding/deepseek_scaling_rope.py, config/vllm.py
    (DEFAULT_BREAKABLE_CUDAGRAPH_ARCHITECTURES).
    """
    width = text.integer("qk_rope_head_dim", minimum=0)
    positions = text.integer("max_position_embeddings", default=8192)
    scaling = text.section("rope_scaling", "rope_parameters")
    if scaling is None or scaling.text("rope_type", "type", default="default") == "default":
        return RotaryTable(positions, width)
    original = scaling.integer("original_max_position_embeddings", default=positions)
    scaled = int(original * scaling.number("factor", default=1.0))
    eager = "float32" if width in KERNEL_WIDTHS else None
    length = min(max(scaled, 0), LONGER_THAN_ANY)
    return RotaryTable(length, width, None if is_compiled else eager, eager)
