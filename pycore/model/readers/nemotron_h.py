"""Nemotron-H and its heirs: each layer is a Mamba 2, an attention or a feed-forward, with one norm.

Layers for speculative decoding (mtp) are in checkpoints, but the engine does not load them.

Source: vLLM 0.33.0, model_executor/models/nemotron_h.py; transformers 5.24.0,
models/nemotron_h/configuration_nemotron_h.py.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import DenseMlp, FeedForward, Layer, MoeMlp
from pycore.model.model import Model
from pycore.model.module_names import ModuleNames
from pycore.model.readers.assembly import Source, Surroundings, assemble
from pycore.model.readers.recurrent_mixers import read_nemotron_h, read_nemotron_kinds

MODULE: Final = "mixer"
"""What every layer's one module is called, whatever it is."""

# Source: the hf_to_vllm_mapper of nemotron_h.py.
NAMES: Final = ModuleNames(
    prefixes=(("backbone", "model"),), parts=(("embeddings", "embed_tokens"),)
)


def nemotron_h(reader: ConfigReader, architecture: str, name: str) -> Model:
    """A model whose pattern says what each of its layers is; it has no rotary table."""
    text = text_reader(reader)
    around = Surroundings(
        ends_on_every_stage=True,
        names=NAMES,
    )
    return assemble(Source(reader, text, architecture, name), read_layers(text), around)


def read_layers(text: ConfigReader) -> tuple[Layer, ...]:
    """The layers in order; alike ones are one object."""
    norms = (text.integer("hidden_size"),)
    mixers, kinds = read_nemotron_h(text), read_nemotron_kinds(text)
    widths = iter(read_widths(text, kinds.count("mlp")))
    moe = read_moe(text) if "moe" in kinds else None
    bias = text.flag("mlp_bias", default=False)
    seen: dict[Layer, Layer] = {}
    layers = []
    for mixer, kind in zip(mixers, kinds, strict=True):
        feed_forward: FeedForward | None = moe if kind == "moe" else None
        if kind == "mlp":
            feed_forward = DenseMlp(next(widths), gated=False, bias=bias)
        layer = Layer(mixer, feed_forward, norms, mixer_name=MODULE, feed_forward_name=MODULE)
        layers.append(seen.setdefault(layer, layer))
    return tuple(layers)


def read_widths(text: ConfigReader, count: int) -> tuple[int, ...]:
    """The width of each dense feed-forward: one for all, or a list in their order."""
    if not isinstance(text.raw("intermediate_size"), list):
        return (text.integer("intermediate_size"),) * count
    listed = text.sequence("intermediate_size") or ()
    widths = tuple(text.checked_integer("intermediate_size", width) for width in listed)
    if len(widths) == 1:
        return widths * count
    if len(widths) < count:
        raise text.invalid("intermediate_size", list(widths), f"{count} widths")
    return widths


def read_moe(text: ConfigReader) -> MoeMlp:
    """Routed experts without a gate; from Nemotron 3 Super on in a narrower width of their own."""
    shared = text.integer("n_shared_experts", minimum=0)
    return MoeMlp(
        num_experts=text.integer("n_routed_experts"),
        num_experts_per_tok=text.integer("num_experts_per_tok"),
        moe_intermediate_size=text.integer("moe_intermediate_size"),
        shared_intermediate_size=shared
        and shared * text.integer("moe_shared_expert_intermediate_size"),
        router_bias=True,
        router_bias_counts=False,
        router_needs_kernels=True,
        gated=False,
        moe_latent_size=text.optional_integer("moe_latent_size") or 0,
        latent_bias=text.flag("mlp_bias", default=False),
        shared_name=f"{MODULE}.shared_experts",
        shared_is_whole_in_sequence=True,
        blackwell_routing=not text.has("norm_topk_prob")
        or text.flag("norm_topk_prob", default=True),
    )


READERS: Final[Mapping[str, Callable[[ConfigReader, str, str], Model]]] = {
    "NemotronHForCausalLM": nemotron_h,
}
