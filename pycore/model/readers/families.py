"""What each architecture fixes beyond the numbers of its config.

A family is a row: where biases and norms are, how many norms a layer has, whether the router has
corrections. The row says either the fact itself or the config field that holds it.
Source: the model classes of vLLM 0.33.0 (model_executor/models) and transformers 5.24.0.
"""

from dataclasses import replace
from typing import Final

from pycore.model.readers.family import Family, Flag, Moe
from pycore.model.readers.rarer_families import RARER_FAMILIES
from pycore.model.readers.rope import gemma3_rope, half_rope

BIAS: Final = Flag("attention_bias")
LLAMA: Final = Family(qkv_bias=BIAS, output_bias=BIAS, mlp_bias=Flag("mlp_bias"))
QWEN3: Final = Family(qkv_bias=BIAS, output_bias=BIAS, qk_norm="head")
ERNIE_BIAS: Final = Flag("use_bias")
DEEPSEEK_STYLE: Final = Moe(
    num_experts=("n_routed_experts",),
    shared_count=("n_shared_experts",),
    blackwell_routing=Flag("norm_topk_prob", default=True),
    router_bias=True,
    router_dtype="float32",
    first_dense=("first_k_dense_replace",),
)

GLM4: Final = Family(qkv_bias=BIAS, num_norms=4, rope=half_rope)
LLAMA4: Final = Family(
    qkv_bias=BIAS,
    output_bias=BIAS,
    feed_forward_name="feed_forward",
    dense_width=("intermediate_size_mlp",),
    moe=Moe(
        num_experts=("num_local_experts",),
        width=("intermediate_size",),
        shared_as_wide=True,
        shared_is_whole_in_sequence=True,
        shared_name="feed_forward.shared_expert",
        interleave="interleave_moe_layer_step",
    ),
)
CHATGLM: Final = Family(rope=half_rope, ends_on_every_stage=True)
FALCON: Final = Family(
    ends_on_every_stage=True,
    qkv_bias=Flag("bias"),
    output_bias=Flag("bias"),
    mlp_bias=Flag("bias"),
    norm_bias=True,
    gated=False,
    tied_default=True,
)
GPT_BIGCODE: Final = Family(
    qkv_bias=True,
    output_bias=True,
    mlp_bias=True,
    norm_bias=True,
    gated=False,
    mlp_whole=True,
    tied_default=True,
    rotates=False,
)
GEMMA3: Final = Family(
    qkv_bias=BIAS,
    output_bias=BIAS,
    qk_norm="head",
    num_norms=4,
    tied_default=True,
    rope=gemma3_rope,
    scales_embeddings=True,
    ends_on_every_stage=True,
)

FAMILIES: Final[dict[str, Family]] = RARER_FAMILIES | {
    "LlamaForCausalLM": LLAMA,
    "AquilaForCausalLM": LLAMA,
    "LLaMAForCausalLM": LLAMA,
    "IQuestCoderForCausalLM": LLAMA,
    "BaichuanForCausalLM": Family(),
    "GraniteForCausalLM": LLAMA,
    "SmolLM3ForCausalLM": Family(
        transformers_backend=True,
        qkv_bias=BIAS,
        output_bias=BIAS,
        mlp_bias=Flag("mlp_bias"),
        tied_default=True,
    ),
    "MistralForCausalLM": Family(),
    "Phi3ForCausalLM": Family(),
    "Qwen2ForCausalLM": Family(qkv_bias=True),
    "Qwen3ForCausalLM": QWEN3,
    "SeedOssForCausalLM": Family(
        transformers_backend=True,
        qkv_bias=Flag("attention_bias", default=True),
        output_bias=Flag("attention_out_bias"),
    ),
    "Olmo2ForCausalLM": Family(
        qkv_bias=BIAS, output_bias=BIAS, qk_norm="full", transformers_backend=True
    ),
    "CohereForCausalLM": Family(
        ends_on_every_stage=True,
        ties=True,
        qkv_bias=BIAS,
        output_bias=BIAS,
        qk_norm="full_split",
        qk_norm_flag=Flag("use_qk_norm"),
        num_norms=1,
        prefer_model_max_length=True,
    ),
    "GemmaForCausalLM": Family(
        ends_on_every_stage=True,
        qkv_bias=BIAS,
        output_bias=BIAS,
        tied_default=True,
        scales_embeddings=True,
    ),
    "Glm4ForCausalLM": GLM4,
    "Ernie4_5ForCausalLM": Family(
        qkv_bias=ERNIE_BIAS, output_bias=ERNIE_BIAS, mlp_bias=ERNIE_BIAS, tied_default=True
    ),
    "MixtralForCausalLM": Family(ends_on_every_stage=True, moe=Moe(width=("intermediate_size",))),
    "Qwen2MoeForCausalLM": Family(
        qkv_bias=Flag("qkv_bias", default=True),
        ends_on_every_stage=True,
        moe=Moe(
            shared_width=("shared_expert_intermediate_size",),
            shared_gate=True,
            sparse_step=True,
            blackwell_routing=Flag("norm_topk_prob"),
        ),
    ),
    "Qwen3MoeForCausalLM": Family(
        qkv_bias=BIAS,
        output_bias=BIAS,
        qk_norm="head",
        moe=Moe(
            shared_width=("shared_expert_intermediate_size",),
            shared_gate=True,
            sparse_step=True,
            blackwell_routing=Flag("norm_topk_prob"),
        ),
        ends_on_every_stage=True,
    ),
    "Glm4MoeForCausalLM": Family(
        ties=False,
        qkv_bias=BIAS,
        qk_norm="head",
        qk_norm_flag=Flag("use_qk_norm"),
        moe=DEEPSEEK_STYLE,
        rope=half_rope,
    ),
    "Dots1ForCausalLM": Family(
        qkv_bias=BIAS,
        qk_norm="head",
        moe=replace(DEEPSEEK_STYLE, router_dtype=None, blackwell_routing=Flag("norm_topk_prob")),
        transformers_backend=True,
    ),
    "Ernie4_5_MoeForCausalLM": Family(
        ties_break_pipeline=True,
        qkv_bias=ERNIE_BIAS,
        output_bias=ERNIE_BIAS,
        mlp_bias=ERNIE_BIAS,
        moe=Moe(
            num_experts=("moe_num_experts",),
            blackwell_routing=False,
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
            blackwell_routing=False,
            width=("moe_intermediate_size", "intermediate_size"),
            shared_count=("num_shared_expert",),
        ),
        transformers_backend=True,
    ),
    "MiniMaxM2ForCausalLM": Family(
        ties=False,
        qk_norm="full_split",
        qk_norm_flag=Flag("use_qk_norm", default=True),
        moe=Moe(
            num_experts=("num_local_experts",),
            width=("intermediate_size",),
            router_bias=Flag("use_routing_bias"),
            router_dtype="float32",
        ),
    ),
    "Llama4ForCausalLM": LLAMA4,
    "Ministral3ForCausalLM": Family(),
    "MiMoForCausalLM": Family(qkv_bias=Flag("attention_bias", default=True)),
    "ExaoneForCausalLM": LLAMA,
    "MiniCPMForCausalLM": Family(ends_on_every_stage=True, tied_default=True),
    "Gemma2ForCausalLM": Family(
        ends_on_every_stage=True,
        qkv_bias=BIAS,
        output_bias=BIAS,
        num_norms=4,
        ties=True,
        scales_embeddings=True,
    ),
    "Gemma3ForCausalLM": GEMMA3,
    "Cohere2ForCausalLM": Family(
        ends_on_every_stage=True, num_norms=1, ties=True, prefer_model_max_length=True
    ),
    "Exaone4ForCausalLM": Family(qk_norm="head"),
    "Olmo3ForCausalLM": Family(
        qkv_bias=BIAS, output_bias=BIAS, qk_norm="full", transformers_backend=True, num_ropes=2
    ),
    "GptOssForCausalLM": Family(
        ties=False,
        qkv_bias=True,
        output_bias=True,
        moe=Moe(
            num_experts=("num_local_experts",),
            width=("intermediate_size",),
            expert_bias=True,
            router_linear_bias=True,
        ),
        ends_on_every_stage=True,
        rotary_dtype="float32",
    ),
    "SolarOpenForCausalLM": Family(
        qkv_bias=BIAS,
        moe=replace(DEEPSEEK_STYLE, router_dtype=None, router_bias_counts=False),
        transformers_backend=True,
    ),
}
