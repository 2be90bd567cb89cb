"""Why a class of models cannot be sized: in the engine's words where it has some.

Source: vLLM 0.33.0, model_executor/models/registry.py (_EMBEDDING_MODELS,
_PREVIOUSLY_SUPPORTED_MODELS).
"""

from typing import Final

# Classes that read a text once and write none: no request of theirs keeps anything.
ENCODERS: Final = frozenset(
    (
        "BertModel",
        "BertForMaskedLM",
        "BertForSequenceClassification",
        "BertForTokenClassification",
        "BgeM3EmbeddingModel",
        "CLIPModel",
        "DebertaV2ForSequenceClassification",
        "GteModel",
        "GteNewModel",
        "ModernBertModel",
        "ModernBertForSequenceClassification",
        "NomicBertModel",
        "RobertaModel",
        "RobertaForMaskedLM",
        "RobertaForSequenceClassification",
        "SiglipModel",
        "XLMRobertaModel",
        "XLMRobertaForSequenceClassification",
    )
)

# The last version that had a class, of those that are not read here at all.
DROPPED: Final = {
    "ArcticForCausalLM": "0.28.0",
    "ChameleonForConditionalGeneration": "0.28.0",
    "FuyuForCausalLM": "0.25.0",
    "Grok1ForCausalLM": "0.24.0",
    "Grok1ModelForCausalLM": "0.24.0",
    "InternLMForCausalLM": "0.23.0",
    "JAISLMHeadModel": "0.22.0",
    "MiniMaxForCausalLM": "0.23.0",
    "MotifForCausalLM": "0.10.2",
    "OuroForCausalLM": "0.26.0",
    "PersimmonForCausalLM": "0.25.0",
    "Phi4FlashForCausalLM": "0.10.2",
    "Phi4MultimodalForCausalLM": "0.12.0",
    "Plamo2ForCausalLM": "0.26.0",
    "QWenLMHeadModel": "0.23.0",
    "TeleChatForCausalLM": "0.25.0",
    "XverseForCausalLM": "0.23.0",
}

OTHERS: Final = {
    "BambaForCausalLM": "vLLM 0.33 has no class of its own for it, and cannot run transformers'",
}


def why_unsupported(architecture: str) -> str:
    """A sentence that says what stands in the way."""
    if architecture in ENCODERS:
        return (
            f"{architecture} only encodes: it writes no tokens, keeps no KV cache, and is not "
            "sized here"
        )
    if architecture in DROPPED:
        return (
            f"Model architecture {architecture} was supported in vLLM until "
            f"v{DROPPED[architecture]}, and is not supported anymore"
        )
    why = OTHERS.get(architecture, "an architecture whose rules are not known here")
    return f"{architecture} cannot be sized yet: {why}"
