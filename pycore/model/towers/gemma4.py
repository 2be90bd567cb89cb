"""The towers of Gemma 4 that read pictures and sound: transformers' own, whole on every rank.

Linears that clip what goes in and out keep four bounds each.

Source: vLLM 0.33.0, model_executor/models/gemma4_mm.py; transformers 5.24.0,
models/gemma4/modeling_gemma4.py and configuration_gemma4.py.
"""

from collections.abc import Iterator
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.tensors import OuterTensor, Tensor, Vector
from pycore.model.towers.parts import TOWER, made_here, norm, placed, whole

BOUNDS: Final = 4
"""Least and greatest, of what goes in and of what comes out."""

VISION: Final[dict[str, object]] = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 16,
    "num_attention_heads": 12,
    "num_key_value_heads": 12,
    "head_dim": 64,
    "patch_size": 16,
    "position_embedding_size": 10240,
    "use_clipped_linears": False,
    "standardize": False,
}
AUDIO: Final[dict[str, object]] = {
    "hidden_size": 1024,
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
    "subsampling_conv_channels": [128, 32],
    "conv_kernel_size": 5,
    "use_clipped_linears": True,
    "output_proj_dims": 1536,
}


def gemma4_towers(reader: ConfigReader, text: ConfigReader) -> tuple[OuterTensor, ...]:
    """The towers that the config has: a null is none, and so is an absent one."""
    hidden_size = text.integer("hidden_size")
    towers: list[OuterTensor] = []
    vision, audio = reader.section("vision_config"), reader.section("audio_config")
    if vision is not None:
        vision.completions = {**VISION, **vision.completions}
        towers += vision_tower(vision, hidden_size)
    if audio is not None:
        audio.completions = {**AUDIO, **audio.completions}
        towers += audio_tower(audio, hidden_size)
    return tuple(towers)


def vision_tower(vision: ConfigReader, text_width: int) -> Iterator[OuterTensor]:
    """Patches with positions along two sides, blocks with four norms, and a way to the text."""
    width, depth = vision.integer("hidden_size"), vision.integer("num_hidden_layers")
    patch = 3 * vision.integer("patch_size") ** 2
    positions = 2 * vision.integer("position_embedding_size")
    yield from placed(
        (
            whole("vision_tower.patch_embedder.input_proj", width, patch),
            whole("vision_tower.patch_embedder.position_embedding_table", positions, width),
            whole("embed_vision.embedding_projection", text_width, width),
        )
    )
    yield from placed(vision_block(vision, width), depth)
    # Inverse frequencies twice over, for each of two sides a quarter of a head.
    head_dim = vision.integer("head_dim")
    yield from made_here(
        [Vector(TOWER, "vision_tower.inv_freq", head_dim // 4 * 2, dtype="float32")]
    )
    if vision.flag("standardize", default=False):
        yield from made_here([Vector(TOWER, "vision_tower.std", 2 * width)])
    if vision.flag("use_clipped_linears", default=False):
        yield from made_here([Vector(TOWER, "vision_tower.bounds", 7 * BOUNDS)], depth)


def vision_block(vision: ConfigReader, width: int) -> Iterator[Tensor]:
    """Attention with normed queries and keys, and a gated network."""
    name = "vision_tower.encoder.layers.0"
    head_dim = vision.integer("head_dim")
    heads = vision.integer("num_attention_heads") * head_dim
    kv_heads = vision.integer("num_key_value_heads") * head_dim
    wide = vision.integer("intermediate_size")
    yield norm(f"{name}.norms", 4 * width + 2 * head_dim, bias=False)
    yield whole(f"{name}.self_attn.qkv", heads + 2 * kv_heads, width)
    yield whole(f"{name}.self_attn.o_proj", width, heads)
    yield whole(f"{name}.mlp.gate_up", 2 * wide, width)
    yield whole(f"{name}.mlp.down_proj", width, wide)


def audio_tower(audio: ConfigReader, text_width: int) -> Iterator[OuterTensor]:
    """Two convolutions that halve twice, conformer blocks, and a way to the text."""
    width, depth = audio.integer("hidden_size"), audio.integer("num_hidden_layers")
    out = audio.integer("output_proj_dims")
    first, second = read_channels(audio)
    yield from placed(
        (
            whole("audio_tower.layer0.conv", first, 9),
            whole("audio_tower.layer1.conv", second, first * 9),
            norm("audio_tower.conv_norms", first + second, bias=False),
            whole("audio_tower.input_proj_linear", width, first // 4 * second),
            whole("audio_tower.output_proj", out, width, bias=True),
            whole("embed_audio.embedding_projection", text_width, out),
        )
    )
    yield from placed(audio_block(audio, width), depth)
    yield from made_here([Vector(TOWER, "audio_tower.rel_pos_enc", width // 2)])
    yield from made_here([Vector(TOWER, "audio_tower.softcap", 1)], depth)
    if audio.flag("use_clipped_linears", default=True):
        yield from made_here([Vector(TOWER, "audio_tower.bounds", 10 * BOUNDS)], depth)


def read_channels(audio: ConfigReader) -> tuple[int, int]:
    """Channels of the two convolutions."""
    name = "subsampling_conv_channels"
    channels = audio.sequence(name) or ()
    if len(channels) != 2:
        raise audio.invalid(name, list(channels), "two whole numbers")
    first, second = (audio.checked_integer(name, channel) for channel in channels)
    return first, second


def audio_block(audio: ConfigReader, width: int) -> Iterator[Tensor]:
    """Two half-step networks around an attention and a short convolution."""
    name = "audio_tower.layers.0"
    head_dim = width // audio.heads_of(width, "num_attention_heads")
    yield norm(f"{name}.norms", 9 * width, bias=False)
    yield whole(f"{name}.feed_forwards.in", 2 * 4 * width, width)
    yield whole(f"{name}.feed_forwards.out", 2 * width, 4 * width)
    yield whole(f"{name}.self_attn", 5 * width, width)
    yield norm(f"{name}.self_attn.per_dim_scale", head_dim, bias=False)
    yield whole(f"{name}.lconv1d.linears", 3 * width, width)
    yield whole(f"{name}.lconv1d.depthwise_conv1d", width, audio.integer("conv_kernel_size"))
