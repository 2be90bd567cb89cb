"""Models whose picture tokens see each other both ways, and what that asks of the engine.

Such a model needs kernels that can, and a batch that holds the largest item whole.

Source: vLLM 0.33.0, transformers_utils/model_arch_config_convertor.py (is_mm_prefix_lm),
engine/arg_utils.py (_get_min_mm_batched_tokens) and model_executor/models/gemma4_mm.py.
"""

from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader

PREFIX_LM_TYPES: Final = ("bagel", "gemma3", "molmo2", "moondream3", "paligemma")

GEMMA4_VIDEO_TOKENS: Final = 32 * (70 + 2 + 6)
"""32 frames of 70 soft tokens, with a mark at either end and a time stamp."""


def is_mm_prefix_lm(reader: ConfigReader) -> bool:
    """Whether pictures are read both ways; no longer so when the model serves text alone."""
    model_type = reader.text("model_type")
    if model_type == "gemma4":
        return text_reader(reader).text("use_bidirectional_attention") == "vision"
    return model_type in PREFIX_LM_TYPES


def least_batched_tokens(reader: ConfigReader) -> int:
    """What max_num_batched_tokens is raised to where it is left to the engine; 0 for no raise.

    Of Gemma 4's items a video is the largest: 2,496 tokens, more than the 2,048 of GPUs with
    less than 70 GiB and of the A100.
    """
    is_gemma4 = reader.text("model_type") == "gemma4"
    return GEMMA4_VIDEO_TOKENS if is_gemma4 and is_mm_prefix_lm(reader) else 0
