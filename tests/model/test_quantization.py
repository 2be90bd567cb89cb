"""Reading how a checkpoint stores its weights: methods, KV cache, what is refused, what is kept."""

import json
from typing import Any

import pytest

from pycore.bridge import answer
from pycore.data import rows
from pycore.engine.shards import Ranks
from pycore.errors import InvalidRequest
from pycore.model.catalogue import model_from_catalogue, model_from_text
from pycore.model.config_fields import ConfigReader
from pycore.model.hf_quant_config import with_hf_quant_config
from pycore.model.model import Model
from pycore.model.module_forms import head_form, layer_forms
from pycore.model.quantization.methods import read_quantization
from pycore.sizing.weights import stage_weights

ONE_RANK = Ranks(1, 1, 1, enable_expert_parallel=False)
LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 8,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16",
}
MODELOPT_FP8 = {
    "producer": {"name": "modelopt", "version": "0.23.0"},
    "quantization": {
        "quant_algo": "FP8",
        "kv_cache_quant_algo": "FP8",
        "exclude_modules": ["lm_head"],
    },
}
FP8 = {"quant_method": "fp8", "activation_scheme": "dynamic"}


def asked(quantization: object, **request: object) -> dict[str, Any]:
    """The answer for the small Llama under ``quantization``."""
    config = {**LLAMA, "quantization_config": quantization}
    text = json.dumps({"config": config, "accelerator": "h100-sxm-80gb", **request})
    decoded: dict[str, Any] = json.loads(answer(text))
    return decoded


def result(quantization: object, **request: object) -> dict[str, Any]:
    """The result of an answer that there is."""
    reply = asked(quantization, **request)
    assert reply["ok"], reply
    found: dict[str, Any] = reply["result"]
    return found


@pytest.mark.parametrize(
    ("quantization", "method"),
    [
        (FP8, "fp8"),
        ({**FP8, "weight_block_size": [128, 128]}, "fp8"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, "auto_awq"),
        ({"quant_method": "AWQ", "w_bit": 4, "q_group_size": 64, "zero_point": True}, "auto_awq"),
        (
            {"quant_method": "gptq", "bits": 8, "group_size": -1, "desc_act": True, "sym": True},
            "auto_gptq",
        ),
        (MODELOPT_FP8, "modelopt"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "modelopt_fp4"),
        ({"quant_method": "mxfp8", "ignored_layers": ["lm_head"]}, "mxfp8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
    ],
)
def test_methods_are_named_as_the_engine_names_them(quantization: object, method: str) -> None:
    """What a user reads in the log."""
    assert result(quantization)["chosen"]["quantization"] == method


@pytest.mark.parametrize("method", ["gguf", "hqq", "exl2", "quanto", "mlx"])
def test_other_engines_formats_are_not_yet(method: str) -> None:
    """Refused by name, never sized as if they were in the model's dtype."""
    failure = asked({"quant_method": method})["failure"]
    assert failure["reason"] == "unsupported_quantization"
    assert method in failure["message"]
    assert "cannot be sized yet" in failure["message"]


@pytest.mark.parametrize("key", ["quantization", "quantization_config"])
def test_mlx_is_not_yet(key: str) -> None:
    """Its configs name bits and groups, and no method; they are not weights in bfloat16."""
    config = {**LLAMA, key: {"group_size": 64, "bits": 4}}
    request = {"config": config, "accelerator": "h100-sxm-80gb"}
    failure = json.loads(answer(json.dumps(request)))["failure"]
    assert failure["field"].startswith(f"config.{key}")
    assert "MLX cannot be sized yet" in failure["message"]


def test_a_modelopt_file_without_its_producer_is_ignored_as_the_engine_does() -> None:
    """Nemotron-3-Super-FP8's published copy lacks it: vLLM makes its weights in bfloat16."""
    bare = {"quantization": MODELOPT_FP8["quantization"]}
    assert result(bare)["chosen"]["quantization"] is None
    assert "quantization_ignored" in [note["kind"] for note in result(bare)["notes"]]
    assert result(bare)["weights_bytes_per_rank"] == result(None)["weights_bytes_per_rank"]


@pytest.mark.parametrize(
    ("quantization", "kv_cache_dtype"),
    [
        (FP8, "bfloat16"),
        (MODELOPT_FP8, "fp8_e4m3"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "bfloat16"),
        (
            {
                "quant_method": "modelopt",
                "quant_algo": "NVFP4",
                "kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"},
            },
            "fp8_e4m3",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "format": "float-quantized",
                "config_groups": {},
                "kv_cache_scheme": {
                    "num_bits": 8,
                    "type": "float",
                    "strategy": "tensor",
                    "symmetric": True,
                },
            },
            "fp8",
        ),
    ],
)
def test_the_kv_cache_follows_the_checkpoints_scheme_not_its_weights(
    quantization: object, kv_cache_dtype: str
) -> None:
    """fp8 weights leave the cache in the model's dtype; a scheme of its own does not."""
    assert result(quantization)["chosen"]["kv_cache_dtype"] == kv_cache_dtype
    given = result(quantization, kv_cache_dtype="bfloat16")
    assert given["chosen"]["kv_cache_dtype"] == "bfloat16"


def test_what_a_checkpoint_leaves_out_of_its_method_is_said() -> None:
    """Completed as transformers' own classes would: GPTQ symmetric, fp8 with dynamic scales."""
    gptq = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False}
    for quantization, named in (
        (gptq, "sym = True"),
        ({"quant_method": "fp8"}, "activation_scheme = dynamic"),
    ):
        notes = {note["kind"]: note["message"] for note in result(quantization)["notes"]}
        assert named in notes["defaulted_fields"]


def test_compressed_tensors_do_not_speak_to_latent_attention() -> None:
    """Its scheme for the cache reaches layers that keep keys and values; ModelOpt's reaches all."""
    row = next(row for row in rows("models") if row["id"] == "deepseek-v2-lite")
    assert isinstance(row["config"], dict)
    scheme = {"num_bits": 8, "type": "float", "dynamic": False, "strategy": "tensor"}
    compressed = {
        "quant_method": "compressed-tensors",
        "format": "float-quantized",
        "config_groups": {},
        "kv_cache_scheme": {**scheme, "symmetric": True},
    }
    modelopt = {"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_scheme": scheme}
    for quantization, expected in ((compressed, "bfloat16"), (modelopt, "fp8_e4m3")):
        config = {**row["config"], "quantization_config": quantization}
        request = {"config": config, "accelerator": "h100-sxm-80gb"}
        reply = json.loads(answer(json.dumps(request)))
        assert reply["result"]["chosen"]["kv_cache_dtype"] == expected


def test_a_config_goes_before_hf_quant_config() -> None:
    """The file beside it is read where config.json is silent, or names no layers of a mixture."""
    config = {**LLAMA, "quantization_config": FP8}
    assert with_hf_quant_config(config, MODELOPT_FP8)["quantization_config"] == FP8
    assert with_hf_quant_config(LLAMA, MODELOPT_FP8)["quantization_config"] == MODELOPT_FP8
    mixed = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}
    layers = {"model.layers.0.mlp.down_proj": {"quant_algo": "FP8"}}
    beside = {"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers}}
    merged = with_hf_quant_config({**LLAMA, "quantization_config": mixed}, beside)
    found = read_quantization(ConfigReader(merged))
    assert found is not None
    assert found.method == "modelopt_mixed"


def test_an_error_in_hf_quant_config_names_it() -> None:
    """The request's own key, not the place where it is put."""
    broken = {**MODELOPT_FP8, "quantization": {"quant_algo": "FP8", "exclude_modules": [1]}}
    text = {"config": LLAMA, "hf_quant_config": broken, "accelerator": "h100-sxm-80gb"}
    failure = json.loads(answer(json.dumps(text)))["failure"]
    assert failure["field"] == "hf_quant_config.quantization.exclude_modules"


def test_a_mixture_gives_each_module_its_own_form() -> None:
    """Attention in fp8, the feed-forward in NVFP4, what is not named in the model's dtype."""
    layers = {
        **{
            f"model.layers.{index}.self_attn.{name}_proj": {"quant_algo": "FP8"}
            for index in range(8)
            for name in "qkv"
        },
        "model.layers.3.mlp.gate_proj": {"quant_algo": "NVFP4", "group_size": 16},
        "model.layers.3.mlp.up_proj": {"quant_algo": "NVFP4", "group_size": 16},
    }
    mixed = {
        "quant_method": "modelopt",
        "quant_algo": "MIXED_PRECISION",
        "quantized_layers": layers,
    }
    text = json.dumps({**LLAMA, "quantization_config": mixed})
    model = model_of_text(text)
    third = layer_forms(model, model.quantization)[3]
    assert {name: form.name for name, form in third.items()} == {
        "self_attn.qkv_proj": "fp8, static activations",
        "mlp.gate_up_proj": "nvfp4",
    }
    assert set(layer_forms(model, model.quantization)[4]) == {"self_attn.qkv_proj"}


def model_of_text(text: str) -> Model:
    """The model of a config's text."""
    return model_from_text(text, "")


def test_gptq_exceptions_are_tried_in_order() -> None:
    """A pattern with a minus leaves modules alone; one with a plus changes them."""
    gptq = {
        "quant_method": "gptq",
        "bits": 4,
        "group_size": 128,
        "desc_act": False,
        "sym": True,
        "dynamic": {
            r"-:.*\.self_attn\..*": {},
            r"+:.*\.(?:6|7)\..*": {"bits": 8, "group_size": 64},
        },
    }
    model = model_of_text(json.dumps({**LLAMA, "quantization_config": gptq}))
    forms = layer_forms(model, model.quantization)
    assert "self_attn.qkv_proj" not in forms[0]
    assert forms[0]["mlp.down_proj"].element_bits == 4
    assert forms[7]["mlp.down_proj"].element_bits == 8
    assert forms[7]["mlp.down_proj"].group_size == 64


def test_only_some_methods_touch_the_head() -> None:
    """ModelOpt quantises it unless it is excluded; fp8 never does; AWQ where it says so."""
    open_head = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": []}
    for quantization, quantized in (
        (open_head, True),
        (MODELOPT_FP8, False),
        (FP8, False),
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, False),
    ):
        model = model_of_text(json.dumps({**LLAMA, "quantization_config": quantization}))
        assert (head_form(model, model.quantization) is not None) == quantized


QUANTISED = [
    str(row["id"])
    for row in rows("models")
    if "hf_quant_config" in row or "quantization_config" in json.dumps(row["config"])
]


@pytest.mark.parametrize("model_id", QUANTISED)
def test_a_checkpoint_is_kept_in_a_few_words(model_id: str) -> None:
    """Whatever its lists of modules take, what is kept of a config fits in a link."""
    row = next(row for row in rows("models") if row["id"] == model_id)
    request = {"ask": "model", "config": row["config"]}
    if "hf_quant_config" in row:
        request["hf_quant_config"] = row["hf_quant_config"]
    reply = json.loads(answer(json.dumps(request)))
    if reply["ok"]:
        assert len(json.dumps(reply["result"]["config"])) <= 6000


def test_megabytes_of_modules_are_kept_in_a_few_words() -> None:
    """Forty thousand entries, an expert each, come to one line."""
    listed = [
        f"model.layers.{layer}.mlp.experts.{expert}.{name}_proj"
        for layer in range(48)
        for expert in range(280)
        for name in ("gate", "up", "down")
    ]
    assert len(listed) > 40_000
    row = next(row for row in rows("models") if row["id"] == "qwen3-30b-a3b")
    assert isinstance(row["config"], dict)
    quantization = {**FP8, "modules_to_not_convert": [*listed, "model.layers.1.self_attn.o_proj"]}
    config = {**row["config"], "quantization_config": quantization}
    full = sized(config)
    reduced = json.loads(answer(json.dumps({"ask": "model", "config": config})))["result"]["config"]
    assert len(json.dumps(reduced)) < 2500
    assert sized(reduced) == full


def sized(config: object) -> object:
    """The whole answer for ``config`` on two H100."""
    request = {"config": config, "accelerator": "h100-sxm-80gb", "tensor_parallel_size": 2}
    return json.loads(answer(json.dumps(request)))["result"]


def test_a_tower_is_kept_as_the_first_of_its_blocks_is() -> None:
    """ModelOpt's Gemma 4 leaves its tower alone, by names that end in a star."""
    row = next(row for row in rows("models") if row["id"] == "gemma-4-26b-a4b")
    published = row["config"]
    assert isinstance(published, dict)
    listed = ["lm_head", "model.vision_tower*", "model.embed_vision*"]

    def tower_bytes(ignored: list[str] | None) -> int:
        config: dict[str, Any] = {**published}
        if ignored is not None:
            fp8 = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ignored}
            config["quantization_config"] = fp8
        model = model_of_text(json.dumps(config))
        (stage,) = stage_weights(model, ONE_RANK, "bfloat16", model.quantization)
        return stage.bytes_by_component["tower"]

    assert tower_bytes(listed) == tower_bytes(None)


@pytest.mark.parametrize(
    "table",
    [
        {"self_attn.qkv_proj": {"unheard of": "0-7"}},
        {"self_attn.qkv_proj": {"fp8": 7}},
        {"self_attn.qkv_proj": {"fp8": "0-x,y"}},
        {"self_attn.qkv_proj": "fp8"},
        ["fp8"],
    ],
)
def test_a_table_that_cannot_be_read_is_named(table: object) -> None:
    """It comes from links, which anyone may write."""
    failure = asked({**FP8, "napkin_modules": table})["failure"]
    assert failure["field"].startswith("config.quantization_config.napkin_modules")


def test_a_layer_beyond_the_table_is_kept_as_the_last_one() -> None:
    """A reader may push num_hidden_layers up in a config that was kept."""
    table = {"mlp.down_proj": {"kept": "0-1", "fp8": "2-7"}}
    model = model_of_text(
        json.dumps(
            {
                **LLAMA,
                "num_hidden_layers": 12,
                "quantization_config": {**FP8, "napkin_modules": table},
            }
        )
    )
    forms = layer_forms(model, model.quantization)
    assert [sorted(own) for own in forms] == [[]] * 2 + [["mlp.down_proj"]] * 10


@pytest.mark.parametrize(
    "broken",
    [
        {"quant_method": "awq"},
        {"quant_method": "awq", "bits": 3, "group_size": 128},
        {"quant_method": "gptq", "bits": 4, "group_size": 0},
        {"quant_method": "fp8", "weight_block_size": [128]},
        {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "static"},
        {"quant_method": "modelopt", "quant_algo": "INT3"},
        {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"},
        {"quant_method": "compressed-tensors", "config_groups": {"a": 7}},
        {
            "quant_method": "compressed-tensors",
            "format": "pack-quantized",
            "config_groups": {"a": {"targets": ["Linear"], "weights": {"num_bits": 4}}},
        },
        {"quant_method": 8},
        [],
        "fp8",
    ],
)
def test_what_cannot_be_read_names_its_field(broken: object) -> None:
    """A failure with a path, never a guess."""
    failure = asked(broken)["failure"]
    assert failure["field"].startswith("config.quantization_config")
    assert failure["message"]


def test_the_catalogues_checkpoints_have_the_methods_they_are_named_after() -> None:
    """Names say fp8, NVFP4 and so on."""
    for model_id, method in (
        ("deepseek-v3", "fp8"),
        ("kimi-k2.5-nvfp4", "modelopt_fp4"),
        ("gpt-oss-20b", "gpt_oss_mxfp4"),
    ):
        try:
            model = model_from_catalogue(model_id, "")
        except InvalidRequest:
            continue
        assert model.quantization is not None
        assert model.quantization.method == method
