"""Kimi K2.5 and its heirs, Kimi-Linear and Kimi-K3.

Source: vLLM 0.33.0, model_executor/models/kimi_k25.py, models/kimi_k3/nvidia/model.py,
transformers_utils/configs/kimi_linear.py for what configs leave out.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import AnyMixer, DenseMlp, FeedForward, Layer, MoeMlp
from pycore.model.model import Model
from pycore.model.module_names import ModuleNames
from pycore.model.readers.assembly import Source
from pycore.model.readers.deepseek import is_known_routing, read_parts
from pycore.model.readers.delta_mixers import read_kimi_linear as read_mixers
from pycore.model.readers.latent_models import Parts, assemble_latent
from pycore.model.tensors import Linear, OuterTensor, Place, Rows, Split, Tensor, Vector
from pycore.model.towers.moonvit import moonvit_tensors, read_moonvit

LEAST_EXPERT_WIDTH: Final = 256
"""What each rank holds of an expert at least; narrower slices are filled up with zeros."""

INSIDE_MULTIMODAL: Final = ModuleNames(
    layers="language_model.model.layers",
    head="language_model.lm_head",
    prefixes=(("language_model.layers.", "language_model.model.layers."),),
)


def read_kimi_k25(reader: ConfigReader, architecture: str, name: str) -> Model:
    """DeepSeek-V3's text model behind a vision tower."""
    text = text_reader(reader)
    parts = read_parts(text, "DeepseekV3ForCausalLM")
    tower = read_tower(reader, text, is_second=False)
    return assemble_latent(
        Source(reader, text, architecture, name), parts, names=INSIDE_MULTIMODAL, outer=tower
    )


def read_kimi_vl(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Kimi-VL: DeepSeek's text model behind the first of the towers, which knows no time.

    Source: vLLM 0.33.0, model_executor/models/kimi_vl.py and moonvit.py.
    """
    text = text_reader(reader)
    parts = read_parts(text, "DeepseekV3ForCausalLM")
    tower = read_tower(reader, text, is_second=False, sees_videos=False)
    return assemble_latent(
        Source(reader, text, architecture, name), parts, names=INSIDE_MULTIMODAL, outer=tower
    )


def read_kimi_k3(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Kimi-Linear's text model, larger, behind a vision tower."""
    text = text_reader(reader)
    outer = read_tower(reader, text, is_second=True) + read_residual_head(text)
    return assemble_latent(
        Source(reader, text, architecture, name),
        read_linear_parts(text),
        names=INSIDE_MULTIMODAL,
        outer=outer,
    )


def read_kimi_linear(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Delta attention in most layers and latent attention in the rest, without positions."""
    text = text_reader(reader)
    return assemble_latent(
        Source(reader, text, architecture, name),
        read_linear_parts(text),
        outer=read_residual_head(text),
    )


def read_tower(
    reader: ConfigReader, text: ConfigReader, *, is_second: bool, sees_videos: bool = True
) -> tuple[OuterTensor, ...]:
    """The vision tower; what the config leaves out of it is the config class's own."""
    vision = reader.section("vision_config")
    if vision is None:
        vision = ConfigReader({}, f"{reader.path}.vision_config")
        vision.defaulted = reader.defaulted
    width = text.integer("hidden_size")
    tower = read_moonvit(vision, width, is_second=is_second, sees_videos=sees_videos)
    return tuple(moonvit_tensors(tower))


def read_linear_parts(text: ConfigReader) -> Parts:
    """The layers of Kimi-Linear; alike ones are one object."""
    mixers = read_mixers(text)
    made: dict[tuple[int, bool], Layer] = {}
    layers = []
    for mixer, is_routed in zip(mixers, read_routed(text, len(mixers)), strict=True):
        key = (id(mixer), is_routed)
        if key not in made:
            made[key] = read_layer(text, mixer, is_routed=is_routed)
        layers.append(made[key])
    return Parts(layers=tuple(layers), num_attention_heads=text.integer("num_attention_heads"))


def read_routed(text: ConfigReader, count: int) -> tuple[bool, ...]:
    """Which layers have routed experts."""
    if not text.has("num_experts"):
        return (False,) * count
    first = text.integer("first_k_dense_replace", default=0, minimum=0)
    every = text.integer("moe_layer_freq", default=1)
    return tuple(index >= first and index % every == 0 for index in range(count))


def read_layer(text: ConfigReader, mixer: AnyMixer, *, is_routed: bool) -> Layer:
    """One layer, with what it reads earlier blocks of layers by (Kimi-K3)."""
    hidden_size = text.integer("hidden_size")
    feed_forward: FeedForward
    if is_routed:
        feed_forward = read_experts(text)
    else:
        width = text.integer("intermediate_size")
        feed_forward = DenseMlp(width, is_whole_in_sequence=True)
    extra: list[Tensor] = []
    if text.optional_integer("attn_res_block_size"):
        for own in ("self_attention_res", "mlp_res"):
            extra += residual_tensors(own, hidden_size)
    return Layer(
        mixer,
        feed_forward,
        (hidden_size, hidden_size),
        extra_tensors=tuple(extra),
        feed_forward_name="block_sparse_moe" if is_routed else "mlp",
    )


def read_experts(text: ConfigReader) -> MoeMlp:
    """Routed and shared experts; Kimi-K3's routed ones work in half the width."""
    width = text.integer("moe_intermediate_size")
    shared = text.integer("num_shared_experts", default=0, minimum=0)
    latent = text.optional_integer("routed_expert_hidden_size") or 0
    return MoeMlp(
        num_experts=text.integer("num_experts"),
        num_experts_per_tok=text.integer("num_experts_per_token", "num_experts_per_tok"),
        moe_intermediate_size=width,
        shared_intermediate_size=width * shared,
        shared_name="block_sparse_moe.shared_experts",
        shared_is_whole_in_sequence=True,
        router_bias=True,
        moe_latent_size=latent,
        latent_names=("routed_expert_down_proj", "routed_expert_up_proj"),
        latent_norm=bool(latent) and text.flag("latent_moe_use_norm", default=False),
        least_width_per_rank=text.optional_integer("min_moe_intermediate_per_partition")
        or LEAST_EXPERT_WIDTH,
        blackwell_routing=is_known_routing(
            text.text("moe_router_activation_func", default="sigmoid"),
            corrects=True,
            renormalises=text.flag("moe_renormalize", default=True),
        ),
    )


def read_residual_head(text: ConfigReader) -> tuple[OuterTensor, ...]:
    """What the head reads earlier blocks of layers by."""
    if not text.optional_integer("attn_res_block_size"):
        return ()
    hidden_size = text.integer("hidden_size")
    tensors = residual_tensors("output_attn_res", hidden_size)
    return tuple(OuterTensor(tensor, place=Place.LAST) for tensor in tensors)


def residual_tensors(name: str, hidden_size: int) -> Iterator[Tensor]:
    """A norm and one row that weighs the blocks of layers before."""
    yield Vector("norm", f"{name}_norm", hidden_size)
    rows = (Rows(1, Split.REPLICATED),)
    yield Linear("norm", f"{name}_proj", rows, hidden_size, quantizable=False)


READERS: Final[Mapping[str, Callable[[ConfigReader, str, str], Model]]] = {
    "KimiK25ForConditionalGeneration": read_kimi_k25,
    "KimiVLForConditionalGeneration": read_kimi_vl,
    "KimiK3ForConditionalGeneration": read_kimi_k3,
    "KimiLinearForCausalLM": read_kimi_linear,
}
