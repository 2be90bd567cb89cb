"""Rotary position tables: buffers that every rank holds whole, for all positions of the model."""

from dataclasses import dataclass

from pycore.dtypes import element_bytes
from pycore.model.config_fields import ConfigReader


@dataclass(frozen=True, slots=True)
class RotaryTable:
    """Cosines and sines for ``positions`` rows of ``width`` elements.

    Sized by the model's own longest position, not by max_model_len.
    Source: vLLM 0.33.0, model_executor/layers/rotary_embedding/base.py.
    """

    positions: int
    width: int
    dtype: str | None = None
    """None: the model's own."""
    eager_dtype: str | None = None
    """Its element type where the engine does not compile the model; None: the same."""
    layers: tuple[int, int] | None = None
    """The first and the last layer that use it; None where every pipeline stage has some."""

    def is_among(self, first: int, end: int) -> bool:
        """Whether a stage that holds layers from ``first`` up to ``end`` needs it."""
        return self.layers is None or (self.layers[0] < end and self.layers[1] >= first)

    def num_bytes(self, model_dtype: str, *, is_compiled: bool = True) -> int:
        """Bytes of the table on each rank."""
        own = self.dtype if is_compiled else self.eager_dtype or self.dtype
        return self.positions * self.width * element_bytes(own or model_dtype)


def read_rotary_table(
    reader: ConfigReader, head_dim: int, positions: int, *, default_share: float = 1.0
) -> RotaryTable:
    """The one table of a model whose layers all rotate alike.

    Linear and yarn scaling lengthen the table by their factor, yarn from the original length;
    llama3 and dynamic scaling leave it as it is. ``default_share`` is the part of each head that
    is rotated where the config does not say.
    """
    scaling = reader.section("rope_scaling", "rope_parameters")
    width = reader.optional_integer("rotary_dim")
    if width is None:
        width = int(head_dim * read_rotated_share(reader, scaling, default_share))
    if scaling is None:
        return RotaryTable(positions, width)
    kind = scaling.text("rope_type", "type")
    factor = scaling.number("factor", default=1.0)
    if kind == "linear":
        positions = int(positions * factor)
    elif kind == "yarn":
        original = scaling.integer("original_max_position_embeddings", default=positions)
        positions = int(original * factor)
    return RotaryTable(positions, width)


def read_rotated_share(reader: ConfigReader, scaling: ConfigReader | None, default: float) -> float:
    """The part of each head that is rotated, stated beside the scaling or within it."""
    names = ("partial_rotary_factor", "rotary_pct")
    if scaling is not None and scaling.has(*names):
        return scaling.number(*names, default=default)
    if default != 1.0 and not reader.has(*names):
        reader.defaulted[names[0]] = default
    return reader.number(*names, default=default)
