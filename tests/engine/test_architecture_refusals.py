"""What the engine refuses for a model's own architecture."""

import json
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.engine.refusals.architecture import broken_rule
from pycore.model.recurrent import Mamba2, ShortConvolution

TWO_GROUPS = Mamba2(
    num_heads=32, head_dim=128, n_groups=2, state_size=256, conv_kernel=4, intermediate_size=4096
)
ONE_GROUP = Mamba2(
    num_heads=24, head_dim=128, n_groups=1, state_size=256, conv_kernel=4, intermediate_size=3072
)


def refusals(**request: object) -> list[dict[str, Any]]:
    """What stands in the way of a deployment on H100s."""
    text = json.dumps({"accelerator": "h100-sxm-80gb", **request})
    found: list[dict[str, Any]] = json.loads(answer(text))["result"]["refusals"]
    return found


def test_groups_that_ranks_do_not_divide_are_refused() -> None:
    """Falcon-H1-34B has two groups: TP 4 is refused in the engine's words.

    Source: vLLM 0.33.0, layers/mamba/mamba_mixer2.py.
    """
    (refusal,) = refusals(model="falcon-h1-34b-instruct", tensor_parallel_size=4)

    assert refusal["kind"] == "indivisible_other"
    assert refusal["message"] == (
        "AssertionError: If tensor parallel world size does not divide num_groups, then "
        "num_groups must equal 1."
    )
    assert refusal["choices"] == [1, 2]


@pytest.mark.parametrize(("size", "is_broken"), [(1, False), (2, False), (4, True), (8, True)])
def test_several_groups_are_split_and_never_copied(size: int, *, is_broken: bool) -> None:
    """Two groups go on one or two ranks."""
    assert is_broken == bool(broken_rule(TWO_GROUPS, size))


@pytest.mark.parametrize(
    ("size", "rule"),
    [(8, ""), (12, ""), (16, "Tensor parallel world size must divide num heads.")],
)
def test_a_lone_group_goes_wherever_its_heads_go(size: int, rule: str) -> None:
    """One group is copied to every rank; the heads must be shared out evenly."""
    assert rule == broken_rule(ONE_GROUP, size)


def test_a_short_convolution_has_no_groups() -> None:
    """Only Mamba 2 has this rule."""
    assert broken_rule(ShortConvolution(2048, 3), 3) == ""


def test_a_class_without_stages_is_refused_a_pipeline() -> None:
    """Source: vLLM 0.33.0: Mamba2ForCausalLM does not implement SupportsPP."""
    config = {
        "architectures": ["Mamba2ForCausalLM"],
        "model_type": "mamba2",
        "dtype": "bfloat16",
        "hidden_size": 2560,
        "num_hidden_layers": 64,
        "vocab_size": 50288,
        "num_heads": 80,
        "n_groups": 1,
    }
    (refusal,) = refusals(config=config, pipeline_parallel_size=2)

    assert refusal["kind"] == "pipeline_parallel"
    assert "SupportsPP" in refusal["message"]
    assert refusals(config=config) == []


@pytest.mark.parametrize(("version", "is_dropped"), [("0.23.0", False), ("0.26.0", True)])
def test_a_dropped_class_names_its_last_version(version: str, *, is_dropped: bool) -> None:
    """Source: vLLM 0.33.0, model_executor/models/registry.py, _PREVIOUSLY_SUPPORTED_MODELS."""
    found = refusals(model="minimax-m1-80k", engine_version=version)

    assert is_dropped == any(
        refusal["message"].startswith(
            "Model architecture MiniMaxM1ForCausalLM was supported in vLLM until v0.23.0"
        )
        for refusal in found
    )
