"""Ling and Ring (Bailing): grouped attention, and experts beside shared ones of their own width.

Source: vLLM 0.33.0, model_executor/models/bailing_moe.py.
"""

from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.model import Model
from pycore.model.readers.assembly import Source
from pycore.model.readers.family import Family, Flag, Moe
from pycore.model.readers.uniform import read_decoder

ROUTER_DTYPES: Final = {"": None, "fp32": "float32"}


def bailing(reader: ConfigReader, architecture: str, name: str) -> Model:
    """One class for all: biases, norms and the router's element type are the config's."""
    text = text_reader(reader)
    everywhere = text.flag("use_bias", default=False)
    family = Family(
        qkv_bias=everywhere or text.flag("use_qkv_bias", default=False),
        output_bias=everywhere,
        mlp_bias=everywhere,
        qk_norm="head",
        qk_norm_flag=Flag("use_qk_norm"),
        moe=Moe(
            shared_count=("num_shared_experts",),
            shared_width=("moe_shared_expert_intermediate_size",),
            blackwell_routing=Flag("norm_topk_prob", default=True),
            router_bias=Flag("moe_router_enable_expert_bias"),
            router_dtype=ROUTER_DTYPES.get(text.text("router_dtype"), "bfloat16"),
            first_dense=("first_k_dense_replace",),
        ),
    )
    return read_decoder(Source(reader, text, architecture, name), family)


READERS: Final = {
    "BailingMoeForCausalLM": bailing,
    "BailingMoeV2ForCausalLM": bailing,
}
