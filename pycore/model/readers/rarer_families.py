"""Families that fewer serve, in the same rows: older ones, and experts of smaller houses.

Source: the model classes of vLLM 0.33.0 (model_executor/models) and transformers 5.24.0.
"""

from typing import Final

from pycore.model.config_fields import ConfigReader
from pycore.model.readers.family import Family, Flag, Moe
from pycore.model.readers.rope import Rope, half_rope, read_rope

BIAS: Final = Flag("attention_bias")
MLP_BIAS: Final = Flag("mlp_bias")


def quarter_rope(text: ConfigReader, _windowed: bool) -> Rope:
    """StableLM rotates a quarter of each head unless the config says otherwise."""
    return read_rope(text, share=0.25)


GRANITE_MOE: Final = Moe(num_experts=("num_local_experts",), width=("intermediate_size",))

USE_BIAS: Final = Flag("use_bias", default=True)

RARER_FAMILIES: Final[dict[str, Family]] = {
    "PhiMoEForCausalLM": Family(
        ties=False,
        ends_on_every_stage=True,
        qkv_bias=True,
        output_bias=True,
        norm_bias=True,
        head_bias=True,
        moe=Moe(
            num_experts=("num_local_experts",),
            width=("intermediate_size",),
            blackwell_routing=False,
        ),
    ),
    "InternLM2ForCausalLM": Family(
        ends_on_every_stage=True, qkv_bias=Flag("bias"), output_bias=Flag("bias")
    ),
    "InternLM3ForCausalLM": Family(
        qkv_bias=Flag("qkv_bias"), output_bias=Flag("bias"), mlp_bias=Flag("bias")
    ),
    "Starcoder2ForCausalLM": Family(
        qkv_bias=USE_BIAS,
        output_bias=USE_BIAS,
        mlp_bias=USE_BIAS,
        norm_bias=True,
        gated=False,
        tied_default=True,
        transformers_backend=True,
    ),
    "ApertusForCausalLM": Family(
        qkv_bias=BIAS, output_bias=BIAS, mlp_bias=MLP_BIAS, qk_norm="head", gated=False
    ),
    "ArceeForCausalLM": Family(
        transformers_backend=True,
        qkv_bias=BIAS,
        output_bias=BIAS,
        mlp_bias=MLP_BIAS,
        gated=False,
    ),
    "CwmForCausalLM": Family(transformers_backend=True, mlp_bias=MLP_BIAS),
    "GlmForCausalLM": Family(
        transformers_backend=True,
        qkv_bias=Flag("attention_bias", default=True),
        rope=half_rope,
    ),
    "HunYuanDenseV1ForCausalLM": Family(
        transformers_backend=True, qkv_bias=BIAS, output_bias=BIAS, qk_norm="head"
    ),
    "OlmoForCausalLM": Family(
        transformers_backend=True, qkv_bias=BIAS, output_bias=BIAS, num_norms=0, final_norm=False
    ),
    "PhiForCausalLM": Family(
        transformers_backend=True,
        qkv_bias=True,
        output_bias=True,
        mlp_bias=True,
        num_norms=1,
        norm_bias=True,
        gated=False,
        rope=half_rope,
    ),
    "NemotronForCausalLM": Family(
        qkv_bias=BIAS,
        output_bias=BIAS,
        mlp_bias=MLP_BIAS,
        norm_bias=True,
        gated=False,
        rope=half_rope,
    ),
    "StableLmForCausalLM": Family(
        ends_on_every_stage=True,
        qkv_bias=Flag("use_qkv_bias"),
        norm_bias=True,
        rope=quarter_rope,
    ),
    "GraniteMoeForCausalLM": Family(
        ends_on_every_stage=True, feed_forward_name="block_sparse_moe", moe=GRANITE_MOE
    ),
    "GraniteMoeSharedForCausalLM": Family(
        ends_on_every_stage=True,
        feed_forward_name="block_sparse_moe",
        moe=Moe(
            num_experts=("num_local_experts",),
            width=("intermediate_size",),
            shared_width=("shared_intermediate_size",),
            shared_name="shared_mlp",
        ),
    ),
    "OrionForCausalLM": Family(ends_on_every_stage=True, norm_bias=True),
    "OlmoeForCausalLM": Family(
        ends_on_every_stage=True,
        ties=False,
        qk_norm="full",
        moe=Moe(width=("intermediate_size",), blackwell_routing=False),
    ),
    "ExaoneMoEForCausalLM": Family(
        qkv_bias=BIAS,
        output_bias=BIAS,
        mlp_bias=MLP_BIAS,
        qk_norm="head",
        moe=Moe(
            shared_count=("num_shared_experts",),
            blackwell_routing=Flag("norm_topk_prob", default=True),
            router_bias=True,
            listed="mlp_layer_types",
            first_dense=("first_k_dense_replace",),
        ),
    ),
    "Cohere2MoeForCausalLM": Family(
        ends_on_every_stage=True,
        ties=True,
        num_norms=1,
        prefer_model_max_length=True,
        dense_width=("prefix_dense_intermediate_size", "intermediate_size"),
        moe=Moe(
            width=("intermediate_size",),
            shared_count=("num_shared_experts",),
            listed="mlp_layer_types",
            first_dense=("first_k_dense_replace",),
            blackwell_routing=False,
        ),
    ),
    "GPTNeoXForCausalLM": Family(
        transformers_backend=True,
        qkv_bias=BIAS,
        output_bias=BIAS,
        mlp_bias=True,
        norm_bias=True,
        gated=False,
        rope=quarter_rope,
    ),
    "HYV3ForCausalLM": Family(
        ends_on_every_stage=True,
        qk_norm="head",
        qk_norm_flag=Flag("qk_norm"),
        moe=Moe(
            width=("expert_hidden_dim", "moe_intermediate_size"),
            shared_count=("num_shared_experts",),
            shared_name="mlp.shared_mlp",
            blackwell_routing=Flag("route_norm", default=True),
            router_bias=True,
            router_dtype="float32",
            first_dense=("first_k_dense_replace",),
        ),
    ),
    "AfmoeForCausalLM": Family(
        ties=False,
        qk_norm="head",
        output_gate=True,
        num_norms=4,
        moe=Moe(
            shared_count=("num_shared_experts",),
            blackwell_routing=Flag("route_norm", default=True),
            router_bias=True,
            router_dtype="float32",
            first_dense=("num_dense_layers",),
        ),
    ),
}
"""Each architecture's row."""
