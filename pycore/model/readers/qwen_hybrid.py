"""Qwen3-Next and Qwen3.5: gated delta nets in three layers of four, attention in the fourth.

A layer for speculative decoding (mtp) is in checkpoints, but the engine does not load it.

Source: vLLM 0.33.0, model_executor/models/qwen3_next.py and qwen3_5.py; transformers 5.24.0,
models/qwen3_next and qwen3_5*/configuration_*.py.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import AnyMixer, DenseMlp, FeedForward, Layer, MoeMlp
from pycore.model.model import Model
from pycore.model.module_names import ModuleNames
from pycore.model.readers.assembly import Source, Surroundings, assemble, attention_of_layers
from pycore.model.readers.delta_mixers import read_qwen_gdn
from pycore.model.rotary import RotaryTable, read_rotary_table
from pycore.model.towers.qwen3 import read_qwen3_tower

ROTATED_SHARE: Final = 0.25
"""Of each head, unless the config says otherwise."""

# Methods whose kernels take no matrix as narrow as a shard of the gates' projections.
# Source: vLLM 0.33.0, layers/mamba/gdn/qwen_gdn_linear_attn.py, maybe_disable_tp.
PACKED: Final = ("awq", "awq_marlin", "gptq", "gptq_marlin", "auto-round")

# How checkpoints and the engine name modules, beside a tower and without one.
# Source: the hf_to_vllm_mapper of qwen3_vl.py and qwen3_5.py.
BESIDE_TOWER: Final = ModuleNames(
    layers="language_model.model.layers",
    head="language_model.lm_head",
    prefixes=(
        ("model.visual.", "visual."),
        ("lm_head.", "language_model.lm_head."),
        ("model.language_model.", "language_model.model."),
    ),
)
TEXT_ALONE: Final = ModuleNames(prefixes=(("model.language_model.", "model."),))


def qwen3_next(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Qwen3-Next: routed experts in each layer but those the config names."""
    text = text_reader(reader)
    dense_layers = text.sequence("mlp_only_layers") or ()
    step = text.integer("decoder_sparse_step")
    routed = read_moe(text)
    mixers = read_qwen_gdn(text)
    is_routed = [
        index not in dense_layers and (index + 1) % step == 0 for index in range(len(mixers))
    ]
    dense = routed if all(is_routed) else DenseMlp(text.integer("intermediate_size"))
    feed_forwards = [routed if expert else dense for expert in is_routed]
    layers = layers_of(mixers, feed_forwards, text.integer("hidden_size"))
    around = Surroundings(
        rotary_tables=read_tables(text, layers),
        embedding_on_every_stage=True,
        head_on_every_stage=True,
    )
    return assemble(Source(reader, text, architecture, name), layers, around)


def qwen3_5(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Qwen3.5 and 3.6: dense or routed in all layers, with a tower that reads images or without."""
    text = text_reader(reader)
    routed = "moe" in text.text("model_type", default=reader.text("model_type"))
    feed_forward = read_moe(text) if routed else DenseMlp(text.integer("intermediate_size"))
    mixers = read_qwen_gdn(text, is_packed=is_packed(reader))
    layers = layers_of(mixers, [feed_forward] * len(mixers), text.integer("hidden_size"))
    sees = architecture.endswith("ForConditionalGeneration")
    around = Surroundings(
        tie_word_embeddings=text.flag("tie_word_embeddings", default=False),
        rotary_tables=read_tables(text, layers),
        embedding_on_every_stage=True,
        outer_tensors=read_qwen3_tower(reader) if sees else (),
        names=BESIDE_TOWER if sees else TEXT_ALONE,
    )
    return assemble(Source(reader, text, architecture, name), layers, around)


def read_moe(text: ConfigReader) -> MoeMlp:
    """Routed experts, and a shared one with a gate of its own."""
    return MoeMlp(
        num_experts=text.integer("num_experts"),
        num_experts_per_tok=text.integer("num_experts_per_tok"),
        moe_intermediate_size=text.integer("moe_intermediate_size"),
        shared_intermediate_size=text.integer("shared_expert_intermediate_size", minimum=0),
        shared_expert_gate=True,
        shared_name="mlp.shared_expert",
        shared_is_whole_in_sequence=True,
        blackwell_routing=not text.has("norm_topk_prob")
        or text.flag("norm_topk_prob", default=True),
    )


def is_packed(reader: ConfigReader) -> bool:
    """Whether the checkpoint is quantised to integers that words hold several of."""
    section = reader.section("quantization_config")
    return section is not None and section.text("quant_method") in PACKED


def layers_of(
    mixers: Sequence[AnyMixer], feed_forwards: Sequence[FeedForward], hidden_size: int
) -> tuple[Layer, ...]:
    """The layers in order; alike ones are one object."""
    seen: dict[Layer, Layer] = {}
    layers = []
    for mixer, feed_forward in zip(mixers, feed_forwards, strict=True):
        layer = Layer(mixer, feed_forward, (hidden_size,) * 2)
        layers.append(seen.setdefault(layer, layer))
    return tuple(layers)


def read_tables(text: ConfigReader, layers: tuple[Layer, ...]) -> tuple[RotaryTable, ...]:
    """The rotary table of the layers with attention."""
    attention = attention_of_layers(layers)
    if attention is None:
        return ()
    positions = text.integer("max_position_embeddings")
    return (read_rotary_table(text, attention.head_dim, positions, default_share=ROTATED_SHARE),)


READERS: Final[Mapping[str, Callable[[ConfigReader, str, str], Model]]] = {
    "Qwen3NextForCausalLM": qwen3_next,
    "Qwen3_5ForCausalLM": qwen3_5,
    "Qwen3_5MoeForCausalLM": qwen3_5,
    "Qwen3_5ForConditionalGeneration": qwen3_5,
    "Qwen3_5MoeForConditionalGeneration": qwen3_5,
}
