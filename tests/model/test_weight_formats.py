"""The bytes of a matrix in every form, against sizes worked out another way."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.model.config_fields import ConfigReader
from pycore.model.quantization.compressed_tensors import read_group
from pycore.model.quantization.modelopt import W4A16_NVFP4
from pycore.model.quantization.weight_formats import (
    FP8_CHANNEL,
    FP8_TENSOR,
    FP8_TENSOR_STATIC,
    INT8_CHANNEL,
    MXFP4,
    MXFP8,
    NVFP4,
    WeightFormat,
    awq,
    format_bytes,
    fp8_block,
    gptq,
    packed_integers,
)

BF16 = 2
QKV = (8192, 1024, 1024)
"""Rows of a fused projection: 64 query heads and 8 of keys and values, 128 wide."""
COLUMNS = 8192
ELEMENTS = sum(QKV) * COLUMNS


def size(form: WeightFormat, *, routed: bool = False) -> int:
    """Bytes of the fused projection in ``form``."""
    return format_bytes(form, QKV, COLUMNS, BF16, routed=routed)


def test_nvfp4_takes_72_bits_for_16_elements() -> None:
    """Four bits an element and eight for each 16, and two float32 scales a matrix."""
    assert size(NVFP4) == ELEMENTS * 72 // 16 // 8 + 3 * 2 * 4


def test_nvfp4_of_16_bit_activations_is_made_with_input_scales_in_the_models_dtype() -> None:
    """They are dropped when loaded, but created: two bytes a matrix."""
    assert size(W4A16_NVFP4) == ELEMENTS * 72 // 16 // 8 + 3 * (4 + BF16)


def test_mxfp4_takes_136_bits_for_32_elements() -> None:
    """Four bits an element and an eight-bit exponent for each 32."""
    assert size(MXFP4) == ELEMENTS * 136 // 32 // 8
    assert size(MXFP8) == ELEMENTS * 264 // 32 // 8


def test_fp8_has_a_scale_for_each_fused_matrix() -> None:
    """And as many again where the checkpoint fixes the activations' scales."""
    assert size(FP8_TENSOR) == ELEMENTS + 3 * 4
    assert size(FP8_TENSOR_STATIC) == ELEMENTS + 6 * 4
    assert size(FP8_CHANNEL) == size(INT8_CHANNEL) == ELEMENTS + sum(QKV) * 4


def test_an_experts_activations_share_one_scale() -> None:
    """Gate and up have a weight scale each, and one input scale together."""
    assert size(FP8_TENSOR_STATIC, routed=True) == ELEMENTS + 3 * 4 + 4


def test_blocks_of_fp8_are_rounded_up() -> None:
    """DeepSeek-V3's 576 rows of compressed keys take five blocks of 128."""
    form = fp8_block(128, 128)
    assert format_bytes(form, (576,), 7168, BF16) == 576 * 7168 + 4 * 5 * 56
    assert format_bytes(fp8_block(128, 128, 8), (576,), 7168, BF16) == 576 * 7168 + 5 * 56


def test_integer_groups_hold_elements_scales_and_zero_points() -> None:
    """AWQ and GPTQ: 4 + (16 + 4) / 128 bits an element in groups of 128."""
    groups = COLUMNS // 128 * sum(QKV)
    expected = ELEMENTS // 2 + groups * BF16 + groups // 2
    assert size(awq(4, 128)) == size(gptq(4, 128)) == expected
    assert size(gptq(8, 128)) == ELEMENTS + groups * BF16 + groups


def test_gptq_makes_room_for_an_experts_biases() -> None:
    """Some checkpoints carry them; without one they are dropped once loaded."""
    form = gptq(4, 128)
    assert size(form, routed=True) == size(form) + sum(QKV) * BF16


def test_packed_integers_remember_their_shape() -> None:
    """Two int64 a linear, two numbers of the model's dtype an expert."""
    form = packed_integers(4, 32, symmetric=True)
    groups = COLUMNS // 32 * sum(QKV)
    assert size(form) == ELEMENTS // 2 + groups * BF16 + 16
    assert size(form, routed=True) == ELEMENTS // 2 + groups * BF16 + 2 * BF16
    uneven = packed_integers(4, 32, symmetric=False)
    assert size(uneven) - size(form) == groups // 2


def test_channelwise_integers_have_one_scale_a_row() -> None:
    """A group size of -1 is a scale for the whole row, whatever part of it a rank holds."""
    form = packed_integers(8, -1, symmetric=True)
    assert size(form) == ELEMENTS + sum(QKV) * BF16 + 16


FORMS = [
    NVFP4,
    MXFP4,
    MXFP8,
    FP8_TENSOR,
    FP8_CHANNEL,
    fp8_block(128, 128),
    awq(4, 128),
    gptq(4, 64),
    packed_integers(4, 32, symmetric=False),
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@given(st.integers(1, 64), st.integers(1, 64))
def test_elements_never_take_less_than_their_bits(
    form: WeightFormat, rows: int, columns: int
) -> None:
    """Packing rounds up, and scales only add."""
    bits = rows * columns * form.element_bits
    assert format_bytes(form, (rows,), columns, BF16) * 8 >= bits


GROUPED = [form for form in FORMS if form.block is None or form.group_size]


@pytest.mark.parametrize("form", GROUPED, ids=lambda form: form.name)
@given(st.integers(1, 16), st.integers(1, 16))
def test_whole_groups_add_up(form: WeightFormat, rows: int, columns: int) -> None:
    """Halves of a matrix cut between groups take together what the whole does."""
    bare = replace(form, extras=type(form.extras)())
    height, width = 128 * rows, 128 * columns
    half = format_bytes(bare, (height,), width, BF16)
    assert format_bytes(bare, (height,), 2 * width, BF16) == 2 * half
    assert format_bytes(bare, (2 * height,), width, BF16) == 2 * half


FLOAT8 = {"num_bits": 8, "type": "float", "symmetric": True, "dynamic": False}
PER_TOKEN = {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True}


@pytest.mark.parametrize(
    ("weights", "inputs", "stored", "scale_bytes"),
    [
        ({**FLOAT8, "strategy": "tensor"}, PER_TOKEN, "float-quantized", 3 * 4),
        ({**FLOAT8, "strategy": "channel"}, PER_TOKEN, "float-quantized", sum(QKV) * 4),
        ({**FLOAT8, "strategy": "channel"}, None, "naive-quantized", sum(QKV) * 4),
        (
            {**FLOAT8, "strategy": "block", "block_structure": [128, 128]},
            PER_TOKEN,
            "float-quantized",
            ELEMENTS // 128 // 128 * 4,
        ),
        (
            {**FLOAT8, "strategy": "tensor"},
            {**PER_TOKEN, "strategy": "tensor", "dynamic": False},
            "float-quantized",
            6 * 4,
        ),
        (
            {"num_bits": 8, "type": "int", "strategy": "channel"},
            {**PER_TOKEN, "type": "int"},
            "int-quantized",
            sum(QKV) * 4,
        ),
    ],
)
def test_eight_bit_schemes_of_compressed_tensors(
    weights: object, inputs: object, stored: str, scale_bytes: int
) -> None:
    """One byte an element; what differs is the scales."""
    fields = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    group = read_group(ConfigReader(fields), stored)
    assert group is not None
    assert size(group.linear) == ELEMENTS + scale_bytes
