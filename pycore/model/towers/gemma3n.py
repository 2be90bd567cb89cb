"""The towers of Gemma 3n: a convolutional network for pictures, a conformer for sound.

Both are transformers' own and whole on every rank; what leads from them to the text is divided.

Source: vLLM 0.33.0, model_executor/models/gemma3n_mm.py (Gemma3nMultimodalEmbedder); transformers
5.24.0, models/gemma3n/modeling_gemma3n.py and configuration_gemma3n.py.
"""

from collections.abc import Iterator
from typing import Final

from pycore.errors import UnsupportedModel
from pycore.model.config_fields import ConfigReader
from pycore.model.tensors import Linear, OuterTensor, Rows, Tensor, Vector
from pycore.model.towers.parts import TOWER, inward, made_here, norm, placed, whole

# Parameters of the convolutional network, by its name in timm, where its shape is fixed.
# Source: timm 1.0, models/mobilenetv5.py, built without weights; the count that is published for
# the whole of Gemma 3n agrees.
NETWORKS: Final = {"mobilenetv5_300m_enc": 294_126_912}

VISION: Final[dict[str, object]] = {
    "architecture": "mobilenetv5_300m_enc",
    "hidden_size": 2048,
    "vocab_size": 128,
}
AUDIO: Final[dict[str, object]] = {
    "hidden_size": 1536,
    "vocab_size": 128,
    "input_feat_size": 128,
    "conf_num_hidden_layers": 12,
    "conf_num_attention_heads": 8,
    "conf_conv_kernel_size": 5,
    "conf_attention_chunk_size": 12,
    "conf_attention_context_left": 13,
    "conf_attention_context_right": 0,
    "sscp_conv_channel_size": [128, 32],
}


def gemma3n_towers(reader: ConfigReader, text: ConfigReader) -> tuple[OuterTensor, ...]:
    """Both towers, and what leads to the text's width."""
    hidden_size = text.integer("hidden_size")
    vision, audio = reader.part("vision_config"), reader.part("audio_config")
    vision.completions = {**VISION, **vision.completions}
    audio.completions = {**AUDIO, **audio.completions}
    return (
        *vision_tower(vision),
        *placed(embedder("embed_vision", vision, hidden_size)),
        *audio_tower(audio),
        *placed(embedder("embed_audio", audio, hidden_size)),
    )


def vision_tower(vision: ConfigReader) -> Iterator[OuterTensor]:
    """The network by its name, counted as one."""
    network = vision.text("architecture", default="mobilenetv5_300m_enc")
    if network not in NETWORKS:
        raise UnsupportedModel(
            f"{vision.path}.architecture",
            "unsupported_architecture",
            f"a vision tower named {network[:40]} cannot be sized yet",
            tuple(NETWORKS),
        )
    yield from placed([norm("vision_tower.timm_model", NETWORKS[network], bias=False)])


def embedder(name: str, tower: ConfigReader, hidden_size: int) -> Iterator[Tensor]:
    """Embeddings of the tower's own tokens, two norms, and a projection."""
    width, tokens = tower.integer("hidden_size"), tower.integer("vocab_size")
    yield Linear(TOWER, f"{name}.embedding", (Rows(tokens),), width, quantizable=False)
    yield norm(f"{name}.norms", 2 * width, bias=False)
    yield inward(f"{name}.embedding_projection", hidden_size, width, bias=False)


def audio_tower(audio: ConfigReader) -> Iterator[OuterTensor]:
    """Two convolutions that halve twice, and conformer blocks."""
    width, depth = audio.integer("hidden_size"), audio.integer("conf_num_hidden_layers")
    channels = audio.sequence("sscp_conv_channel_size") or ()
    if len(channels) != 2:
        raise audio.invalid("sscp_conv_channel_size", list(channels), "two whole numbers")
    first, second = (audio.checked_integer("sscp_conv_channel_size", one) for one in channels)
    name = "audio_tower.subsample_conv_projection"
    yield from placed(
        (
            whole(f"{name}.conv_0.conv", first, 9),
            whole(f"{name}.conv_1.conv", second, 9 * first),
            norm(f"{name}.norms", first + second, bias=False),
            whole(
                f"{name}.input_proj_linear", width, audio.integer("input_feat_size") // 4 * second
            ),
        )
    )
    yield from placed(conformer_block(audio, width), depth)
    yield from made_here(conformer_buffers(audio, width), depth)


def conformer_block(audio: ConfigReader, width: int) -> Iterator[Tensor]:
    """Two half-step networks around an attention and a short convolution."""
    name = "audio_tower.conformer.0"
    head_dim = width // audio.heads_of(width, "conf_num_attention_heads")
    kernel = audio.integer("conf_conv_kernel_size")
    yield norm(f"{name}.norms", 9 * width + head_dim, bias=False)
    yield whole(f"{name}.ffw_in", 2 * 4 * width, width)
    yield whole(f"{name}.ffw_out", 2 * width, 4 * width)
    yield whole(f"{name}.attention", 5 * width, width)
    yield whole(f"{name}.lconv1d.linears", 3 * width, width)
    yield whole(f"{name}.lconv1d.depthwise_conv1d", width, kernel)


def conformer_buffers(audio: ConfigReader, width: int) -> Iterator[Tensor]:
    """Bounds, scales, a mask of a byte for each yes or no, and the angles of positions."""
    chunk = audio.integer("conf_attention_chunk_size")
    left = audio.integer("conf_attention_context_left", minimum=1)
    right = audio.integer("conf_attention_context_right", minimum=0)
    mask_bytes = chunk * (chunk + left - 1 + right)
    yield Vector(TOWER, "audio_tower.conformer.scales", 6 + (mask_bytes + 1) // 2)
    yield Vector(TOWER, "audio_tower.conformer.angles", 1 + width // 2, dtype="float32")
