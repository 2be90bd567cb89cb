"""Every figure can be redone by hand: its formula, given its inputs, is its value."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.bridge import answer
from pycore.sizing.ledger import formulas_in
from pycore.units import ceil_div, round_up

KNOWN = {
    "ceil_div": ceil_div,
    "round_up": round_up,
    "min": min,
    "max": max,
    "int": int,
    "float": float,
    "math": math,
}

REQUESTS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(
            ["llama-3.3-70b-instruct", "qwen3-30b-a3b", "llama-3.1-8b-instruct", "qwen3-32b-fp8"]
        ),
        "accelerator": st.sampled_from(["a100-sxm-80gb", "h100-sxm-80gb", "l4", "b200-sxm"]),
        "tensor_parallel_size": st.sampled_from([1, 2, 4, 8]),
        "pipeline_parallel_size": st.sampled_from([1, 2, 3]),
        "kv_cache_dtype": st.sampled_from(["auto", "fp8"]),
        "max_model_len": st.sampled_from([None, 1000, 8192]),
        "engine_version": st.sampled_from(["0.33.0", "0.19.0", "0.10.2"]),
    }
)


def figures_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The figures of an answer."""
    decoded = json.loads(answer(json.dumps({**request, "figures": True})))
    figures: list[dict[str, Any]] = decoded["result"]["figures"]
    return figures


@given(REQUESTS)
def test_every_displayed_formula_gives_the_displayed_value(request: dict[str, Any]) -> None:
    """The page shows formula, inputs and value: evaluating the one gives the other."""
    figures = figures_of(request)
    assert figures
    for figure in figures:
        names = {"__builtins__": {}, **KNOWN, **figure["inputs"]}
        value = eval(figure["formula"], names)  # our own functions' source, and no builtins
        assert value == figure["value"], figure["name"]


@given(REQUESTS)
def test_every_figure_says_where_it_comes_from(request: dict[str, Any]) -> None:
    """Summary, source, basis and unit are never empty."""
    for figure in figures_of(request):
        assert figure["summary"]
        assert figure["source"]
        assert figure["basis"] in {"exact", "fitted", "assumed"}
        assert figure["unit"]


@given(REQUESTS)
def test_figures_are_the_figures_of_the_result(request: dict[str, Any]) -> None:
    """A figure that is also a field of the result has the same value there, or is unknown."""
    result = json.loads(answer(json.dumps({**request, "figures": True})))["result"]
    for figure in result["figures"]:
        shown = result.get(figure["name"])
        assert shown is None or shown == figure["value"], figure["name"]


def test_answers_carry_no_figures_unless_asked() -> None:
    """Writing them down costs milliseconds in the browser."""
    request = {"model": "llama-3.1-8b-instruct", "accelerator": "l4"}
    assert "figures" not in json.loads(answer(json.dumps(request)))["result"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(*, a: int) -> int:\n    '''Doc.'''\n    return a * 2\n", {"f": "a * 2"}),
        ("def f(a: int) -> int:\n    return a\n", {}),
        ("def f(*, a: int) -> None:\n    print(a)\n", {}),
    ],
)
def test_a_formula_is_a_keyword_function_that_ends_in_an_expression(
    source: str, expected: dict[str, str]
) -> None:
    """What the page shows is the function's own return expression."""
    assert formulas_in(source) == expected
