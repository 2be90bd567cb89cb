"""What a family of decoders fixes beyond the numbers of its configs: the fields of its row."""

from collections.abc import Callable
from dataclasses import dataclass

from pycore.model.config_fields import ConfigReader
from pycore.model.readers.rope import Rope, plain_rope


@dataclass(frozen=True, slots=True)
class Flag:
    """A yes or no of the config, with what transformers uses when the field is absent."""

    field: str
    default: bool = False


@dataclass(frozen=True, slots=True)
class Moe:
    """Where a family keeps the numbers of its experts, and which extras its layers have."""

    num_experts: tuple[str, ...] = ("num_experts", "num_local_experts", "n_routed_experts")
    experts_per_tok: tuple[str, ...] = ("num_experts_per_tok",)
    width: tuple[str, ...] = ("moe_intermediate_size",)
    shared_count: tuple[str, ...] = ()
    shared_width: tuple[str, ...] = ()
    """Of all shared experts; with a ``shared_count`` of each, which else is a routed one's."""
    shared_as_wide: bool = False
    """One shared expert, as wide as each routed one (Llama 4)."""
    shared_is_whole_in_sequence: bool = False
    """Each rank holds it whole where tokens are divided instead (layers.MoeMlp)."""
    shared_gate: bool = False
    shared_name: str = "mlp.shared_experts"
    router_bias: Flag | bool = False
    router_bias_counts: bool = True
    blackwell_routing: Flag | bool = True
    """Whether Blackwell's expert kernels know how the router chooses (layers.MoeMlp)."""
    router_dtype: str | None = None
    expert_bias: bool = False
    router_linear_bias: bool = False
    listed: str = ""
    """Field that lists each layer's kind, ``sparse`` or another."""
    first_dense: tuple[str, ...] = ()
    sparse_step: bool = False
    interval: bool = False
    interleave: str = ""
    """Field that says which layers are routed: one in so many (Llama 4)."""


@dataclass(frozen=True, slots=True)
class Family:
    """What an architecture of grouped attention fixes, in all its layers alike."""

    qkv_bias: Flag | bool = False
    output_bias: Flag | bool = False
    mlp_bias: Flag | bool = False
    qk_norm: str = "none"
    qk_norm_flag: Flag | None = None
    num_norms: int = 2
    norm_bias: bool = False
    head_bias: Flag | bool = False
    gated: bool = True
    mlp_whole: bool = False
    """Every rank holds the whole feed-forward network (GPT-BigCode through transformers)."""
    feed_forward_name: str = "mlp"
    dense_width: tuple[str, ...] = ()
    """Where the config states the width of dense layers, if elsewhere than most."""
    moe: Moe | None = None
    final_norm: bool = True
    tied_default: bool = False
    ties: bool | None = None
    """Whether the class ties its head to the embedding; None: as the config says."""
    output_gate: bool = False
    """Queries carry a gate of the same width (Trinity)."""
    ends_on_every_stage: bool = False
    supports_pipeline: bool = True
    ties_break_pipeline: bool = False
    """The class cannot tie its head to an embedding on another stage (ERNIE 4.5)."""
    transformers_backend: bool = False
    """Run through transformers' own classes: inverse frequencies instead of a rotary table, and
    the rows of a key-value head divided where ranks outnumber them."""
    num_ropes: int = 1
    """Ways of rotating that transformers' own class keeps frequencies for."""
    rotates: bool = True
    """Whether positions are rotated at all, not learnt or left to biases."""
    rope: Callable[[ConfigReader, bool], Rope] = plain_rope
    """How layers rotate positions; told whether they have a window."""
    sections_factor: int = 4
    """Rows of the rotary table for each position, where positions have sections."""
    rotary_dtype: str | None = None
    scales_embeddings: bool = False
    """The class keeps the factor that embeddings are multiplied with as a buffer (Gemma)."""
    prefer_model_max_length: bool = False
