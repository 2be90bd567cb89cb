"""The tensors of mixers that keep a state of fixed size.

Projections and convolutions are divided by channels or heads; where a Mamba 2 has one group only,
every rank holds it, as with key-value heads. The decay (A) stays in float32 whatever the model's
element type.

Source: vLLM 0.33.0, model_executor/layers/mamba (mamba_mixer.py, mamba_mixer2.py, short_conv.py,
gdn/), and model_executor/models/minimax_text_01.py of 0.22.0 for lightning attention.
"""

from collections.abc import Iterator
from typing import assert_never

from pycore.model.recurrent import (
    GatedDeltaNet,
    LinearAttention,
    Mamba1,
    Mamba2,
    ShortConvolution,
)
from pycore.model.tensors import Linear, Rows, Split, Tensor, Vector

Plain = Mamba1 | Mamba2 | GatedDeltaNet | LinearAttention | ShortConvolution


def recurrent_tensors(mixer: Plain, hidden_size: int, name: str = "") -> Iterator[Tensor]:
    """Every tensor of one mixer, whose module the engine calls ``name``."""
    match mixer:
        case Mamba1():
            yield from mamba1_tensors(mixer, hidden_size, name or "mixer")
        case Mamba2():
            yield from mamba2_tensors(mixer, hidden_size, name or "mixer")
        case GatedDeltaNet():
            yield from delta_net_tensors(mixer, hidden_size, name or "linear_attn")
        case LinearAttention():
            yield from lightning_tensors(mixer, hidden_size, name or "self_attn")
        case ShortConvolution():
            yield from short_convolution_tensors(mixer, hidden_size, name or "short_conv")
        case _:
            assert_never(mixer)


def convolution(name: str, rows: tuple[Rows, ...], kernel: int, *, bias: bool) -> Linear:
    """A short convolution over each channel by itself; never quantised."""
    return Linear("recurrent", name, rows, kernel, bias=bias, quantizable=False)


def output(name: str, hidden_size: int, columns: int, *, bias: bool = False) -> Linear:
    """The projection back to the model's width."""
    rows = (Rows(hidden_size, Split.REPLICATED),)
    return Linear("recurrent", name, rows, columns, columns_split=True, bias=bias)


def mamba1_tensors(mixer: Mamba1, hidden_size: int, name: str) -> Iterator[Tensor]:
    """Mamba: its projections are never quantised."""
    width, rank, states = mixer.intermediate_size, mixer.time_step_rank, mixer.state_size
    channels = (Rows(width),)
    linears = (
        Linear("recurrent", f"{name}.in_proj", channels * 2, hidden_size, bias=mixer.proj_bias),
        Linear(
            "recurrent",
            f"{name}.x_proj",
            (Rows(rank + 2 * states, Split.REPLICATED),),
            width,
            columns_split=True,
        ),
        Linear("recurrent", f"{name}.dt_proj", channels, rank, bias=True),
        output(f"{name}.out_proj", hidden_size, width, bias=mixer.proj_bias),
    )
    yield convolution(f"{name}.conv1d", channels, mixer.conv_kernel, bias=mixer.conv_bias)
    for linear in linears:
        yield unquantized(linear)
    yield Vector("recurrent", f"{name}.A", width * states, split=True, dtype="float32")
    yield Vector("recurrent", f"{name}.D", width, split=True)
    if mixer.inner_norms:
        yield Vector("recurrent", f"{name}.norms", rank + 2 * states)


def unquantized(linear: Linear) -> Linear:
    """A linear that an engine keeps in the model's element type whatever the checkpoint says."""
    return Linear(
        linear.component,
        linear.name,
        linear.rows,
        linear.columns,
        linear.columns_split,
        linear.bias,
        quantizable=False,
    )


def state_rows(mixer: Mamba2) -> tuple[Rows, Rows]:
    """Rows of the input and output maps of all groups; a lone group is on every rank."""
    rows = Rows(mixer.n_groups * mixer.state_size, Split.KV_HEADS, mixer.state_size)
    return rows, rows


def mamba2_input_rows(mixer: Mamba2) -> tuple[Rows, ...]:
    """What the input projection makes: gate, input, both maps of each group, time steps."""
    width = Rows(mixer.intermediate_size)
    return (width, width, *state_rows(mixer), Rows(mixer.num_heads))


def mamba2_convolution(mixer: Mamba2, name: str) -> Linear:
    """The convolution over the input and the maps of all groups."""
    rows = (Rows(mixer.intermediate_size), *state_rows(mixer))
    return convolution(name, rows, mixer.conv_kernel, bias=mixer.conv_bias)


def mamba2_tensors(mixer: Mamba2, hidden_size: int, name: str) -> Iterator[Tensor]:
    """Mamba 2."""
    yield mamba2_convolution(mixer, f"{name}.conv1d")
    rows = mamba2_input_rows(mixer)
    yield Linear("recurrent", f"{name}.in_proj", rows, hidden_size, bias=mixer.proj_bias)
    yield Vector("recurrent", f"{name}.A", mixer.num_heads, split=True, dtype="float32")
    yield Vector("recurrent", f"{name}.D", mixer.num_heads, split=True)
    yield Vector("recurrent", f"{name}.dt_bias", mixer.num_heads, split=True)
    yield output(f"{name}.out_proj", hidden_size, mixer.intermediate_size, bias=mixer.proj_bias)
    if mixer.gated_norm:
        yield Vector("recurrent", f"{name}.norm", mixer.intermediate_size, split=True)


def delta_net_tensors(mixer: GatedDeltaNet, hidden_size: int, name: str) -> Iterator[Tensor]:
    """The gated delta net: queries, keys, values and gate; then decay and strength a head."""
    keys = mixer.linear_num_key_heads * mixer.linear_key_head_dim
    values = mixer.linear_num_value_heads * mixer.linear_value_head_dim
    heads = mixer.linear_num_value_heads
    wide: tuple[Rows, ...] = (Rows(keys), Rows(keys), Rows(values), Rows(values))
    split = Split.REPLICATED if mixer.gates_are_whole else Split.EVEN
    narrow: tuple[Rows, ...] = (Rows(heads, split), Rows(heads, split))
    if mixer.interleaved:
        wide, narrow = (Rows(2 * keys + 2 * values),), (Rows(2 * heads),)
    channels = (Rows(2 * keys + values),)
    yield convolution(f"{name}.conv1d", channels, mixer.linear_conv_kernel_dim, bias=False)
    yield Linear("recurrent", f"{name}.in_proj_qkvz", wide, hidden_size)
    yield Linear("recurrent", f"{name}.in_proj_ba", narrow, hidden_size)
    yield Vector("recurrent", f"{name}.dt_bias", heads, split=True)
    yield Vector("recurrent", f"{name}.A_log", heads, split=True, dtype=mixer.decay_dtype)
    yield Vector("recurrent", f"{name}.norm", mixer.linear_value_head_dim)
    yield output(f"{name}.out_proj", hidden_size, values)


def lightning_tensors(mixer: LinearAttention, hidden_size: int, name: str) -> Iterator[Tensor]:
    """Lightning attention: queries, keys and values, a gate on the output, and its norm."""
    width = mixer.num_heads * mixer.head_dim
    yield Linear("recurrent", f"{name}.qkv_proj", (Rows(width),) * 3, hidden_size)
    yield Linear("recurrent", f"{name}.output_gate", (Rows(width),), hidden_size)
    yield Vector("recurrent", f"{name}.norm", width, split=True)
    yield output(f"{name}.out_proj", hidden_size, width)


def short_convolution_tensors(
    mixer: ShortConvolution, hidden_size: int, name: str
) -> Iterator[Tensor]:
    """LFM2's short convolution between two projections."""
    channels = (Rows(mixer.width),)
    yield convolution(f"{name}.conv1d", channels, mixer.conv_kernel, bias=mixer.bias)
    yield Linear("recurrent", f"{name}.in_proj", channels * 3, mixer.width, bias=mixer.bias)
    yield output(f"{name}.out_proj", hidden_size, mixer.width, bias=mixer.bias)
