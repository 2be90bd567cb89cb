"""Descriptions of quantisation with anything in any place: an answer or a failure with a path."""

import json
from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pycore.bridge import answer
from pycore.data import rows

DESCRIBED = [
    row["config"]
    for row in rows("models")
    if isinstance(row["config"], dict) and "quantization_config" in row["config"]
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["re:(", "re:.*", "group", "lm_head", "NVFP4", "MIXED_PRECISION", "int"]),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["num_bits", "type", "a", "quant_algo"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place of a JSON value, those of long lists but for their first ones."""
    found = [path]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value[:3]):
            found += places(inner, (*path, index))
    return found


def with_value(config: dict[str, Any], path: tuple[str | int, ...], value: object) -> None:
    """Put ``value`` in its place."""
    target: Any = config
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value


@given(st.data())
def test_anything_anywhere_is_answered(data: st.DataObject) -> None:
    """Never an exception; a failure says where, and names nothing outside the config."""
    config = deepcopy(data.draw(st.sampled_from(DESCRIBED)))
    where = places(config["quantization_config"], ("quantization_config",))
    with_value(config, data.draw(st.sampled_from(where)), data.draw(ANYTHING))
    request = {"config": json.dumps(config), "accelerator": "h100-sxm-80gb"}
    reply = json.loads(answer(json.dumps({**request, "tensor_parallel_size": 2})))
    if not reply["ok"]:
        assert reply["failure"]["field"].startswith("config")
        assert reply["failure"]["message"]
        return
    kept = json.loads(answer(json.dumps({**request, "ask": "model"})))["result"]["config"]
    again = {**request, "config": json.dumps(kept), "tensor_parallel_size": 2}
    assert json.loads(answer(json.dumps(again)))["result"] == reply["result"]
