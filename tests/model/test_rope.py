"""Rotary tables: how many rows, how many of them, and in what width.

Source: vLLM 0.33.0, model_executor/layers/rotary_embedding; facts of published configs.
"""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pycore.model.catalogue import model_from_catalogue
from pycore.model.config_fields import ConfigReader
from pycore.model.readers.rope import Rope, distinct_tables, read_rope, rotary_table
from pycore.model.rotary import RotaryTable


def rope_of(**fields: Any) -> Rope:
    """The rotation of a config that states only these fields."""
    return read_rope(ConfigReader(fields), "full_attention")


def test_gemma_3_keeps_a_local_and_a_global_table() -> None:
    """The global one is eight times as long: its scaling is linear, and of full layers alone."""
    tables = model_from_catalogue("gemma-3-27b-it", "").rotary_tables
    assert tables == (RotaryTable(131072, 128), RotaryTable(8 * 131072, 128))


def test_gemma_4_has_a_table_for_each_width_of_head() -> None:
    """Full layers rotate a quarter of their wider heads, but their table has whole heads."""
    tables = model_from_catalogue("gemma-4-26b-a4b", "").rotary_tables
    assert tables == (RotaryTable(262144, 256), RotaryTable(262144, 512))


def test_llama_4_scout_holds_ten_million_positions_on_every_gpu() -> None:
    """2.68 GB of cosines and sines, whatever max_model_len is."""
    (table,) = model_from_catalogue("llama-4-scout-17b-16e-instruct", "").rotary_tables
    assert table == RotaryTable(10485760, 128)
    assert table.num_bytes("bfloat16") == 2_684_354_560


def test_longrope_keeps_a_table_for_short_and_one_for_long_requests() -> None:
    """Phi-4-mini: 4,096 rows before 131,072, of three quarters of a head."""
    (table,) = model_from_catalogue("phi-4-mini-instruct", "").rotary_tables
    assert table == RotaryTable(4096 + 131072, 96)


def test_positions_of_videos_lengthen_the_table_in_older_qwen_classes_only() -> None:
    """Qwen2-VL makes four rows for each position, Qwen3-VL one."""
    (second,) = model_from_catalogue("qwen2-vl-7b-instruct", "").rotary_tables
    (third,) = model_from_catalogue("qwen3-vl-8b-instruct", "").rotary_tables
    assert second == RotaryTable(4 * 32768, 128)
    assert third == RotaryTable(262144, 128)


def test_gpt_oss_keeps_its_table_in_float32() -> None:
    """Yarn from 4,096 positions by 32, in four bytes each."""
    (table,) = model_from_catalogue("gpt-oss-120b", "").rotary_tables
    assert table == RotaryTable(131072, 64, "float32")


def test_windowed_layers_of_mimo_v2_rotate_from_a_base_of_their_own() -> None:
    """Two tables of equal size: a third of each head."""
    tables = model_from_catalogue("mimo-v2-flash", "").rotary_tables
    assert tables == (RotaryTable(262144, 64),) * 2


def test_what_stands_beside_a_scaling_comes_before_what_is_within() -> None:
    """Phi-3 states its original length twice."""
    rope = rope_of(
        rope_scaling={"type": "longrope", "original_max_position_embeddings": 8192},
        original_max_position_embeddings=4096,
        max_position_embeddings=131072,
    )
    assert rope.original_positions == 4096


def test_a_set_of_parameters_for_each_kind_of_layer_is_read_by_kind() -> None:
    """As transformers 5 writes configs."""
    parameters = {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
    }
    assert rope_of(rope_parameters=parameters) == Rope(kind="linear", theta=1e6, factor=8.0)


@given(
    st.sampled_from(["default", "llama3", "dynamic", "ntk", "linear", "yarn", "longrope"]),
    st.integers(1, 64),
    st.integers(1, 10**6),
)
def test_no_scaling_shortens_a_table(kind: str, factor: int, positions: int) -> None:
    """Scalings reach further, never less far."""
    rope = Rope(kind=kind, factor=float(factor), original_positions=positions)
    assert rotary_table(rope, 128, positions).positions >= positions


@given(st.lists(st.tuples(st.sampled_from([1e4, 1e6]), st.sampled_from([64, 128])), min_size=1))
def test_layers_that_rotate_alike_share_a_table(kinds: list[tuple[float, int]]) -> None:
    """One table for each distinct base and width."""
    tables = distinct_tables([(Rope(theta=theta), width) for theta, width in kinds], 4096)
    assert len(tables) == len(set(kinds))
