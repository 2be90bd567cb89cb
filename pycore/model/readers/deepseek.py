"""DeepSeek V2 to V3.2 and what is built like them: GLM-5, GLM-4.7-Flash, Kimi-K2, Mistral Large 3.

Source: vLLM 0.33.0, model_executor/models/deepseek_v2.py, models/deepseek_v32/,
model_executor/models/glm4_moe_lite.py; transformers 5.24.0 for what configs leave out.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import AnyMixer, DenseMlp, FeedForward, Layer, MoeMlp
from pycore.model.model import Model
from pycore.model.readers.assembly import Source
from pycore.model.readers.latent_mixers import read_deepseek as read_mixers
from pycore.model.readers.latent_models import (
    Parts,
    assemble_latent,
    corrects_router,
    read_latent_rotary,
)

# Architectures that the engine runs without compiling; their scaled rotary tables are float32.
UNCOMPILED: Final = ("DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM")


def read_deepseek(reader: ConfigReader, architecture: str, name: str) -> Model:
    """A model of DeepSeek's kind: latent attention, a few dense layers, then routed experts."""
    text = text_reader(reader)
    return assemble_latent(Source(reader, text, architecture, name), read_parts(text, architecture))


def read_parts(text: ConfigReader, architecture: str) -> Parts:
    """The layers and rotary tables of a text model of DeepSeek's kind."""
    mixers = read_mixers(text)
    has_indexer = architecture in UNCOMPILED
    table = read_latent_rotary(text, is_compiled=not has_indexer)
    tables = 1
    if has_indexer and not text.flag("indexer_rope_interleave", default=False):
        # Keys of the indexer are rotated in another order, and so from a table of their own.
        tables = 2
    return Parts(
        layers=read_layers(text, mixers, architecture),
        num_attention_heads=text.integer("num_attention_heads"),
        rotary_tables=(table,) * tables,
    )


def read_layers(
    text: ConfigReader, mixers: tuple[AnyMixer, ...], architecture: str
) -> tuple[Layer, ...]:
    """The layers in order; alike ones are one object."""
    hidden_size = text.integer("hidden_size")
    width = text.integer("intermediate_size")
    dense = DenseMlp(width, is_whole_in_sequence=architecture in UNCOMPILED)
    routed = read_routed(text, len(mixers))
    sparse = read_experts(text, architecture) if any(routed) else None
    made: dict[tuple[int, bool], Layer] = {}
    layers = []
    for mixer, is_routed in zip(mixers, routed, strict=True):
        feed_forward: FeedForward = sparse if is_routed and sparse else dense
        key = (id(mixer), is_routed)
        if key not in made:
            made[key] = Layer(mixer, feed_forward, (hidden_size, hidden_size))
        layers.append(made[key])
    return tuple(layers)


def read_routed(text: ConfigReader, count: int) -> tuple[bool, ...]:
    """Which layers have routed experts."""
    if not text.has("n_routed_experts"):
        return (False,) * count
    first = text.integer("first_k_dense_replace", default=1, minimum=0)
    every = text.integer("moe_layer_freq", default=1)
    return tuple(index >= first and index % every == 0 for index in range(count))


def read_experts(text: ConfigReader, architecture: str) -> MoeMlp:
    """Routed and shared experts; the router of GLM's small sibling is kept in float32."""
    width = text.integer("moe_intermediate_size")
    is_glm_lite = architecture == "Glm4MoeLiteForCausalLM"
    has_bias = is_glm_lite or corrects_router(text)
    scoring = text.text("scoring_func", default="sigmoid" if is_glm_lite else "softmax")
    is_v2 = architecture == "DeepseekV2ForCausalLM"
    renormalises = text.flag("norm_topk_prob", default=not is_v2)
    return MoeMlp(
        num_experts=text.integer("n_routed_experts"),
        num_experts_per_tok=text.integer("num_experts_per_tok"),
        moe_intermediate_size=width,
        shared_intermediate_size=width
        * (text.optional_integer("n_shared_experts", minimum=0) or 0),
        router_bias=has_bias,
        router_dtype="float32" if is_glm_lite else None,
        shared_is_whole_in_sequence=not is_glm_lite,
        blackwell_routing=is_known_routing(scoring, corrects=has_bias, renormalises=renormalises),
    )


def is_known_routing(scoring: str, *, corrects: bool, renormalises: bool) -> bool:
    """Whether the kernels of a B200 route this way.

    Source: vLLM 0.33.0, fused_moe/config.py (get_routing_method_type),
    fused_moe/experts/trtllm_bf16_moe.py.
    """
    if scoring == "sigmoid":
        return renormalises or not corrects
    return scoring == "softmax" and renormalises and not corrects


READERS: Final[Mapping[str, Callable[[ConfigReader, str, str], Model]]] = dict.fromkeys(
    (
        "DeepseekV2ForCausalLM",
        "DeepseekV3ForCausalLM",
        "DeepseekV32ForCausalLM",
        "GlmMoeDsaForCausalLM",
        "Glm4MoeLiteForCausalLM",
        "MistralLarge3ForCausalLM",
    ),
    read_deepseek,
)
