"""What each architecture fixes beyond the numbers of its config.

A family is a row: where biases and norms are, how many norms a layer has, whether the router has
corrections. The row says either the fact itself or the config field that holds it.
Source: the model classes of vLLM 0.33.0 (model_executor/models) and transformers 5.24.0.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Flag:
    """A yes or no of the config, with what transformers uses when the field is absent."""

    field: str
    default: bool = False


@dataclass(frozen=True, slots=True)
class Moe:
    """Where a family keeps the numbers of its experts, and which extras its layers have."""

    num_experts: tuple[str, ...] = ("num_experts", "num_local_experts", "n_routed_experts")
    experts_per_tok: tuple[str, ...] = ("num_experts_per_tok",)
    width: tuple[str, ...] = ("moe_intermediate_size",)
    shared_count: tuple[str, ...] = ()
    shared_width: tuple[str, ...] = ()
    shared_gate: bool = False
    router_bias: Flag | bool = False
    router_dtype: str | None = None
    first_dense: tuple[str, ...] = ()
    sparse_step: bool = False
    interval: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """What an architecture of uniform full attention fixes."""

    qkv_bias: Flag | bool = False
    output_bias: Flag | bool = False
    mlp_bias: Flag | bool = False
    qk_norm: str = "none"
    qk_norm_flag: Flag | None = None
    num_norms: int = 2
    norm_bias: bool = False
    gated: bool = True
    moe: Moe | None = None
    tied_default: bool = False
    ends_on_every_stage: bool = False
    transformers_backend: bool = False
    """Run through transformers' own classes: inverse frequencies instead of a rotary table."""
    prefer_model_max_length: bool = False


BIAS: Final = Flag("attention_bias")
LLAMA: Final = Family(qkv_bias=BIAS, output_bias=BIAS, mlp_bias=Flag("mlp_bias"))
QWEN3: Final = Family(qkv_bias=BIAS, output_bias=BIAS, qk_norm="head")
ERNIE_BIAS: Final = Flag("use_bias")
DEEPSEEK_STYLE: Final = Moe(
    num_experts=("n_routed_experts",),
    shared_count=("n_shared_experts",),
    router_bias=True,
    router_dtype="float32",
    first_dense=("first_k_dense_replace",),
)

FAMILIES: Final[dict[str, Family]] = {
    "LlamaForCausalLM": LLAMA,
    "AquilaForCausalLM": LLAMA,
    "GraniteForCausalLM": LLAMA,
    "SmolLM3ForCausalLM": Family(
        qkv_bias=BIAS, output_bias=BIAS, mlp_bias=Flag("mlp_bias"), tied_default=True
    ),
    "MistralForCausalLM": Family(),
    "Phi3ForCausalLM": Family(),
    "InternLM2ForCausalLM": Family(qkv_bias=Flag("bias"), output_bias=Flag("bias")),
    "InternLM3ForCausalLM": Family(
        qkv_bias=Flag("qkv_bias"), output_bias=Flag("bias"), mlp_bias=Flag("bias")
    ),
    "Qwen2ForCausalLM": Family(qkv_bias=True),
    "Qwen3ForCausalLM": QWEN3,
    "SeedOssForCausalLM": Family(
        qkv_bias=Flag("attention_bias", default=True), output_bias=Flag("attention_out_bias")
    ),
    "Olmo2ForCausalLM": Family(
        qkv_bias=BIAS, output_bias=BIAS, qk_norm="full", transformers_backend=True
    ),
    "CohereForCausalLM": Family(
        qkv_bias=BIAS,
        output_bias=BIAS,
        qk_norm="full_split",
        qk_norm_flag=Flag("use_qk_norm"),
        num_norms=1,
        tied_default=True,
        prefer_model_max_length=True,
    ),
    "GemmaForCausalLM": Family(qkv_bias=BIAS, output_bias=BIAS, tied_default=True),
    "Glm4ForCausalLM": Family(qkv_bias=BIAS, num_norms=4),
    "Ernie4_5ForCausalLM": Family(
        qkv_bias=ERNIE_BIAS, output_bias=ERNIE_BIAS, mlp_bias=ERNIE_BIAS, tied_default=True
    ),
    "MixtralForCausalLM": Family(moe=Moe(width=("intermediate_size",))),
    "Qwen2MoeForCausalLM": Family(
        qkv_bias=Flag("qkv_bias", default=True),
        moe=Moe(
            shared_width=("shared_expert_intermediate_size",), shared_gate=True, sparse_step=True
        ),
    ),
    "Qwen3MoeForCausalLM": Family(
        qkv_bias=BIAS,
        output_bias=BIAS,
        qk_norm="head",
        moe=Moe(sparse_step=True),
        ends_on_every_stage=True,
    ),
    "Glm4MoeForCausalLM": Family(
        qkv_bias=BIAS, qk_norm="head", qk_norm_flag=Flag("use_qk_norm"), moe=DEEPSEEK_STYLE
    ),
    "Dots1ForCausalLM": Family(qkv_bias=BIAS, qk_norm="head", moe=DEEPSEEK_STYLE),
    "Ernie4_5_MoeForCausalLM": Family(
        qkv_bias=ERNIE_BIAS,
        output_bias=ERNIE_BIAS,
        mlp_bias=ERNIE_BIAS,
        moe=Moe(
            num_experts=("moe_num_experts",),
            experts_per_tok=("moe_k",),
            shared_count=("moe_num_shared_experts",),
            router_bias=True,
            router_dtype="float32",
            interval=True,
        ),
        tied_default=True,
    ),
    "HunYuanMoEV1ForCausalLM": Family(
        qkv_bias=BIAS,
        output_bias=BIAS,
        qk_norm="head",
        qk_norm_flag=Flag("use_qk_norm"),
        moe=Moe(
            experts_per_tok=("moe_topk",),
            width=("moe_intermediate_size", "intermediate_size"),
            shared_count=("num_shared_expert",),
        ),
        transformers_backend=True,
    ),
    "MiniMaxM2ForCausalLM": Family(
        qk_norm="full_split",
        qk_norm_flag=Flag("use_qk_norm", default=True),
        moe=Moe(
            num_experts=("num_local_experts",),
            width=("intermediate_size",),
            router_bias=Flag("use_routing_bias"),
            router_dtype="float32",
        ),
    ),
}

# Architectures that are known, with what stands in the way of sizing them.
NOT_YET: Final[dict[str, str]] = {
    "Gemma2ForCausalLM": "sliding-window layers",
    "Gemma3ForCausalLM": "sliding-window layers",
    "Gemma3ForConditionalGeneration": "sliding-window layers",
    "GptOssForCausalLM": "sliding-window layers",
    "BambaForCausalLM": "vLLM 0.33 has no class of its own for it, and cannot run transformers'",
    "Llama4ForConditionalGeneration": "chunked local attention",
}
