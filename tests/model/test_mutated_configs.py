"""Two thousand damaged config.json files: no crash, and no number from a field that is not there.

Published configurations (those of the golden answers) are damaged one or two fields at a time:
dropped, renamed, of another type, nested wrongly, huge.
"""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from pycore.bridge import answer
from tests.golden.builds import read_lines

CONFIGS: list[dict[str, Any]] = [row["content"] for row in read_lines("configs")]
SEEDS = 20
PER_SEED = 100
FIGURES = (
    "num_parameters",
    "num_active_parameters",
    "weights_bytes_per_rank",
    "needed_kv_cache_bytes",
    "kv_cache_bytes_per_token_per_rank",
    "model_limit_tokens",
)
OTHER_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3, 7.5, float("nan"), float("inf"), 10**9, 10**30, "", "8", "auto",
    [], [1, 2], ["full_attention"], {}, {"factor": 8}, [None], [[]],
)  # fmt: skip
NUMBERS = ("hidden_size", "head_dim", "num_hidden_layers", "vocab_size", "moe_intermediate_size")


def sections(config: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects of a config: itself, and those nested in it."""
    return [config, *(value for value in config.values() if isinstance(value, dict) and value)]


def dropped(config: dict[str, Any], dice: random.Random) -> str:
    """Leave a field out."""
    section = dice.choice(sections(config))
    name = dice.choice(sorted(section))
    del section[name]
    return name


def renamed(config: dict[str, Any], dice: random.Random) -> str:
    """Spell a field in another way."""
    section = dice.choice(sections(config))
    name = dice.choice(sorted(section))
    section[dice.choice([name.upper(), f"{name}_", f"my_{name}"])] = section.pop(name)
    return name


def retyped(config: dict[str, Any], dice: random.Random) -> str:
    """Give a field a value of another kind."""
    section = dice.choice(sections(config))
    name = dice.choice(sorted(section))
    section[name] = copy.deepcopy(dice.choice(OTHER_VALUES))
    return name


def misplaced(config: dict[str, Any], dice: random.Random) -> str:
    """Put a field into a section where it does not belong, or a section one level too deep."""
    name = dice.choice(sorted(config))
    value = config.pop(name)
    config[dice.choice(["text_config", "vision_config", "config", "rope_scaling"])] = {name: value}
    return name


def inflated(config: dict[str, Any], dice: random.Random) -> str:
    """Make a number enormous."""
    section = dice.choice(sections(config))
    name = dice.choice([n for n in NUMBERS if n in section] or ["hidden_size"])
    section[name] = dice.choice([10**6, 10**9, 10**12, 10**40])
    return name


MUTATIONS: tuple[Callable[[dict[str, Any], random.Random], str], ...] = (
    dropped, renamed, retyped, misplaced, inflated,
)  # fmt: skip


def asked(config: dict[str, Any]) -> dict[str, Any]:
    """The answer for a config on eight H100."""
    request = {"config": config, "accelerator": "h100-sxm-80gb", "tensor_parallel_size": 8}
    decoded: dict[str, Any] = json.loads(answer(json.dumps(request)))
    return decoded


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_damaged_config_is_answered_or_refused(seed: int) -> None:
    """A result or a failure that names a field; never a traceback."""
    dice = random.Random(seed)
    for _ in range(PER_SEED):
        config = copy.deepcopy(dice.choice(CONFIGS))
        for _ in range(dice.choice([1, 1, 2])):
            dice.choice(MUTATIONS)(config, dice)
        decoded = asked(config)
        if not decoded["ok"]:
            failure = decoded["failure"]
            assert failure["field"].startswith(("config", "request"))
            assert failure["message"]


# Fields whose absence is itself a statement: the checkpoint is not quantised, positions are not
# scaled, no layer has a window, another field limits the length.
STATED_BY_ABSENCE = {
    "quantization_config",
    "rope_scaling",
    "rope_parameters",
    "sliding_window",
    "model_max_length",
    "layer_types",
}


# Two names for one number: how much of a head is rotated.
OTHER_NAMES = {"rotary_dim": "partial_rotary_factor"}


def is_told(name: str, value: object, told: dict[str, object]) -> bool:
    """Whether the answer names the field that is missing, or the parts of a missing section."""
    parts = set(value) if isinstance(value, dict) else set()
    if name in told or OTHER_NAMES.get(name) in told or parts & told.keys():
        return True
    return any(other.startswith(f"{name}.") for other in told)


@pytest.mark.parametrize("content", CONFIGS, ids=lambda config: config.get("model_type", ""))
def test_a_figure_that_rests_on_a_missing_field_says_so(content: dict[str, Any]) -> None:
    """Each field left out in turn: the figures stay, the config is refused, or the answer tells."""
    whole = asked(content)
    if not whole["ok"]:
        return
    for name, value in content.items():
        short = {key: kept for key, kept in content.items() if key != name}
        decoded = asked(short)
        if not decoded["ok"]:
            continue
        changed = [f for f in FIGURES if decoded["result"][f] != whole["result"][f]]
        if changed and name not in STATED_BY_ABSENCE:
            assert is_told(name, value, decoded["result"]["defaulted"]), (name, changed)
