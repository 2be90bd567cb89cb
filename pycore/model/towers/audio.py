"""Towers that hear: the encoders of Qwen's Omni models.

Qwen2.5's is transformers' own and whole on each rank; Qwen3's is divided where its heads are.
Source: vLLM 0.33.0, model_executor/models/qwen2_5_omni_thinker.py and qwen3_omni_moe_thinker.py;
transformers 5.24.0, models/qwen2_5_omni for what configs leave out.
"""

from collections.abc import Iterator
from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.tensors import Linear, OuterTensor, Rows, Split, Tensor, Vector
from pycore.model.towers.parts import TOWER, made_here, norm, placed, whole

DEFAULTS: Final[dict[str, object]] = {
    "num_mel_bins": 128,
    "encoder_layers": 32,
    "encoder_attention_heads": 20,
    "encoder_ffn_dim": 5120,
    "d_model": 1280,
    "max_source_positions": 1500,
    "output_dim": 3584,
    "downsample_hidden_size": 480,
}
SIDE: Final = 3
"""Frames, and bands of frequency, that a convolution looks at."""


def qwen2_5_hearing(audio: ConfigReader) -> tuple[OuterTensor, ...]:
    """Two convolutions, blocks that every rank holds whole, and one linear to the text."""
    audio.completions = {**DEFAULTS, **audio.completions}
    width, output = audio.integer("d_model"), audio.integer("output_dim")
    ends = (
        whole("audio_tower.conv1", width, SIDE * audio.integer("num_mel_bins"), bias=True),
        whole("audio_tower.conv2", width, SIDE * width, bias=True),
        whole("audio_tower.audio_bos_eos_token", 2, output),
        norm("audio_tower.ln_post", width),
        whole("audio_tower.proj", output, width, bias=True),
    )
    return (
        *placed(ends),
        *placed(whole_block(audio, width), audio.integer("encoder_layers")),
        *made_here([positions(audio, width)]),
    )


def whole_block(audio: ConfigReader, width: int) -> Iterator[Tensor]:
    """One block of transformers' class: keys alone have no bias."""
    name = "audio_tower.layers.0"
    wide = audio.integer("encoder_ffn_dim")
    yield norm(f"{name}.norms", 2 * width)
    yield whole(f"{name}.self_attn.q_proj", width, width, bias=True)
    yield whole(f"{name}.self_attn.k_proj", width, width)
    yield whole(f"{name}.self_attn.v_proj", width, width, bias=True)
    yield whole(f"{name}.self_attn.out_proj", width, width, bias=True)
    yield whole(f"{name}.fc1", wide, width, bias=True)
    yield whole(f"{name}.fc2", width, wide, bias=True)


def qwen3_hearing(audio: ConfigReader) -> tuple[OuterTensor, ...]:
    """Three convolutions in time and frequency, blocks, and two linears to the text."""
    audio.completions = {**DEFAULTS, **audio.completions}
    width, output = audio.integer("d_model"), audio.integer("output_dim")
    depth = audio.integer("downsample_hidden_size")
    bands = audio.integer("num_mel_bins")
    for _ in range(3):
        bands = (bands + 1) // 2
    ends = (
        whole("audio_tower.conv2d1", depth, SIDE**2, bias=True),
        whole("audio_tower.conv2d2", depth, depth * SIDE**2, bias=True),
        whole("audio_tower.conv2d3", depth, depth * SIDE**2, bias=True),
        whole("audio_tower.conv_out", width, depth * bands),
        norm("audio_tower.ln_post", width),
        whole("audio_tower.proj1", width, width, bias=True),
        whole("audio_tower.proj2", output, width, bias=True),
    )
    return (
        *placed(ends),
        *placed(divided_block(audio, width), audio.integer("encoder_layers")),
        *made_here([positions(audio, width)]),
    )


def divided_block(audio: ConfigReader, width: int) -> Iterator[Tensor]:
    """One block, whole on each rank where ranks do not divide its heads."""
    name = "audio_tower.layers.0"
    heads = audio.heads_of(width, "encoder_attention_heads")
    wide = audio.integer("encoder_ffn_dim")
    yield norm(f"{name}.norms", 2 * width)
    for own, rows, columns in (
        ("self_attn.qkv_proj", (Rows(width),) * 3, width),
        ("fc1", (Rows(wide),), width),
    ):
        yield Linear(TOWER, f"{name}.{own}", rows, columns, bias=True, split_heads=heads)
    kept = (Rows(width, Split.REPLICATED),)
    for own, columns in (("self_attn.out_proj", width), ("fc2", wide)):
        yield Linear(
            TOWER,
            f"{name}.{own}",
            kept,
            columns,
            columns_split=True,
            bias=True,
            bias_split=False,
            split_heads=heads,
        )


def positions(audio: ConfigReader, width: int) -> Vector:
    """The table of positions, which is computed."""
    return Vector(
        TOWER,
        "audio_tower.positional_embedding",
        audio.integer("max_source_positions") * width,
        dtype="float32",
    )
