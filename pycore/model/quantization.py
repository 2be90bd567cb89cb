"""How a checkpoint stores its weights: element widths, scales, and which linears keep out.

Read from ``quantization_config``. What is not understood is refused by name.
"""

import re
from dataclasses import dataclass
from typing import Final

from pycore.errors import InvalidRequest
from pycore.model.config_fields import ConfigReader

# Modules that engines keep in the model's dtype whether a checkpoint lists them or not.
ALWAYS_IGNORED: Final = re.compile(
    r"(lm_head|embed|norm|gate|router|e_score_correction_bias|shared_expert_gate)$"
)


@dataclass(frozen=True, slots=True)
class Quantization:
    """fp8 weights: one byte an element, and float32 scales.

    ``block`` is the rows and columns that share one scale; None means one scale for each matrix.
    ``online`` quantises a checkpoint of wider elements when it is loaded.
    """

    method: str
    block: tuple[int, int] | None = None
    static_activation_scale: bool = False
    online: bool = False


ONLINE_FP8: Final = Quantization("fp8", online=True)


def read_quantization(reader: ConfigReader) -> Quantization | None:
    """The checkpoint's own quantisation, or None when its weights are in the model's dtype."""
    section = reader.section("quantization_config", "compression_config")
    if section is None:
        return None
    method = section.text("quant_method")
    if method != "fp8":
        raise InvalidRequest(
            f"{section.path}.quant_method",
            "unsupported_quantization",
            f"weights quantised with {method or 'an unnamed method'} cannot be sized yet",
            ("fp8",),
        )
    refuse_partial(section)
    scheme = section.text("activation_scheme", default="dynamic")
    return Quantization("fp8", read_block(section), static_activation_scale=scheme == "static")


def refuse_partial(section: ConfigReader) -> None:
    """Refuse a checkpoint that leaves some ordinary linears unquantised."""
    for names in ("modules_to_not_convert", "ignored_layers"):
        for name in section.sequence(names) or ():
            if not isinstance(name, str) or not ALWAYS_IGNORED.search(name):
                raise InvalidRequest(
                    f"{section.path}.{names}",
                    "unsupported_quantization",
                    f"a checkpoint that leaves {name!r} unquantised cannot be sized yet",
                )


def read_block(section: ConfigReader) -> tuple[int, int] | None:
    """Rows and columns that share one scale."""
    block = section.sequence("weight_block_size")
    if block is None:
        return None
    if len(block) != 2:
        raise section.invalid("weight_block_size", block, "two whole numbers")
    rows, columns = (section.checked_integer("weight_block_size", size) for size in block)
    return rows, columns
