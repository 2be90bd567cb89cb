"""Which modules a checkpoint's lists name, by the engine's own rules."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.errors import InvalidRequest
from pycore.model.module_names import (
    Module,
    ModuleNames,
    equals_or_matches,
    expression,
    is_skipped,
    sort_names,
)
from pycore.model.quantization.compressed_tensors import is_ignored, matching_target
from pycore.model.quantization.modelopt_names import excludes, split_stars

LAYER = "model.layers.7."


def module(name: str, kind: Literal["linear", "experts", "head"] = "linear") -> Module:
    """A module of layer 7."""
    return Module(LAYER + name, kind, 7)


def test_a_fused_module_is_skipped_with_all_its_shards() -> None:
    """Lists name what the checkpoint stores: query, key and value apart."""
    shards = sort_names(LAYER + f"self_attn.{name}_proj" for name in "qkv")
    assert is_skipped(module("self_attn.qkv_proj"), shards, "exact")
    assert is_skipped(
        module("self_attn.qkv_proj"), sort_names([LAYER + "self_attn.qkv_proj"]), "exact"
    )
    assert not is_skipped(module("self_attn.o_proj"), shards, "exact")


def test_shards_that_disagree_are_an_error() -> None:
    """One matrix has one form."""
    with pytest.raises(InvalidRequest, match="some but not all shards"):
        is_skipped(module("mlp.gate_up_proj"), sort_names([LAYER + "mlp.up_proj"]), "exact")


def test_exact_lists_do_not_reach_other_modules() -> None:
    """MiniMax-M2.5 lists "gate": no module is called just that, so nothing is skipped by it."""
    listed = sort_names(["gate", "lm_head", "model.vision_tower"])
    assert not is_skipped(module("block_sparse_moe.gate"), listed, "exact")
    assert not is_skipped(Module("model.vision_tower.fc1"), listed, "exact")
    assert is_skipped(module("block_sparse_moe.gate"), listed, "part")


def test_experts_are_skipped_by_any_entry_below_them() -> None:
    """Exact lists name each expert; experts are one module."""
    listed = sort_names(LAYER + f"mlp.experts.{index}.up_proj" for index in range(128))
    assert is_skipped(module("mlp.experts", "experts"), listed, "exact")
    assert len(listed.near(module("mlp.experts", "experts"))) == 1


def test_modelopt_reads_names_parts_and_patterns() -> None:
    """A star ends a tree: the module itself, and all below it."""
    listed = sort_names(split_stars(("lm_head", "model.layers.7.self_attn*", "*.gate")))
    assert excludes(module("self_attn.qkv_proj"), listed)
    assert excludes(module("mlp.gate"), listed)
    assert not excludes(module("mlp.gate_up_proj"), listed)
    assert not excludes(Module("model.layers.8.self_attn.o_proj", "linear", 8), listed)


def test_one_layers_entry_does_not_reach_another() -> None:
    """``model.layers.1.*`` is layer 1, not 10 to 19."""
    listed = sort_names(split_stars(("model.layers.1.*",)))
    assert excludes(Module("model.layers.1.mlp.down_proj", "linear", 1), listed)
    assert not excludes(Module("model.layers.11.mlp.down_proj", "linear", 11), listed)


def test_compressed_tensors_take_names_and_expressions() -> None:
    """Kimi-K2.5 ignores attention, shared experts and dense layers by expression."""
    listed = sort_names(["lm_head", "re:.*self_attn.*", r"re:.*mlp\.(gate|up|gate_up|down)_proj.*"])
    assert is_ignored(module("self_attn.o_proj"), listed)
    assert is_ignored(module("mlp.gate_up_proj"), listed)
    assert not is_ignored(module("mlp.experts", "experts"), listed)


@pytest.mark.parametrize(
    "entry",
    [
        "re:.*experts.*",
        r"re:.*mlp\.experts\.\d+\..*",
        LAYER + "mlp.experts.0.gate_proj",
        LAYER + "mlp.experts.0.down_proj",
    ],
)
def test_compressed_tensors_speak_of_experts_one_by_one(entry: str) -> None:
    """Experts are one module to the engine, which asks by the names of the first."""
    experts = module("mlp.experts", "experts")
    assert is_ignored(experts, sort_names([entry]))
    assert matching_target(experts, sort_names([entry])) == entry


def test_a_class_name_targets_every_linear_and_no_head() -> None:
    """All the engine's linear classes have "Linear" in their names; it stands for experts too."""
    targets = sort_names(["Linear"])
    assert matching_target(module("mlp.down_proj"), targets) == "Linear"
    assert matching_target(module("mlp.experts", "experts"), targets) == "Linear"
    assert matching_target(Module("lm_head", "head"), targets) is None


def test_a_name_goes_before_a_class() -> None:
    """Groups by name in a checkpoint that also has one for all linears."""
    targets = sort_names(["Linear", LAYER + "mlp.down_proj"])
    assert matching_target(module("mlp.down_proj"), targets) == LAYER + "mlp.down_proj"


def test_names_are_the_engines_before_they_are_compared() -> None:
    """Multimodal checkpoints nest the language model one way, the engine another."""
    names = ModuleNames(prefixes=(("model.language_model.", "language_model.model."),))
    assert (
        names.rename("model.language_model.layers.0.mlp.up_proj")
        == "language_model.model.layers.0.mlp.up_proj"
    )
    assert names.rename("lm_head") == "lm_head"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(.*)*x", "(a{1,9}){9}", "(", "a" * 5000])
def test_an_expression_that_cannot_be_used_is_refused(pattern: str) -> None:
    """A repeated repetition could run for ever; a broken one is no expression."""
    with pytest.raises(InvalidRequest) as caught:
        expression(pattern)
    assert caught.value.field == "config.quantization_config"


PARTS = st.sampled_from(["model", "layers", "1", "11", "mlp", "self_attn", "o_proj", "experts"])
NAMES = st.lists(PARTS, min_size=1, max_size=6).map(".".join)


@given(st.lists(NAMES, max_size=12), st.sampled_from(["mlp.down_proj", "self_attn.o_proj"]))
def test_sorting_by_layer_loses_nothing(entries: list[str], own: str) -> None:
    """What a plain search through the whole list finds, the sorted one finds."""
    wanted = Module(f"model.layers.1.{own}", "linear", 1)
    listed = sort_names(entries)
    assert is_skipped(wanted, listed, "exact") == (wanted.name in entries)
    assert is_skipped(wanted, listed, "part") == any(entry in wanted.name for entry in entries)
    plainly = any(entry in wanted.name for entry in entries)
    assert excludes(wanted, listed) == plainly


@given(st.text(max_size=20), st.text(max_size=20))
def test_an_entry_without_a_mark_is_a_name(name: str, entry: str) -> None:
    """Only ``re:`` makes an expression."""
    if not entry.startswith("re:"):
        assert equals_or_matches(name, entry) == (name == entry)
