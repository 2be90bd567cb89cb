"""Mixers that keep a state of fixed size, however long the request: the shapes of that state.

Each has a short convolution over the last few inputs, and most have a recurrent matrix a head.
Numbers are of the whole model; an engine divides them over its ranks.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mamba1:
    """The selective state space of Mamba and Jamba: a vector of states a channel."""

    intermediate_size: int
    state_size: int
    conv_kernel: int
    ssm_dtype: str | None = None
    """Element type of the recurrent state; None is the model's. The same in every class here."""
    time_step_rank: int = 0
    """Width of what the time steps are projected from."""
    conv_bias: bool = True
    proj_bias: bool = False
    inner_norms: bool = False
    """Norms on the time step and on both of its companions (Jamba)."""


@dataclass(frozen=True, slots=True)
class Mamba2:
    """Mamba 2: one matrix of head_dim times state_size a head."""

    num_heads: int
    head_dim: int
    n_groups: int
    state_size: int
    conv_kernel: int
    intermediate_size: int
    """num_heads * head_dim in every published model, but stated apart in their configs."""
    ssm_dtype: str | None = None
    conv_bias: bool = True
    proj_bias: bool = False
    gated_norm: bool = True
    """A norm before the output projection, divided over the ranks."""
    multipliers: bool = False
    """A factor for each row of the input projection, which an engine keeps (Falcon-H1)."""


@dataclass(frozen=True, slots=True)
class GatedDeltaNet:
    """The gated delta rule of Qwen3-Next and Qwen3.5."""

    linear_num_key_heads: int
    linear_num_value_heads: int
    linear_key_head_dim: int
    linear_value_head_dim: int
    linear_conv_kernel_dim: int
    ssm_dtype: str | None = None
    flashinfer_prefill: bool = True
    """False for models whose class runs other kernels (OLMo Hybrid)."""
    interleaved: bool = False
    """Projections stored as one matrix, head by head (Qwen3-Next), not as a few."""
    decay_dtype: str | None = "float32"
    """Element type of A_log; None is the model's."""
    gates_are_whole: bool = False
    """Every rank holds the narrow projections, whose shards kernels of packed integers refuse."""


@dataclass(frozen=True, slots=True)
class KimiDeltaAttention:
    """Kimi's delta attention: its recurrent state is float32 unless the engine is told else."""

    num_heads: int
    head_dim: int
    conv_kernel: int
    ssm_dtype: str | None = "float32"
    has_bounded_gate: bool = False
    """Kimi-K3's gate has a lower bound, which fast kernels rely on; Kimi-Linear's has none."""
    full_rank_gate: bool = False
    """The output gate is one matrix of full rank (Kimi-K3), not two of low rank (Kimi-Linear)."""


@dataclass(frozen=True, slots=True)
class LinearAttention:
    """Lightning attention (Ring, Ling): one square matrix a head, no convolution."""

    num_heads: int
    head_dim: int


@dataclass(frozen=True, slots=True)
class ShortConvolution:
    """LFM2's mixer: nothing but the last inputs of a short convolution."""

    width: int
    conv_kernel: int
    bias: bool = False


Recurrent = (
    Mamba1 | Mamba2 | GatedDeltaNet | KimiDeltaAttention | LinearAttention | ShortConvolution
)
