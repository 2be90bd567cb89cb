"""JSON text → Scenario: decoded once, at the boundary, so that the core can trust its types.

Each key of the contract has one reader here; what a reader refuses becomes a failure that names
the key, the reason and the choices.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Final

from pycore.engine.kv.dtypes import KV_CACHE_DTYPES
from pycore.errors import InvalidRequest
from pycore.model.catalogue import whole_model_of
from pycore.model.config_fields import CONFIG_FIELDS
from pycore.scenario import Measured, Scenario

Reader = Callable[[str, object], object]

# Whole numbers up to here survive a trip through JavaScript.
LARGEST_EXACT: Final = 2**53 - 1
LARGEST_TOKENS: Final = 10**9
LARGEST_PARALLEL: Final = 4096

QUANTIZATIONS: Final = (
    "fp8",
    "fp8_per_tensor",
    "fp8_per_channel",
    "fp8_per_block",
    "mxfp8",
    "mxfp4",
    "nvfp4_per_token",
    "int8_per_channel_weight_only",
    "experts_int8",
    "bitsandbytes",
    "awq",
    "gptq",
    "compressed-tensors",
    "modelopt",
)
DTYPES: Final = ("auto", "bfloat16", "float16", "float32", "half", "float")
ASKS: Final = ("size", "knobs", "frontier", "model", "catalogue", "check_run", "watch")


class RepeatedKeys(dict[str, object]):
    """A JSON object in which ``key`` stands more than once."""

    key = ""


def show(value: object) -> str:
    """``value`` as JSON, cut short, for a message."""
    text = json.dumps(value, default=str) if not isinstance(value, float) else repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def wrong_type(key: str, value: object, wanted: str) -> InvalidRequest:
    """The failure for a value of the wrong type."""
    return InvalidRequest(key, "wrong_type", f"{key} must be {wanted}, not {show(value)}")


def whole(minimum: int, maximum: int) -> Reader:
    """A reader of whole numbers from ``minimum`` to ``maximum``."""

    def read(key: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong_type(key, value, "a whole number")
        if not minimum <= value <= maximum:
            raise InvalidRequest(
                key, "out_of_range", f"{key} must be from {minimum} to {maximum}, not {show(value)}"
            )
        return value

    return read


def flag(key: str, value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise wrong_type(key, value, "true or false")
    return value


def word(key: str, value: object) -> str:
    """A string."""
    if not isinstance(value, str):
        raise wrong_type(key, value, "a string")
    return value


def choice(*choices: str) -> Reader:
    """A reader of one of ``choices``."""

    def read(key: str, value: object) -> str:
        if word(key, value) not in choices:
            raise InvalidRequest(
                key,
                "unknown_choice",
                f"{key} must be one of {', '.join(choices)}, not {show(value)}",
                choices,
            )
        return str(value)

    return read


def share(key: str, value: object) -> float:
    """A share above 0 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_type(key, value, "a number above 0 and at most 1")
    if not 0 < value <= 1:  # which NaN is not either
        raise InvalidRequest(
            key, "out_of_range", f"{key} must be above 0 and at most 1, not {show(value)}"
        )
    return float(value)


def max_model_len(key: str, value: object) -> int | str:
    """A number of tokens, or "auto"."""
    if value in ("auto", -1):
        return "auto"
    if isinstance(value, str):
        raise InvalidRequest(
            key, "unknown_choice", f'{key} must be a number or "auto", not {show(value)}', ("auto",)
        )
    return tokens(key, value)  # type: ignore[return-value]  # a reader of whole numbers


def config_text(key: str, value: object) -> str:
    """A config.json: its text, or the object itself, kept as text until it is read."""
    if isinstance(value, str):
        return value
    if isinstance(value, RepeatedKeys):
        raise InvalidRequest(
            f"{key}.{value.key}", "repeated_key", f"the config has {value.key} twice"
        )
    if not isinstance(value, dict):
        raise wrong_type(key, value, "a JSON object or its text")
    return json.dumps(value)


def measured(key: str, value: object) -> Measured:
    """Figures of a real run, each in whole bytes."""
    if not isinstance(value, dict):
        raise wrong_type(key, value, "an object")
    refuse_repeats(value, f"{key}.")
    known = [item.name for item in fields(Measured)]
    for name, figure in value.items():
        if name not in known:
            raise unknown_key(f"{key}.{name}", [f"{key}.{name}" for name in known])
        if figure is not None:
            read = some_bytes if name == "total_bytes" else num_bytes
            read(f"{key}.{name}", figure)
    return Measured(**value)


def schema(key: str, value: object) -> object:
    """The contract's version: there is one."""
    if isinstance(value, bool) or value != 1:
        raise InvalidRequest(key, "unknown_choice", f"{key} must be 1, not {show(value)}", ("1",))
    return value


tokens: Final = whole(1, LARGEST_TOKENS)
parallel: Final = whole(1, LARGEST_PARALLEL)
num_bytes: Final = whole(0, LARGEST_EXACT)
some_bytes: Final = whole(1, LARGEST_EXACT)

READERS: Final[dict[str, Reader]] = {
    "ask": choice(*ASKS),
    "text": word,
    "model": word,
    "config": config_text,
    "hf_quant_config": config_text,
    "checkpoint_bytes": some_bytes,
    "accelerator": word,
    "accelerator_total_bytes": some_bytes,
    "accelerators_per_node": parallel,
    "accelerator_free_bytes": num_bytes,
    "tensor_parallel_size": parallel,
    "pipeline_parallel_size": parallel,
    "data_parallel_size": parallel,
    "decode_context_parallel_size": parallel,
    "enable_expert_parallel": flag,
    "dtype": choice(*DTYPES),
    "quantization": choice(*QUANTIZATIONS),
    "kv_cache_dtype": choice(*KV_CACHE_DTYPES),
    "mamba_ssm_cache_dtype": choice("auto", "float32", "float16", "bfloat16"),
    "block_size": whole(1, 1 << 20),
    "language_model_only": flag,
    "engine": choice("vllm"),
    "engine_version": word,
    "gpu_memory_utilization": share,
    "kv_cache_memory_bytes": num_bytes,
    "max_model_len": max_model_len,
    "max_num_seqs": whole(1, 1 << 20),
    "max_num_batched_tokens": tokens,
    "enforce_eager": flag,
    "enable_prefix_caching": flag,
    "disable_hybrid_kv_cache_manager": flag,
    "input_tokens": tokens,
    "output_tokens": tokens,
    "concurrency": whole(1, 1 << 20),
    "figures": flag,
    "measured": measured,
    "schema": schema,
}


def refuse_repeats(value: object, prefix: str = "") -> None:
    """Refuse an object in which a key stands twice: which one was meant is not known."""
    if isinstance(value, RepeatedKeys):
        raise InvalidRequest(
            prefix + value.key, "repeated_key", f"{prefix}{value.key} is given twice"
        )


def unknown_key(key: str, known: list[str]) -> InvalidRequest:
    """The failure for a key that the contract does not have."""
    shown = key[:80] or "an empty key"
    return InvalidRequest(
        key[:80] or "request", "unknown_field", f"{shown} is not a field of a request", known
    )


def object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object that remembers a repeated key."""
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    repeated = RepeatedKeys(result)
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            repeated.key = key
        seen.add(key)
    return repeated


def too_deep() -> InvalidRequest:
    """The failure for lists and objects in one another beyond what can be read."""
    return InvalidRequest("request", "not_json", "the request is nested too deeply")


def parse(text: str) -> object:
    """The JSON value of ``text``; NaN and Infinity are read, and refused where they are used."""
    try:
        return json.loads(text, object_pairs_hook=object_of)
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:
        raise InvalidRequest("request", "not_json", f"the request is not JSON: {error}") from None


def read_scenario(request: object) -> Scenario:
    """The scenario that a decoded request asks about."""
    if not isinstance(request, Mapping):
        raise InvalidRequest(
            "request", "wrong_type", f"a request must be a JSON object, not {show(request)}"
        )
    refuse_repeats(request)
    values: dict[str, object] = {}
    overrides: dict[str, object] = {}
    for key, value in request.items():
        reader = READERS.get(key)
        if reader is None:
            refuse_repeats(value, f"{key}.")
            overrides[key] = value
        elif value is not None:
            values[key] = reader(key, value)
    values.pop("schema", None)
    scenario = Scenario(**values, overrides=overrides)  # type: ignore[arg-type]  # READERS checked them
    if not overrides.keys() <= CONFIG_FIELDS.keys():
        refuse_unknown_keys(scenario)
    return scenario


def refuse_unknown_keys(scenario: Scenario) -> None:
    """Refuse a key that is the contract's no more than the config's of the scenario's model."""
    if scenario.model is None and scenario.config is None:
        unknown = next(key for key in scenario.overrides if key not in CONFIG_FIELDS)
        raise unknown_key(unknown, [*READERS])
    whole_model_of(scenario)
