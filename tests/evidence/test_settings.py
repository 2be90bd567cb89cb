"""What a log says of the engine that printed it becomes the scenario's fields."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycore.evidence.identify import accelerator_of, model_of
from pycore.evidence.reading.arguments import pairs, plain_value
from pycore.evidence.reading.feed import read_text
from tests.evidence.asking import check

NON_DEFAULT = (
    "INFO 07-01 12:00:00 [utils.py:233] non-default args: {'model_tag': 'Qwen/Qwen3-8B', "
    "'speculative_config': {'model': 'Qwen/Qwen3-0.6B', 'num_speculative_tokens': 3}, "
    "'lora_modules': [LoRAModulePath(name='a', path='/b')], 'tensor_parallel_size': 4, "
    "'gpu_memory_utilization': 0.85, 'max_num_seqs': 64, 'kv_cache_dtype': 'fp8', "
    "'enable_prefix_caching': False, 'enforce_eager': True}"
)
CONFIG = (
    "INFO 07-01 12:00:00 [core.py:97] Initializing a V1 LLM engine (v0.19.1rc0) with config: "
    "model='meta-llama/Llama-3.1-8B-Instruct', speculative_config=None, dtype=torch.bfloat16, "
    "max_seq_len=131072, tensor_parallel_size=2, pipeline_parallel_size=1, quantization=None, "
    "enforce_eager=False, kv_cache_dtype=auto, enable_prefix_caching=True, compilation_config={'mode'"
)
V0_CONFIG = (
    "INFO 03-25 21:32:47 llm_engine.py:237] Initializing an LLM engine (v0.6.3.post1) with config: "
    "model='Qwen/Qwen2.5-7B-Instruct', tokenizer='x', dtype=torch.float16, max_seq_len=32768, "
    "tensor_parallel_size=4, device_config=cuda"
)


def test_arguments_fill_the_scenario() -> None:
    """Only the outermost: a draft model is not the model."""
    request = check(NON_DEFAULT)["request"]
    assert request["model"] == "qwen3-8b"
    assert request["tensor_parallel_size"] == 4
    assert request["gpu_memory_utilization"] == 0.85
    assert request["max_num_seqs"] == 64
    assert request["kv_cache_dtype"] == "fp8"
    assert request["enable_prefix_caching"] is False
    assert request["enforce_eager"] is True


def test_the_engines_config_fills_the_scenario() -> None:
    """Cut in the middle of its last pair, it still says the others."""
    request = check(CONFIG)["request"]
    assert request == {
        "model": "llama-3.1-8b-instruct",
        "engine_version": "0.19.1rc0",
        "dtype": "bfloat16",
        "max_model_len": 131_072,
        "tensor_parallel_size": 2,
        "pipeline_parallel_size": 1,
        "enforce_eager": False,
        "enable_prefix_caching": True,
    }


def test_a_version_that_is_not_known_is_said_and_not_taken() -> None:
    """V0 is read, and compared as the scenario's version."""
    result = check(V0_CONFIG)
    assert result["recognised"]["engine_version"] == "0.6.3.post1"
    assert "engine_version" not in result["request"]
    assert result["request"]["tensor_parallel_size"] == 4
    assert "version_not_known" in {note["kind"] for note in result["notes"]}


@pytest.mark.parametrize(
    "line",
    [
        "INFO 07-01 12:00:00 [api_server.py:1711] vLLM API server version 0.11.2",
        "(APIServer pid=1) INFO 07-01 12:00:00 [utils.py:299]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.11.2",
        "INFO 07-01 12:00:00 [startup.py:38] vLLM server version 0.11.2, serving model Qwen/Qwen3-8B",
    ],
)
def test_the_version_is_read_wherever_it_is_printed(line: str) -> None:
    """The plain line, the banner, and the line of a server without a banner."""
    assert read_text(line).setting("engine_version") == "0.11.2"


def test_the_banner_names_the_model() -> None:
    """Its third line."""
    line = "(APIServer pid=1) INFO 07-01 12:00:00 [utils.py:299]   █▄█▀ █     █     █     █  model   Qwen/Qwen3-8B"
    assert check(line)["request"]["model"] == "qwen3-8b"


def test_a_command_over_several_lines_is_one_command() -> None:
    """Behind a backslash it goes on."""
    text = (
        "$ vllm serve meta-llama/Llama-3.3-70B-Instruct \\\n"
        "    --tensor-parallel-size 2 \\\n"
        "    --no-enable-prefix-caching \\\n"
        "    --enforce-eager --max-model-len=8192\n"
    )
    assert check(text)["request"] == {
        "model": "llama-3.3-70b-instruct",
        "tensor_parallel_size": 2,
        "enable_prefix_caching": False,
        "enforce_eager": True,
        "max_model_len": 8192,
    }


def test_arguments_of_a_namespace_are_read_too() -> None:
    """0.5 to 0.8 print every argument, defaults included."""
    text = (
        "INFO 01-01 12:00:00 api_server.py:713] args: Namespace(host=None, port=8000, "
        "model='Qwen/Qwen3-8B', max_model_len=None, tensor_parallel_size=2, "
        "gpu_memory_utilization=0.9, override_neuron_config=None, max_num_seqs=256)"
    )
    request = check(text)["request"]
    assert request["model"] == "qwen3-8b"
    assert request["max_num_seqs"] == 256
    assert "max_model_len" not in request


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_]{1,20}", fullmatch=True),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(10**9), 10**9)
            | st.text("ab c,:'=", max_size=8),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text("xyz", min_size=1, max_size=3), inner, max_size=3)
            ),
            max_leaves=6,
        ),
        max_size=6,
    )
)
def test_a_printed_dictionary_comes_back(settings: dict[str, object]) -> None:
    """Python's own repr, whatever is nested in it."""
    found = {key: plain_value(text) for key, text in pairs(repr(settings)[1:])}
    assert list(found) == list(settings)
    for key, value in settings.items():
        if value is None or isinstance(value, bool | int):
            assert found[key] == value


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm-80gb"),
        ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("NVIDIA H100 NVL", "h100-nvl-94gb"),
        ("NVIDIA H200", "h200-sxm-141gb"),
        ("NVIDIA B200", "b200-sxm"),
        ("NVIDIA GB10", "dgx-spark-gb10"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA L4", "l4"),
        ("NVIDIA A10G", "a10g"),
        ("Tesla T4", "t4"),
        ("NVIDIA GeForce RTX 3090", "rtx-3090"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"),
        ("AMD Instinct MI300X OAM", "mi300x"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("NVIDIA A40-48Q", None),
        ("NVIDIA GeForce RTX 3080 Ti", None),
        ("Some GPU of next year", None),
    ],
)
def test_a_drivers_name_means_one_accelerator_or_none(name: str, expected: str | None) -> None:
    """Slices, laptops and cards that are not in the catalogue stay names."""
    assert accelerator_of(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("meta-llama/Llama-3.3-70B-Instruct", "llama-3.3-70b-instruct"),
        ("META-LLAMA/llama-3.3-70b-instruct", "llama-3.3-70b-instruct"),
        ("/mnt/models/Llama-3.3-70B-Instruct/", "llama-3.3-70b-instruct"),
        (
            "/home/vllm/.cache/huggingface/hub/models--meta-llama--Llama-3.3-70B-Instruct/snapshots/6f6",
            "llama-3.3-70b-instruct",
        ),
        ("someone/Llama-3.3-70B-Instruct-abliterated", None),
        ("someone-else/Llama-3.3-70B-Instruct", None),
        ("/mnt/models", None),
        ("", None),
    ],
)
def test_a_printed_name_means_one_model_or_none(name: str, expected: str | None) -> None:
    """A path by its last part, a repository only by its whole name."""
    assert model_of(name) == expected


def test_a_gpu_is_told_by_its_memory_where_only_one_kind_has_it() -> None:
    """139.8 GiB is an H200 of either form, as sizing knows them one kind."""
    text = "Free memory on device (139.1/139.8 GiB) on startup."
    result = check(text, model="qwen3-8b", accelerator="l4")
    assert result["request"]["accelerator"] in {"h200-sxm-141gb", "h200-nvl-141gb", "h20-141gb"}
    assert "accelerator_by_memory" in {note["kind"] for note in result["notes"]}


def test_a_gpu_of_no_known_memory_is_its_memory() -> None:
    """Nothing is guessed: the printed size takes the accelerator's place."""
    text = "Free memory on device (36.1/36.5 GiB) on startup."
    request = check(text, model="qwen3-8b", accelerator="l4")["request"]
    assert request["accelerator"] is None
    assert request["accelerator_total_bytes"] == round(36.5 * 2**30)


def test_the_scenarios_own_gpu_stands_while_the_memory_is_its_own() -> None:
    """79.25 GiB is an A100 80GB of either form: the one that was asked about."""
    text = "Free memory on device (78.8/79.25 GiB) on startup."
    assert "accelerator" not in check(text, accelerator="a100-pcie-80gb")["request"]
