"""config.json → the mixer of every layer: who sees which tokens, and so what is remembered.

An architecture's rule says which layers have which kind, and transformers' own defaults complete
what a config leaves out; both are facts of the model classes, not of any deployment.

Source: vLLM 0.33.0, model_executor/models/ and models/; transformers 5.24.0,
models/*/configuration_*.py.
"""

from collections.abc import Callable
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.readers.delta_mixers import (
    read_bailing_linear,
    read_kimi_linear,
    read_lfm2,
    read_olmo_hybrid,
    read_qwen_gdn,
)
from pycore.model.readers.grouped_mixers import (
    Mixers,
    read_cohere2_moe,
    read_dots1,
    read_gemma3n,
    read_gpt_oss,
    read_llama4,
    read_uniform,
    read_windowed,
)
from pycore.model.readers.latent_mixers import read_deepseek, read_deepseek_v4, read_longcat
from pycore.model.readers.recurrent_mixers import (
    read_falcon_h1,
    read_granite_hybrid,
    read_jamba,
    read_mamba,
    read_mamba2,
    read_nemotron_h,
    read_zamba2,
)
from pycore.model.readers.uneven_mixers import (
    read_dbrx,
    read_decilm,
    read_falcon,
    read_gemma4,
    read_mimo_v2,
    read_multi_query,
    read_step3p5,
    read_whisper,
)

RULES: Final[dict[str, Callable[[ConfigReader], Mixers]]] = {
    "Cohere2ForCausalLM": read_windowed,
    "Cohere2MoeForCausalLM": read_cohere2_moe,
    "Gemma2ForCausalLM": read_windowed,
    "Gemma3ForCausalLM": read_windowed,
    "Gemma3ForConditionalGeneration": read_windowed,
    "Exaone4ForCausalLM": read_windowed,
    "ExaoneMoeForCausalLM": read_windowed,
    "ExaoneMoEForCausalLM": read_windowed,
    "CwmForCausalLM": read_windowed,
    "Olmo3ForCausalLM": read_windowed,
    "AfmoeForCausalLM": read_windowed,
    "Gemma3nForCausalLM": read_gemma3n,
    "Gemma3nForConditionalGeneration": read_gemma3n,
    "Gemma4ForCausalLM": read_gemma4,
    "Gemma4ForConditionalGeneration": read_gemma4,
    "Dots1ForCausalLM": read_dots1,
    "GptOssForCausalLM": read_gpt_oss,
    "Llama4ForCausalLM": read_llama4,
    "Llama4ForConditionalGeneration": read_llama4,
    "DeciLMForCausalLM": read_decilm,
    "MiMoV2FlashForCausalLM": read_mimo_v2,
    "MiMoV2ForCausalLM": read_mimo_v2,
    "Step3p5ForCausalLM": read_step3p5,
    "FalconForCausalLM": read_falcon,
    "ChatGLMModel": read_multi_query,
    "ChatGLMForConditionalGeneration": read_multi_query,
    "GPTBigCodeForCausalLM": read_multi_query,
    "DbrxForCausalLM": read_dbrx,
    "WhisperForConditionalGeneration": read_whisper,
    "DeepseekV2ForCausalLM": read_deepseek,
    "DeepseekV3ForCausalLM": read_deepseek,
    "DeepseekV32ForCausalLM": read_deepseek,
    "GlmMoeDsaForCausalLM": read_deepseek,
    "Glm4MoeLiteForCausalLM": read_deepseek,
    "KimiK25ForConditionalGeneration": read_deepseek,
    "LongcatFlashForCausalLM": read_longcat,
    "DeepseekV4ForCausalLM": read_deepseek_v4,
    "JambaForCausalLM": read_jamba,
    "MambaForCausalLM": read_mamba,
    "FalconMambaForCausalLM": read_mamba,
    "Mamba2ForCausalLM": read_mamba2,
    "FalconH1ForCausalLM": read_falcon_h1,
    "GraniteMoeHybridForCausalLM": read_granite_hybrid,
    "NemotronHForCausalLM": read_nemotron_h,
    "Zamba2ForCausalLM": read_zamba2,
    "Qwen3NextForCausalLM": read_qwen_gdn,
    "Qwen3_5ForCausalLM": read_qwen_gdn,
    "Qwen3_5MoeForCausalLM": read_qwen_gdn,
    "Qwen3_5ForConditionalGeneration": read_qwen_gdn,
    "Qwen3_5MoeForConditionalGeneration": read_qwen_gdn,
    "OlmoHybridForCausalLM": read_olmo_hybrid,
    "Lfm2ForCausalLM": read_lfm2,
    "Lfm2MoeForCausalLM": read_lfm2,
    "KimiLinearForCausalLM": read_kimi_linear,
    "KimiK3ForConditionalGeneration": read_kimi_linear,
    "BailingMoeV2_5ForCausalLM": read_bailing_linear,
}


def read_mixers(reader: ConfigReader, architecture: str) -> Mixers:
    """The mixers of a model's layers, in order; alike ones are one object."""
    return RULES.get(architecture, read_uniform)(text_reader(reader))
