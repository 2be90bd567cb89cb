"""Pictures that a profiling run holds: as many of the largest as the largest batch takes.

Source: vLLM 0.33.0, multimodal/encoder_budget.py (_get_max_items) and the processing info of
model_executor/models/ (gemma3_mm.py, gemma4_mm.py, pixtral.py, qwen2_vl.py, qwen3_vl.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pycore.engine.shards import Ranks, shard_of
from pycore.model.model import Model
from pycore.model.tensors import Linear

# The largest picture of Qwen's processors, and of GLM's that follow them: 4 patches a token.
QWEN_TOKENS: Final = 16_384
QWEN_PATCHES: Final = 65_536
# Gemma 3 pools the patches of a picture to these.
SIGLIP_TOKENS: Final = 256
# Gemma 4's largest item is a video: 32 frames of 70 tokens, of 9 patches each, and their marks.
GEMMA4_VIDEO_TOKENS: Final = 2_496
GEMMA4_VIDEO_PATCHES: Final = 32 * 70 * 9


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures of one profiling run, and the widest point of the tower on a rank."""

    num_tokens: int
    num_patches: int
    patch_elements: int
    hidden_size: int
    widest_rows: int
    activated_rows: int


@lru_cache(maxsize=64)
def profiled_pictures(
    model: Model, max_num_batched_tokens: int, tensor_parallel_size: int
) -> Pictures | None:
    """What the engine profiles of pictures; None for text, and for towers not known."""
    linears = [
        outer.tensor
        for outer in model.outer_tensors
        if outer.tensor.component == "tower" and isinstance(outer.tensor, Linear)
    ]
    vision = model.config_read.get("vision_config")
    item = largest_item(vision) if isinstance(vision, dict) else None
    if item is None or not linears:
        return None
    tokens, patches = item
    count = max(1, max_num_batched_tokens // tokens)
    ranks = Ranks(tensor_parallel_size, 1, 1, enable_expert_parallel=False)
    blocks = [linear for linear in linears if ".0." in linear.name]
    widest = max((shard_of(block, ranks).num_rows for block in blocks), default=0)
    is_gated = any("gate_up" in block.name for block in blocks)
    return Pictures(
        num_tokens=count * tokens,
        num_patches=count * patches,
        patch_elements=linears[0].columns,
        hidden_size=linears[0].num_rows,
        widest_rows=widest,
        activated_rows=widest // 2 if is_gated else widest,
    )


def largest_item(vision: Mapping[str, Any]) -> tuple[int, int] | None:
    """Tokens and patches of the largest item that a processor makes; None where it is not known."""
    kind = str(vision.get("model_type", ""))
    if kind == "gemma4_vision":
        return GEMMA4_VIDEO_TOKENS, GEMMA4_VIDEO_PATCHES
    if kind.startswith(("qwen", "glm4v")):
        return QWEN_TOKENS, QWEN_PATCHES
    side = patches_a_side(vision)
    if side and kind == "siglip_vision_model":
        return SIGLIP_TOKENS, side * side
    if side and kind == "pixtral":
        return (side // 2) * (side // 2 + 1), side * side
    return None


def patches_a_side(vision: Mapping[str, Any]) -> int:
    """Patches along one side of a tower's square picture; 0 where the config does not say."""
    size, patch = vision.get("image_size"), vision.get("patch_size")
    if isinstance(size, int) and isinstance(patch, int) and patch > 0:
        return max(0, size // patch)
    return 0
