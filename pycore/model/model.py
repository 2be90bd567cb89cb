"""A model as the engine will serve it: the layers in order, and what stands around them."""

from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Final

from pycore.model.layers import Layer, MoeMlp
from pycore.model.module_names import DECODER, ModuleNames
from pycore.model.parameters import layer_tensors
from pycore.model.quantization.methods import Quantization
from pycore.model.rotary import RotaryTable
from pycore.model.tensors import OuterTensor, Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What is served, read from a config.json.

    ``architecture_numbers`` holds the config's own numbers under Hugging Face's names, those that
    a reader may change and see the consequence of. ``defaulted`` names the fields that the config
    left out, with the value that transformers itself would use.
    """

    name: str
    architecture: str
    hidden_size: int
    vocab_size: int
    tie_word_embeddings: bool
    dtype: str
    dtype_is_stated: bool
    model_limit_tokens: int
    model_limit_field: str
    layers: tuple[Layer, ...]
    rotary_tables: tuple[RotaryTable, ...]
    final_norm_size: int
    quantization: Quantization | None = None
    names: ModuleNames = DECODER
    """What the engine calls the model's modules, by which checkpoints say how each is kept."""
    ends_on_every_stage: bool = False
    """Every pipeline stage holds embedding, head and final norm, whether it uses them or not."""
    embedding_on_every_stage: bool = False
    head_on_every_stage: bool = False
    embedding_is_whole: bool = False
    """Every rank holds all of the embedding, and not a row more than the vocabulary (Whisper)."""
    supports_pipeline: bool = True
    """Whether the engine's class can be dealt to the stages of a pipeline."""
    extra_buffer_bytes: int = 0
    head_bias: bool = False
    default_max_model_len: int | None = None
    """The longest request that the engine allows unasked; None: the longest of all."""
    reads_pictures_both_ways: bool = False
    """Tokens of one picture see each other, whichever comes first."""
    least_batched_tokens: int = 0
    """What the engine raises a batch to that it chooses itself, so that an item fits whole."""
    outer_tensors: tuple[OuterTensor, ...] = ()
    """What stands around the layers beside embedding, head and final norm: towers, projectors."""
    empty_towers: tuple[OuterTensor, ...] = ()
    """Towers of a model that is served for text: the engine builds them all the same, without
    weights, so that ranks must divide them. Source: vLLM 0.33.0, models/interfaces.py."""
    architecture_numbers: dict[str, int | float | bool | str] = field(default_factory=dict)
    defaulted: dict[str, object] = field(default_factory=dict)
    config_read: dict[str, object] = field(default_factory=dict)
    idle_overrides: tuple[str, ...] = ()
    """Numbers that a request changed, and that this model's config is not read for."""

    @property
    def num_attention_heads(self) -> int:
        """Query heads of the first layer with attention; 0 where there is none."""
        return int(self.architecture_numbers.get("num_attention_heads", 0))

    @property
    def num_key_value_heads(self) -> int:
        """Key-value heads of the first layer with attention; 0 where there is none."""
        return int(self.architecture_numbers.get("num_key_value_heads", 0))


# Fields of a model that say where it was read from, and those that no number of a config changes.
NOT_COMPARED: Final = frozenset(
    {"architecture_numbers", "config_read", "defaulted", "idle_overrides", "names", "quantization"}
)


def is_same(one: Model, other: Model) -> bool:
    """Whether two readings of one config come to the same model."""
    return all(
        getattr(one, each.name) == getattr(other, each.name)
        for each in fields(Model)
        if each.name not in NOT_COMPARED
    )


@lru_cache(maxsize=64)
def without_towers(model: Model) -> Model:
    """The model less what reads images and sound, as the engine serves it for text alone."""
    kept = tuple(outer for outer in model.outer_tensors if outer.tensor.component != "tower")
    empty = tuple(outer for outer in model.outer_tensors if outer.tensor.component == "tower")
    return replace(model, outer_tensors=kept, empty_towers=empty) if empty else model


def outer_tensors_elements(model: Model) -> int:
    """Elements of embedding, head, final norm, and of all else around the layers."""
    matrices = 1 if model.tie_word_embeddings else 2
    head_bias = model.vocab_size if model.head_bias else 0
    ends = matrices * model.vocab_size * model.hidden_size + head_bias + model.final_norm_size
    return ends + sum(
        outer.repeats * outer.tensor.num_elements
        for outer in model.outer_tensors
        if outer.in_checkpoint
    )


@lru_cache(maxsize=256)
def distinct_layers(model: Model) -> tuple[Layer, ...]:
    """One layer of each kind, in order of first appearance."""
    return tuple(dict.fromkeys(model.layers))


@lru_cache(maxsize=256)
def num_parameters(model: Model) -> int:
    """Parameters of the whole model, as a model card counts them."""
    counted: dict[Layer, int] = {}
    for layer in model.layers:
        if layer not in counted:
            counted[layer] = sum(t.num_elements for t in layer_tensors(layer, model.hidden_size))
    return outer_tensors_elements(model) + sum(counted[layer] for layer in model.layers)


@lru_cache(maxsize=256)
def num_active_parameters(model: Model) -> int:
    """Parameters that one token passes through: of routed experts, only those it is sent to."""
    idle: dict[Layer, int] = {}
    for layer in model.layers:
        if layer not in idle:
            idle[layer] = idle_elements(layer, model.hidden_size)
    return num_parameters(model) - sum(idle[layer] for layer in model.layers)


def idle_elements(layer: Layer, hidden_size: int) -> int:
    """Elements of the routed experts that one token is not sent to."""
    moe = layer.feed_forward
    if not isinstance(moe, MoeMlp):
        return 0
    routed = sum(t.num_elements for t in layer_tensors(layer, hidden_size) if is_routed(t))
    return routed // moe.num_experts * (moe.num_experts - moe.num_experts_per_tok)


def is_routed(tensor: Tensor) -> bool:
    """Whether a tensor belongs to routed experts."""
    return tensor.component == "experts"
