"""How a checkpoint stores its weights: which form each module has.

``quantization_config`` (or hf_quant_config.json, which the caller puts in its place) names a
method; the method's rule says for every module of the engine's whether it is kept in the model's
dtype or in one of the ``WeightFormat``s. What is not understood is refused by name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pycore.errors import InvalidRequest
from pycore.model.config_fields import ConfigReader
from pycore.model.module_names import Module, ModuleNames
from pycore.model.quantization.weight_formats import Extras, WeightFormat

Choose = Callable[[Module], WeightFormat | None]
"""The form of a module; None where it is kept in the model's dtype."""
Rule = Callable[[ModuleNames], Choose]
"""How a method chooses, for a model whose modules have these names."""

Pair = tuple[WeightFormat | None, WeightFormat | None]

NO_SCALES: Final = Extras()
KV_SCALES: Final = Extras(linear_elements=4)
"""Scales of query, key, value and probability that a checkpoint may carry, in the model's dtype.

Source: vLLM 0.33.0, quantization/kv_cache.py, BaseKVCacheMethod.create_weights.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Quantization:
    """A method of quantisation, with what it says of each module.

    ``method`` is the engine's name for it; ``lowest_capability`` what its kernels need.
    """

    method: str
    rule: Rule
    lowest_capability: int
    forms: Mapping[str, Pair] = field(default_factory=dict)
    """Every form that the rule can choose, under a name: of a linear, and of routed experts."""
    dtypes: tuple[str, ...] = ("bfloat16", "float16")
    """The model dtypes that it can be combined with."""
    kv_cache_dtype: str | None = None
    """What "auto" becomes for the KV cache; None keeps the model's dtype."""
    latent_kv_cache_dtype: str | None = None
    """The same for latent attention, to which some methods do not speak."""
    attention_scales: Extras = NO_SCALES
    """Parameters that each attention layer holds for a quantised cache."""
    latent_scales: Extras = NO_SCALES
    """The same for layers of latent attention."""
    carries_cache_scales: bool = False
    """Whether the checkpoint may carry scales for an fp8 cache."""
    online: bool = False
    """Quantised while loading, from a checkpoint that is not."""
    capability_refusal: str = ""
    """What the engine says on an older GPU, where it has words of its own for that."""
    refusal: str = ""
    """Why the engine would not start with it, in its own words."""
    declared: ConfigReader | None = None
    """Where it was read from."""

    def name_of(self, module: Module, form: WeightFormat | None) -> str:
        """The name of a module's form."""
        is_routed = module.kind == "experts"
        return next((name for name, pair in self.forms.items() if pair[is_routed] == form), "kept")


def unsupported(section: ConfigReader, field: str, what: str) -> InvalidRequest:
    """The failure for a quantisation that cannot be sized."""
    return InvalidRequest(
        f"{section.path}.{field}", "unsupported_quantization", f"{what} cannot be sized yet"
    )
