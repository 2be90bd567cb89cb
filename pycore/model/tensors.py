"""Tensors, and how each is split over tensor-parallel ranks.

Every weight is a ``Linear`` (one matrix, or the matrices that an engine fuses into one, such as
query, key and value) or a ``Vector`` (a norm, a bias, a router's correction). A linear of routed
experts holds ``num_experts`` copies. Sizes here are of the whole model.
"""

from dataclasses import dataclass
from enum import Enum
from typing import assert_never


class Split(Enum):
    """How the rows of a tensor are divided over tensor-parallel ranks."""

    REPLICATED = "every rank holds all rows"
    EVEN = "each rank holds an equal share"
    KV_HEADS = "each rank holds its key-value heads, at least one"


@dataclass(frozen=True, slots=True)
class Rows:
    """Output rows of one matrix inside a linear.

    ``unit`` is the rows of one head where the split is by heads, else 1.
    """

    count: int
    split: Split = Split.EVEN
    unit: int = 1
    counts: bool = True
    """False for rows that an engine fills a second time, and no model card counts."""

    def on_rank(self, tensor_parallel_size: int) -> int:
        """Rows that one rank holds."""
        match self.split:
            case Split.REPLICATED:
                return self.count
            case Split.EVEN:
                return self.count // tensor_parallel_size
            case Split.KV_HEADS:
                return max(1, self.count // self.unit // tensor_parallel_size) * self.unit
            case _:
                assert_never(self.split)


@dataclass(frozen=True, slots=True)
class Linear:
    """One or more matrices of ``columns`` inputs that the engine keeps as one weight."""

    component: str
    name: str
    rows: tuple[Rows, ...]
    columns: int
    columns_split: bool = False
    bias: bool = False
    bias_split: bool = True
    num_experts: int = 0
    quantizable: bool = True
    dtype: str | None = None
    float32_without_kernels: bool = False
    """Kept in float32 on GPUs without kernels that compute a router in it (before Hopper)."""
    rows_multiple: int = 1
    """Rows on a rank are filled up to a multiple of this (Kimi's fused projections)."""
    least_width_per_rank: int = 0
    """Routed experts are made wide enough for each rank of TP to hold this much (Kimi)."""
    width_multiple: int = 1
    """What TP divides is filled up to a multiple of this on a rank, as scale blocks want it."""
    whole_in_sequence: bool = False
    """Whole on every rank where TP's ranks divide the tokens instead."""
    divided_in_pipelines: bool = False
    """Even then not whole where the pipeline has several stages (dense layers of DeepSeek-V3.2)."""
    split_heads: int = 0
    """Divided only where TP divides so many heads, else whole on every rank (vision towers)."""

    @property
    def num_rows(self) -> int:
        """Output rows of the whole model."""
        return sum(rows.count for rows in self.rows)

    @property
    def num_elements(self) -> int:
        """Elements of the whole model, biases included."""
        rows = sum(part.count for part in self.rows if part.counts)
        matrix = rows * self.columns + (rows if self.bias else 0)
        return matrix * max(1, self.num_experts)


@dataclass(frozen=True, slots=True)
class Vector:
    """A one-dimensional weight: norm scales and biases, router corrections."""

    component: str
    name: str
    length: int
    split: bool = False
    dtype: str | None = None
    least_per_rank: int = 0
    """Filled up to this on each rank, as a kernel wants it (DeepSeek-V4's sinks)."""
    counts: bool = True
    """False for what transformers keeps as a buffer, and so no model card counts."""

    @property
    def num_elements(self) -> int:
        """Elements of the whole model."""
        return self.length if self.counts else 0


Tensor = Linear | Vector


class Place(Enum):
    """Which stages of a pipeline hold a tensor that stands around the layers."""

    FIRST = "the first stage"
    LAST = "the last stage"
    ENDS = "the first and the last stage"
    EVERY = "every stage"

    def is_on(self, stage: int, num_stages: int) -> bool:
        """Whether ``stage`` holds what has this place."""
        is_first, is_last = stage == 0, stage == num_stages - 1
        match self:
            case Place.FIRST:
                return is_first
            case Place.LAST:
                return is_last
            case Place.ENDS:
                return is_first or is_last
            case Place.EVERY:
                return True
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True)
class OuterTensor:
    """A tensor that stands around the layers: a vision tower's, a projector's, a common norm's.

    ``repeats`` is how many of them there are, as in the blocks of a tower.
    """

    tensor: Tensor
    repeats: int = 1
    place: Place = Place.EVERY
    in_checkpoint: bool = True
    """False for what an engine makes itself: tables, copies; no model card counts it."""
    on_ranks: bool = True
    """False for what a checkpoint holds and the engine does not create."""
