"""Which layer sees which tokens, read from configs as they are published, and as they are broken."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.errors import InvalidRequest
from pycore.model.config_fields import ConfigReader
from pycore.model.layers import (
    AnyMixer,
    ChunkedLocalAttention,
    CrossAttention,
    FullAttention,
    NoMixer,
    SharedKeyValueAttention,
    SlidingWindowAttention,
)
from pycore.model.readers.mixers import RULES, read_mixers
from pycore.model.recurrent import GatedDeltaNet, KimiDeltaAttention, Mamba2


def mixers_of(architecture: str, model_type: str, **fields: Any) -> tuple[AnyMixer, ...]:
    """The mixers of a config that states only these fields."""
    return read_mixers(ConfigReader({"model_type": model_type, **fields}), architecture)


def kinds(mixers: tuple[AnyMixer, ...]) -> Counter[str]:
    """How many layers there are of each kind."""
    return Counter(type(mixer).__name__ for mixer in mixers)


def test_a_sparse_gemma_3_is_completed_as_transformers_would() -> None:
    """A published text_config names four numbers; it must not become 34 windows."""
    reader = ConfigReader(
        {
            "model_type": "gemma3",
            "text_config": {
                "model_type": "gemma3_text",
                "hidden_size": 2560,
                "num_hidden_layers": 34,
                "sliding_window": 1024,
            },
        }
    )
    mixers = read_mixers(reader, "Gemma3ForConditionalGeneration")
    assert kinds(mixers) == {"SlidingWindowAttention": 29, "FullAttention": 5}
    assert mixers[5] == FullAttention(8, 4, 256, 256)


def test_a_config_of_nothing_but_a_model_type_is_the_class_default() -> None:
    """SmolLM3-3B's numbers are those of its configuration class."""
    (mixer, *_), count = (m := mixers_of("SmolLM3ForCausalLM", "smollm3")), len(m)
    assert (mixer, count) == (FullAttention(16, 4, 128, 128), 36)


def test_a_null_window_is_no_window_and_an_absent_one_is_the_default() -> None:
    """Mistral: the class says 4,096 where the config says nothing, and null turns it off."""
    absent = mixers_of("MistralForCausalLM", "mistral", hidden_size=4096)
    null = mixers_of("MistralForCausalLM", "mistral", hidden_size=4096, sliding_window=None)
    assert kinds(absent) == {"SlidingWindowAttention": 32}
    assert kinds(null) == {"FullAttention": 32}


def test_qwen_ignores_a_window_that_is_not_switched_on() -> None:
    """Qwen2.5 states sliding_window 131072 and use_sliding_window false."""
    fields = {"hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4}
    off = mixers_of("Qwen2ForCausalLM", "qwen2", sliding_window=131072, **fields)
    assert kinds(off) == {"FullAttention": 32}
    with pytest.raises(InvalidRequest, match="in some layers only"):
        mixers_of(
            "Qwen2ForCausalLM",
            "qwen2",
            sliding_window=4096,
            use_sliding_window=True,
            max_window_layers=16,
            **fields,
        )


def test_a_window_longer_than_the_model_is_still_a_window() -> None:
    """Phi-4-mini states 262,144 for a model of 131,072."""
    mixers = mixers_of("Phi3ForCausalLM", "phi3", sliding_window=262144)
    assert kinds(mixers) == {"SlidingWindowAttention": 32}


def test_coheres_window_counts_the_token_itself() -> None:
    """The engine adds one to the config's 4,096."""
    (window,) = {
        mixer.sliding_window
        for mixer in mixers_of("Cohere2ForCausalLM", "cohere2")
        if isinstance(mixer, SlidingWindowAttention)
    }
    assert window == 4097


def test_gpt_oss_alternates_and_llama_4_takes_every_fourth() -> None:
    """Whatever the configs list."""
    gpt_oss = mixers_of("GptOssForCausalLM", "gpt_oss")
    assert [type(mixer) for mixer in gpt_oss[:2]] == [SlidingWindowAttention, FullAttention]
    llama = mixers_of("Llama4ForConditionalGeneration", "llama4")
    assert [isinstance(mixer, ChunkedLocalAttention) for mixer in llama[:4]] == [True] * 3 + [False]


def test_gemma_3n_shares_its_last_fifteen_layers() -> None:
    """35 layers, of which 20 keep something."""
    mixers = mixers_of("Gemma3nForConditionalGeneration", "gemma3n")
    assert all(isinstance(mixer, SharedKeyValueAttention) for mixer in mixers[20:])
    assert not any(isinstance(mixer, SharedKeyValueAttention) for mixer in mixers[:20])


def test_gemma_4_widens_the_heads_of_full_layers() -> None:
    """Gemma 4 26B: two KV heads of 512 in every sixth layer."""
    mixers = mixers_of(
        "Gemma4ForConditionalGeneration",
        "gemma4_text",
        num_attention_heads=16,
        num_key_value_heads=8,
        attention_k_eq_v=True,
        num_global_key_value_heads=2,
    )
    assert mixers[5] == FullAttention(16, 2, 512, 512)
    assert mixers[0] == SlidingWindowAttention(FullAttention(16, 8, 256, 256), 512)


def test_nemotron_reads_its_letters() -> None:
    """M is Mamba 2, * attention, - and E feed-forwards; states are float32 unless told else."""
    mixers = mixers_of("NemotronHForCausalLM", "nemotron_h", hybrid_override_pattern="M-M*E")
    assert kinds(mixers) == {"Mamba2": 2, "NoMixer": 2, "FullAttention": 1}
    assert isinstance(mixers[0], Mamba2)
    assert mixers[0].ssm_dtype == "float32"


def test_a_search_for_architectures_leaves_attention_out() -> None:
    """Nemotron Super: no_op layers keep nothing."""
    mixers = mixers_of(
        "DeciLMForCausalLM",
        "nemotron-nas",
        hidden_size=8192,
        num_attention_heads=64,
        num_hidden_layers=2,
        block_configs=[
            {"attention": {"no_op": True}},
            {"attention": {"no_op": False, "n_heads_in_group": 8}},
        ],
    )
    assert mixers == (NoMixer(), FullAttention(64, 8, 128, 128))


def test_qwen_3_5_keeps_its_states_in_the_type_that_it_names() -> None:
    """Qwen3-Next names none."""
    states = {
        name: next(
            m for m in mixers_of(architecture, name, **fields) if isinstance(m, GatedDeltaNet)
        )
        for name, architecture, fields in (
            ("qwen3_next", "Qwen3NextForCausalLM", {"mamba_ssm_dtype": "float32"}),
            ("qwen3_5_text", "Qwen3_5ForCausalLM", {"mamba_ssm_dtype": "float32"}),
        )
    }
    assert states["qwen3_next"].ssm_dtype is None
    assert states["qwen3_5_text"].ssm_dtype == "float32"


@pytest.mark.parametrize("has_bounded_gate", [True, False])
def test_only_kimi_k3s_gate_is_bounded(has_bounded_gate: bool) -> None:
    """Fast kernels, and the checkpoint that they leave, rely on it."""
    gate = {"use_full_rank_gate": True, "gate_lower_bound": -5.0} if has_bounded_gate else {}
    mixers = mixers_of(
        "KimiLinearForCausalLM",
        "kimi_linear",
        num_hidden_layers=2,
        num_attention_heads=32,
        kv_lora_rank=512,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
        linear_attn_config={
            "kda_layers": [1],
            "full_attn_layers": [2],
            "num_heads": 32,
            "head_dim": 128,
            "short_conv_kernel_size": 4,
            **gate,
        },
    )
    assert isinstance(mixers[0], KimiDeltaAttention)
    assert mixers[0].has_bounded_gate is has_bounded_gate


def test_whispers_layers_attend_twice() -> None:
    """To themselves and to the encoder."""
    mixers = mixers_of("WhisperForConditionalGeneration", "whisper")
    assert kinds(mixers) == {"CrossAttention": 4}
    assert isinstance(mixers[0], CrossAttention)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 1 << 40) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = (
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "hidden_size",
    "head_dim",
    "sliding_window",
    "layer_types",
    "kv_lora_rank",
    "index_topk",
    "compress_ratios",
    "linear_attn_config",
    "hybrid_override_pattern",
    "block_configs",
    "text_config",
    "model_type",
    "hybrid_layer_pattern",
    "full_attn_idxs",
    "no_rope_layers",
    "attention_chunk_size",
    "mamba_n_heads",
    "mamba_d_head",
    "n_mamba_heads",
    "linear_num_key_heads",
    "max_window_layers",
    "use_sliding_window",
    "num_kv_shared_layers",
)


@given(
    st.sampled_from([*RULES, "LlamaForCausalLM"]),
    st.sampled_from(["llama", "gemma3_text", "jamba", "nemotron_h", "kimi_linear", "qwen3_next"]),
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6),
)
def test_a_broken_config_names_its_field(
    architecture: str, model_type: str, fields: dict[str, Any]
) -> None:
    """Whatever stands in a config: mixers, or an error with a path; never a traceback."""
    path, count = "config", 1
    try:
        count = len(mixers_of(architecture, fields.pop("model_type", model_type), **fields))
    except InvalidRequest as error:
        path = error.field
    assert path.startswith("config")
    assert 0 < count <= 2048


def test_dots_has_windows_only_after_the_layers_that_its_config_counts() -> None:
    """Sixty-two layers without, of sixty-two: transformers' default window of 4,096 is nobody's."""
    as_published = mixers_of("Dots1ForCausalLM", "dots1", num_hidden_layers=62)
    assert kinds(as_published) == {"FullAttention": 62}
    early = mixers_of("Dots1ForCausalLM", "dots1", num_hidden_layers=62, max_window_layers=60)
    assert kinds(early) == {"FullAttention": 60, "SlidingWindowAttention": 2}
