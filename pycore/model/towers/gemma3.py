"""SigLIP's tower and the projector that Gemma 3 puts behind it.

Source: vLLM 0.33.0, model_executor/models/siglip.py and gemma3_mm.py.
"""

from pycore.model.config_fields import ConfigReader
from pycore.model.tensors import OuterTensor
from pycore.model.towers.parts import norm, placed, whole
from pycore.model.towers.plain import SIGLIP, plain_tower


def gemma3_tower(vision: ConfigReader, text: ConfigReader) -> tuple[OuterTensor, ...]:
    """The tower, and one matrix with a norm that lead to the text's width; both whole."""
    tower = plain_tower(SIGLIP, vision)
    width = vision.integer("hidden_size")
    projector = (
        whole("multi_modal_projector.mm_input_projection", text.integer("hidden_size"), width),
        norm("multi_modal_projector.mm_soft_emb_norm", width, bias=False),
    )
    return (*tower, *placed(projector))
