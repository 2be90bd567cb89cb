"""How a config says that positions are rotated, and the tables that this makes.

Configs keep it in ``rope_scaling`` and ``rope_theta``, or all in ``rope_parameters``, which may
hold one set for each kind of layer. Layers whose sets are equal share one table.

Source: vLLM 0.33.0, model_executor/layers/rotary_embedding/ (get_rope and its classes);
transformers 5.24.0, modeling_rope_utils.py (standardize_rope_params).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.rotary import RotaryTable

SECTIONS: Final = ("rope_parameters", "rope_scaling")
SHARES: Final = ("partial_rotary_factor", "rotary_pct", "rotary_emb_fraction")
DEFAULT_THETA: Final = 10000.0


@dataclass(frozen=True, slots=True)
class Rope:
    """One way of rotating."""

    kind: str = "default"
    theta: float = DEFAULT_THETA
    factor: float = 1.0
    original_positions: int = 0
    """What the model was first made for, where a scaling starts from it; 0 where none does."""
    share: float = 1.0
    """The part of each head that is rotated."""
    width: int | None = None
    """Elements of each head that are rotated, where the config counts them (MiniMax)."""
    has_sections: bool = False
    """Positions are of time, height and width apart (multimodal)."""


def read_rope(text: ConfigReader, kind: str = "", *, share: float = 1.0) -> Rope:
    """The rotation of the layers of one ``kind``; ``share`` is what the class itself assumes."""
    whole = next((name for name in SECTIONS if text.has(name)), None)
    section = text.section(whole) if whole else None
    if section is not None and kind and isinstance(section.fields.get(kind), dict):
        section = section.section(kind)
    if section is None:
        section = ConfigReader({}, text.path)
    name = section.text("rope_type", "type", default="default")
    # Phi-3 states the original length beside the scaling, which then comes first.
    beside = text.optional_integer("original_max_position_embeddings")
    within = section.optional_integer("original_max_position_embeddings")
    longest = text.optional_integer("max_position_embeddings") or 0
    theta = text.number("rope_theta", "rotary_emb_base", default=DEFAULT_THETA)
    return Rope(
        kind={"su": "longrope", "mrope": "default"}.get(name, name),
        theta=section.number("rope_theta", default=theta),
        factor=section.number("factor", default=1.0),
        original_positions=beside or within or longest,
        share=section.number(*SHARES, default=text.number(*SHARES, default=share)),
        width=text.optional_integer("rotary_dim"),
        has_sections=section.has("mrope_section"),
    )


def rotary_table(
    rope: Rope, head_dim: int, positions: int, *, sections_factor: int = 4
) -> RotaryTable:
    """The table of one way of rotating.

    Linear scaling lengthens it by its factor, yarn from the original length; longrope keeps one
    for short and one for long requests; positions with sections are made for videos longer than
    any request, in most classes.
    """
    width = int(head_dim * rope.share) if rope.width is None else rope.width
    match rope.kind:
        case "proportional":
            width = head_dim  # Gemma 4 rotates a part of each head, but its table has it all.
        case "linear":
            positions = int(positions * rope.factor)
        case "yarn" if rope.has_sections:
            positions = rope.original_positions * sections_factor
        case "yarn":
            positions = int(rope.original_positions * rope.factor)
        case "longrope":
            positions += rope.original_positions
        case "default" if rope.has_sections:
            positions *= sections_factor
        case _:
            pass
    return RotaryTable(positions, width)


def distinct_tables(
    layers: Iterable[tuple[Rope, int]],
    positions: int,
    *,
    dtype: str | None = None,
    sections_factor: int = 4,
) -> tuple[RotaryTable, ...]:
    """One table for each distinct rotation and head width."""
    return tuple(
        replace(
            rotary_table(rope, head_dim, positions, sections_factor=sections_factor), dtype=dtype
        )
        for rope, head_dim in dict.fromkeys(layers)
    )


def plain_rope(text: ConfigReader, windowed: bool) -> Rope:
    """The same rotation in every layer, unless the config states one for each kind."""
    return read_rope(text, "sliding_attention" if windowed else "full_attention")


def half_rope(text: ConfigReader, _windowed: bool) -> Rope:
    """GLM rotates half of each head unless the config says otherwise."""
    return read_rope(text, share=0.5)


def gemma3_rope(text: ConfigReader, windowed: bool) -> Rope:
    """Gemma 3: a scaling is of the full layers alone, and windowed ones rotate faster.

    Source: transformers 5.24.0, models/gemma3/configuration_gemma3.py.
    """
    nested = text.section("rope_parameters")
    kind = "sliding_attention" if windowed else "full_attention"
    if nested is not None and nested.has(kind):
        return read_rope(text, kind)
    if windowed:
        return Rope(theta=text.number("rope_local_base_freq", default=DEFAULT_THETA))
    return read_rope(text)
