"""Falcon, ChatGLM, GPT-BigCode and MiniCPM, whose configs have words of their own.

Source: vLLM 0.33.0, model_executor/models/falcon.py, chatglm.py, minicpm.py and
transformers/;
transformers 5.24.0, models/falcon and gpt_bigcode.
"""

from dataclasses import replace
from typing import Final

from pycore.errors import UnsupportedModel
from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.model import Model
from pycore.model.readers.assembly import Source
from pycore.model.readers.families import CHATGLM, FALCON, GPT_BIGCODE
from pycore.model.readers.uniform import read_decoder, read_uniform
from pycore.model.tensors import Linear, OuterTensor, Place, Rows, Split, Vector

WIDENING: Final = 4
"""What the MLP is wider by where a config does not say."""


def falcon(reader: ConfigReader, architecture: str, name: str) -> Model:
    """Falcon: one norm or two a layer, by generation; older ones have no rotation."""
    text = text_reader(reader)
    is_new = text.flag("new_decoder_architecture", default=False)
    if is_new:
        num_norms = text.integer("num_ln_in_parallel_attn", default=2)
    else:
        num_norms = 1 if text.flag("parallel_attn", default=True) else 2
    family = replace(FALCON, num_norms=num_norms, rotates=not text.flag("alibi", default=False))
    widened = with_width(text, "ffn_hidden_size")
    return read_decoder(Source(reader, widened, architecture, name), family)


def with_width(text: ConfigReader, field: str) -> ConfigReader:
    """The same reader, completed with an MLP four times as wide as the model."""
    width = WIDENING * text.integer("hidden_size", "n_embd")
    text.completions = {**text.completions, field: width}
    return text


def chatglm(reader: ConfigReader, architecture: str, name: str) -> Model:
    """ChatGLM and GLM-4-9B: biases on queries, keys and values, or everywhere."""
    text = text_reader(reader)
    everywhere = text.flag("add_bias_linear", default=False)
    family = replace(
        CHATGLM,
        qkv_bias=everywhere or text.flag("add_qkv_bias", default=False),
        output_bias=everywhere,
        mlp_bias=everywhere,
    )
    return read_decoder(Source(reader, text, architecture, name), family)


def gpt_bigcode(reader: ConfigReader, architecture: str, name: str) -> Model:
    """GPT-BigCode (StarCoder): learnt positions, and one KV head for all queries."""
    text = with_width(text_reader(reader), "n_inner")
    positions = (Rows(text.integer("n_positions"), Split.REPLICATED),)
    table = Linear(
        "embedding", "transformer.wpe", positions, text.integer("n_embd"), quantizable=False
    )
    # Transformers keeps a triangle of yes and no, a byte each, for every pair of positions.
    mask = Vector("buffers", "transformer.bias", (text.integer("n_positions") ** 2 + 1) // 2)
    return read_decoder(
        Source(reader, text, architecture, name),
        GPT_BIGCODE,
        outer_tensors=(
            OuterTensor(table, 1, Place.FIRST),
            OuterTensor(mask, in_checkpoint=False),
        ),
    )


def minicpm(reader: ConfigReader, architecture: str, name: str) -> Model:
    """MiniCPM: a Llama with scaled residuals; those with experts are of another kind."""
    if (reader.optional_integer("num_experts", minimum=0) or 0) > 0:
        raise UnsupportedModel(
            "config.num_experts",
            "unsupported_architecture",
            f"{architecture} with experts cannot be sized yet",
        )
    return read_uniform(reader, architecture, name)


READERS: Final = {
    "MiniCPMForCausalLM": minicpm,
    "FalconForCausalLM": falcon,
    "ChatGLMModel": chatglm,
    "ChatGLMForConditionalGeneration": chatglm,
    "GPTBigCodeForCausalLM": gpt_bigcode,
}
