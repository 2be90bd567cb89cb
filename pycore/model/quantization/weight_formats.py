"""The bytes of a matrix in each form that checkpoints keep weights in.

A quantised matrix is elements narrower than the model's dtype, packed into words; scales that a
block of rows and columns share; and often zero points and a few scales for the matrix as a whole.
``WeightFormat`` says which, in whole bits, so that every size is exact: NVFP4 is 72 bits for 16
elements. Sizes are of what the engine creates, before it re-arranges anything for a kernel.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from pycore.units import ceil_div

Alignment = Literal["none", "block", "strict_block", "awq", "gptq", "group", "nvfp4", "mxfp8"]
Family = Literal["fp8", "awq", "gptq", "other"]
ExpertFilling = Literal["none", "gpt_oss", "mxfp4", "block"]


@dataclass(frozen=True, slots=True)
class Extras:
    """What is stored once for a matrix, beside its elements and the scales of its blocks.

    A linear may hold several matrices fused into one (query, key and value); ``matrix_bytes`` is
    for each of these, ``linear_bytes`` for all together. The other two count elements of the
    model's dtype.
    """

    matrix_bytes: int = 0
    linear_bytes: int = 0
    matrix_elements: int = 0
    linear_elements: int = 0
    row_elements: int = 0

    def num_bytes(self, matrices: int, rows: int, dtype_bytes: int) -> int:
        """Bytes for a linear of so many fused matrices and rows."""
        elements = matrices * self.matrix_elements + self.linear_elements + rows * self.row_elements
        return matrices * self.matrix_bytes + self.linear_bytes + elements * dtype_bytes


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """How one matrix is stored.

    ``block`` is the rows and columns that share one scale, 0 meaning all of them; None where
    only the matrix as a whole has scales. ``scale_bits`` of 0 are scales in the model's dtype.
    """

    name: str
    element_bits: int
    word_bits: int = 8
    packs_rows: bool = False
    """Words hold elements of neighbouring rows (AWQ) instead of neighbouring columns."""
    block: tuple[int, int] | None = None
    scale_bits: int = 32
    zero_points: bool = False
    extras: Extras = Extras()
    routed_extras: Extras = Extras()
    """The same for the matrices of one routed expert."""
    asymmetric: bool = False
    """Whether the zero points mean anything; some forms hold them in any case."""
    alignment: Alignment = "none"
    """Whose rule decides which shards are refused."""
    filling: ExpertFilling = "none"
    """Whose rule decides what routed experts are filled up to."""
    family: Family = "other"
    """Which kernels re-arrange it when it is loaded."""
    lowest_capability: int = 0
    """What the kernels of a scheme need, where the scheme and not the method says it."""

    @property
    def group_size(self) -> int:
        """Columns that share a scale; 0 for all of them."""
        return self.block[1] if self.block else 0


def format_bytes(
    form: WeightFormat, rows: Sequence[int], columns: int, dtype_bytes: int, *, routed: bool = False
) -> int:
    """Bytes of a linear whose fused matrices have ``rows`` each, all of ``columns``."""
    return sum(tensor_sizes(form, rows, columns, dtype_bytes, routed=routed))


def tensor_sizes(
    form: WeightFormat, rows: Sequence[int], columns: int, dtype_bytes: int, *, routed: bool = False
) -> tuple[int, int, int, int]:
    """Bytes of elements, of scales, of zero points, and of what is stored once for a matrix."""
    num_rows = sum(rows)
    extras = form.routed_extras if routed else form.extras
    return (
        element_bytes(form, num_rows, columns),
        scale_bytes(form, num_rows, columns, dtype_bytes),
        zero_point_bytes(form, num_rows, columns),
        extras.num_bytes(len(rows), num_rows, dtype_bytes),
    )


def element_bytes(form: WeightFormat, num_rows: int, columns: int) -> int:
    """Bytes of the packed elements: whole words along the packed side."""
    long_side, packed_side = (columns, num_rows) if form.packs_rows else (num_rows, columns)
    words = ceil_div(packed_side * form.element_bits, form.word_bits)
    return long_side * words * form.word_bits // 8


def scale_bytes(form: WeightFormat, num_rows: int, columns: int, dtype_bytes: int) -> int:
    """Bytes of the scales of blocks."""
    if form.block is None:
        return 0
    block_rows = form.block[0]
    down = ceil_div(num_rows, block_rows) if block_rows else 1
    return down * groups_across(form, columns) * (form.scale_bits // 8 or dtype_bytes)


def groups_across(form: WeightFormat, columns: int) -> int:
    """Blocks side by side."""
    if form.alignment == "nvfp4":
        return columns // form.group_size  # What a narrow expert has over goes without a scale.
    return ceil_div(columns, form.group_size) if form.group_size else 1


def zero_point_bytes(form: WeightFormat, num_rows: int, columns: int) -> int:
    """Bytes of zero points, one for each group of a row, packed like elements."""
    if not form.zero_points:
        return 0
    words = ceil_div(num_rows * form.element_bits, form.word_bits)
    return groups_across(form, columns) * words * form.word_bits // 8


FLOAT32: Final = 4
INT64: Final = 8

FP8_TENSOR: Final = WeightFormat(
    "fp8", 8, extras=Extras(FLOAT32), routed_extras=Extras(FLOAT32), family="fp8"
)
"""fp8 with one scale for each fused matrix. Source: vLLM 0.33.0, quantization/fp8.py."""

FP8_TENSOR_STATIC: Final = replace(
    FP8_TENSOR,
    name="fp8, static activations",
    extras=Extras(2 * FLOAT32),
    routed_extras=Extras(FLOAT32, FLOAT32),
)
"""The same with scales for activations in the checkpoint: one a matrix, one for all of an expert's.

Source: vLLM 0.33.0, quantization/fp8.py and modelopt.py (FP8).
"""

FP8_CHANNEL: Final = WeightFormat("fp8 by channel", 8, block=(1, 0), family="fp8")
"""fp8 with a float32 scale for each row."""

INT8_CHANNEL: Final = WeightFormat("int8 by channel", 8, block=(1, 0))
INT8_TENSOR: Final = WeightFormat("int8", 8, extras=Extras(FLOAT32))

NVFP4: Final = WeightFormat(
    "nvfp4",
    4,
    block=(1, 16),
    scale_bits=8,
    extras=Extras(2 * FLOAT32),
    routed_extras=Extras(2 * FLOAT32),
    alignment="nvfp4",
)
"""Four-bit floats, an fp8 scale for every 16, and two float32 scales a matrix: weights, inputs.

Source: vLLM 0.33.0, quantization/modelopt.py (KNvfp4Static, KNvfp4Dynamic, ModelOptNvFp4FusedMoE).
"""

MXFP4: Final = WeightFormat("mxfp4", 4, block=(1, 32), scale_bits=8)
"""Four-bit floats with an eight-bit exponent for every 32."""

MXFP8: Final = WeightFormat("mxfp8", 8, block=(1, 32), scale_bits=8, alignment="mxfp8")

NF4: Final = WeightFormat("bitsandbytes 4-bit", 4, block=(1, 64))
"""bitsandbytes: 4 bits an element, a float32 scale for every 64 once it is loaded."""

LLM_INT8: Final = WeightFormat("bitsandbytes 8-bit", 8, block=(1, 0))


def fp8_block(rows: int, columns: int, scale_bits: int = 32) -> WeightFormat:
    """fp8 with a scale for each block of rows and columns (DeepSeek's 128 by 128)."""
    return WeightFormat(
        f"fp8 {rows}x{columns}",
        8,
        block=(rows, columns),
        scale_bits=scale_bits,
        alignment="block",
        family="fp8",
    )


def awq(bits: int, group_size: int, *, zero_point: bool = True) -> WeightFormat:
    """AWQ: words of 32 bits along the rows; scales and zero points for each group of columns.

    Source: vLLM 0.33.0, quantization/auto_awq.py; zero points are created in any case.
    """
    return WeightFormat(
        f"awq {bits}-bit",
        bits,
        32,
        packs_rows=True,
        block=(1, max(0, group_size)),
        scale_bits=0,
        zero_points=True,
        asymmetric=zero_point,
        alignment="awq",
        family="awq",
    )


def gptq(bits: int, group_size: int) -> WeightFormat:
    """GPTQ: words along the columns; scales and zero points as AWQ; an expert also has biases.

    Source: vLLM 0.33.0, quantization/auto_gptq.py; the order of activations is not created.
    """
    return WeightFormat(
        f"gptq {bits}-bit",
        bits,
        32,
        block=(1, max(0, group_size)),
        scale_bits=0,
        zero_points=True,
        routed_extras=Extras(row_elements=1),
        alignment="gptq",
        family="gptq",
    )


def packed_integers(bits: int, group_size: int, *, symmetric: bool) -> WeightFormat:
    """Integers that compressed-tensors packs into words of 32 bits, with the shape beside them.

    Source: vLLM 0.33.0, compressed_tensors/schemes/compressed_tensors_wNa16.py and
    compressed_tensors_moe_wna16.py.
    """
    return WeightFormat(
        f"int{bits}, {'groups of ' + str(group_size) if group_size > 0 else 'by channel'}",
        bits,
        32,
        block=(1, max(0, group_size)),
        scale_bits=0,
        zero_points=not symmetric,
        asymmetric=not symmetric,
        extras=Extras(linear_bytes=2 * INT64),
        routed_extras=Extras(linear_elements=2),
        alignment="group",
    )
