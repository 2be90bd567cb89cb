"""Models whose pictures are read both ways, and the batch that they need."""

import pytest

from pycore.engine.vllm import batch_sizes
from pycore.hardware.accelerators import find
from pycore.model.config_fields import ConfigReader
from pycore.model.readers.prefix_lm import is_mm_prefix_lm, least_batched_tokens
from pycore.scenario import Scenario

GEMMA4 = {"model_type": "gemma4", "text_config": {"use_bidirectional_attention": "vision"}}
GEMMA4_CAUSAL = {"model_type": "gemma4", "text_config": {}}


@pytest.mark.parametrize(
    ("config", "both_ways", "tokens"),
    [
        (GEMMA4, True, 2496),
        (GEMMA4_CAUSAL, False, 0),
        ({"model_type": "gemma3", "text_config": {}}, True, 0),
        ({"model_type": "qwen3_vl", "text_config": {}}, False, 0),
        ({"model_type": "llama"}, False, 0),
    ],
)
def test_what_reads_pictures_both_ways(
    config: dict[str, object], both_ways: bool, tokens: int
) -> None:
    """Source: vLLM 0.33.0, model_arch_config_convertor.py, is_mm_prefix_lm."""
    assert is_mm_prefix_lm(ConfigReader(config)) is both_ways
    assert least_batched_tokens(ConfigReader(config)) == tokens


@pytest.mark.parametrize(
    ("accelerator", "batched"), [("l4", 2496), ("a100-sxm-80gb", 2496), ("h100-sxm-80gb", 8192)]
)
def test_a_small_default_batch_is_raised_to_the_largest_item(
    accelerator: str, batched: int
) -> None:
    """Source: vLLM 0.33.0, engine/arg_utils.py, where it calls _get_min_mm_batched_tokens."""
    unasked, asked = Scenario(), Scenario(max_num_batched_tokens=2048)
    assert batch_sizes(unasked, find(accelerator), 131072, 2496)[1] == batched
    assert batch_sizes(asked, find(accelerator), 131072, 2496)[1] == 2048
