"""The golden rows as typed objects."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One size of the cache and one length, and what the engine made of them."""

    available_kv_cache_bytes: int
    max_model_len: int | str
    needed_kv_cache_bytes: int | None
    estimated_max_model_len: int | None
    num_gpu_blocks: int | None
    kv_cache_size_tokens: int | None
    kv_cache_max_concurrency: float | None
    autofit_max_model_len: int | None = None

    @property
    def is_refused(self) -> bool:
        """Whether the engine would not start: the cache cannot hold one request."""
        return self.num_gpu_blocks is None


@dataclass(frozen=True)
class Build:
    """One configuration on given ranks, and what the engine made of it."""

    model: str
    request: dict[str, Any]
    """The contract's request, configuration included."""
    expected: dict[str, Any]
    refused: dict[str, str] | None
    cases: tuple[Case, ...]
    is_exact: bool
    """Whether the weights must be right to the byte, not only to 0.1 %."""

    @property
    def label(self) -> str:
        """The model and what the request sets, short enough for a line."""
        settings = {k: v for k, v in self.request.items() if k not in CONFIG_KEYS}
        return f"{self.model} " + " ".join(f"{_short(k)}={v}" for k, v in settings.items())


CONFIG_KEYS = ("config", "hf_quant_config", "engine_version")


def _short(key: str) -> str:
    """``tensor_parallel_size`` as ``tp`` and so on; other keys as they are."""
    names = {"tensor": "tp", "pipeline": "pp", "decode": "dcp", "data": "dp"}
    return names.get(key.split("_", 1)[0], key) if key.endswith("parallel_size") else key


def read_lines(name: str) -> Iterator[dict[str, Any]]:
    """The rows of one file of this folder."""
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def builds() -> Iterator[Build]:
    """Every build."""
    configs = {row["config"]: row for row in read_lines("configs")}
    for row in read_lines("builds"):
        config = configs[row["config"]]
        request = {"config": config["content"], "engine_version": row["engine_version"]}
        if "hf_quant_config" in config:
            request["hf_quant_config"] = config["hf_quant_config"]
        text = config["content"].get("text_config", {})
        is_quantized = "hf_quant_config" in config or any(
            "quantization_config" in section for section in (config["content"], text)
        )
        is_pipelined = "pipeline_parallel_size" in row["request"]
        yield Build(
            model=row["model"],
            is_exact=not is_quantized and not is_pipelined,
            request=request | row["request"],
            expected=row.get("expected", {}),
            refused=row.get("refused"),
            cases=tuple(Case(*case) for case in row.get("cases", ())),
        )
