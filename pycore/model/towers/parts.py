"""The parts that towers are built of: patches, blocks, norms, and linears split or whole.

A tower's linears are divided over the ranks like the text's: queries, keys and values by heads,
what follows by its inputs. Everything else is whole on every rank. The tower is on the first
stage of a pipeline.

Source: vLLM 0.33.0, model_executor/models/interfaces.py (_mark_tower_model), vision.py.
"""

from collections.abc import Iterable
from typing import Final

from pycore.model.tensors import Linear, OuterTensor, Place, Rows, Split, Tensor, Vector

TOWER: Final = "tower"


def placed(tensors: Iterable[Tensor], repeats: int = 1) -> tuple[OuterTensor, ...]:
    """Tensors of a tower, each so many times."""
    return tuple(OuterTensor(tensor, repeats, Place.FIRST) for tensor in tensors)


def made_here(tensors: Iterable[Tensor], repeats: int = 1) -> tuple[OuterTensor, ...]:
    """Tables that the engine makes for a tower, and no checkpoint holds."""
    return tuple(
        OuterTensor(tensor, repeats, Place.FIRST, in_checkpoint=False) for tensor in tensors
    )


def whole(name: str, rows: int, columns: int, *, bias: bool = False) -> Linear:
    """A matrix that each rank holds whole: a convolution of patches, an embedding."""
    kept = (Rows(rows, Split.REPLICATED),)
    return Linear(TOWER, name, kept, columns, bias=bias, bias_split=False, quantizable=False)


def outward(name: str, rows: int, columns: int, *, bias: bool = True, parts: int = 1) -> Linear:
    """A linear whose outputs are divided; ``parts`` of them fused into one."""
    return Linear(TOWER, name, (Rows(rows),) * parts, columns, bias=bias)


def by_heads(name: str, heads: int, head_dim: int, columns: int, *, bias: bool = True) -> Linear:
    """Queries, keys and values of so many heads, fused; TP has to divide the heads."""
    part = Rows(heads * head_dim, Split.EVEN, head_dim)
    return Linear(TOWER, name, (part,) * 3, columns, bias=bias)


def inward(name: str, rows: int, columns: int, *, bias: bool = True) -> Linear:
    """A linear whose inputs are divided, with a bias that each rank holds."""
    kept = (Rows(rows, Split.REPLICATED),)
    return Linear(TOWER, name, kept, columns, columns_split=True, bias=bias, bias_split=False)


def norm(name: str, width: int, *, bias: bool = True) -> Vector:
    """A norm's weight, and its bias."""
    return Vector(TOWER, name, width * (2 if bias else 1))


def indices(name: str, count: int) -> Vector:
    """A buffer of 64-bit numbers, counted as pairs of 32 bits."""
    return Vector(TOWER, name, 2 * count, dtype="float32")
