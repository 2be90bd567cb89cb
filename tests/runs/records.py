"""Public start-up records of real servers: what each was asked to serve, and what it printed.

``runs.jsonl`` holds one record a line: ``request`` under the contract's names, ``measured`` under
the contract's names with sizes in GiB as printed (``available_kv_cache_gib`` for
``available_kv_cache_bytes``), ``by_rank`` where ranks differ, and ``traits`` that a reader of the
figures must know. ``grade`` A is a log or its full excerpt, B a figure quoted from one. Every record
names its source. A file of records with shorter names, as collectors write them, is read too.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

RUNS: Final = Path(__file__).parent / "runs.jsonl"
GIB: Final = 1 << 30
# A collector's names for what a record calls by the contract's.
MEASURED_ALIASES: Final = {
    "weights_gib": "loaded_weights_gib_per_rank",
    "activation_peak_gib": "activation_gib",
    "total_non_kv_gib": "total_non_kv_cache_gib",
    "available_kv_gib": "available_kv_cache_gib",
    "total_gpu_gib": "total_gib",
    "free_gpu_gib": "accelerator_free_gib",
    "needed_kv_gib": "needed_kv_cache_gib",
    "est_max_len": "estimated_max_model_len",
    "kv_tokens": "kv_cache_size_tokens",
    "max_concurrency": "kv_cache_max_concurrency",
    "max_concurrency_at": "kv_cache_max_concurrency_at_tokens",
    "mamba_attn_block_size": "block_size",
}
REQUEST_ALIASES: Final = {
    "tp": "tensor_parallel_size",
    "pp": "pipeline_parallel_size",
    "dp": "data_parallel_size",
}
REQUESTED: Final = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "decode_context_parallel_size",
    "enable_expert_parallel",
    "dtype",
    "kv_cache_dtype",
    "gpu_memory_utilization",
    "max_model_len",
    "max_num_seqs",
    "max_num_batched_tokens",
    "enforce_eager",
    "enable_prefix_caching",
    "language_model_only",
    "block_size",
    "quantization",
)
MEASURED: Final = (
    "loaded_weights_gib_per_rank",
    "activation_gib",
    "printed_peak_activation_gib",
    "non_torch_gib",
    "consumed_gib",
    "total_non_kv_cache_gib",
    "cuda_graph_gib",
    "cuda_graph_estimated_gib",
    "available_kv_cache_gib",
    "total_gib",
    "accelerator_free_gib",
    "needed_kv_cache_gib",
    "estimated_max_model_len",
    "num_gpu_blocks",
    "kv_cache_size_tokens",
    "kv_cache_max_concurrency",
    "kv_cache_max_concurrency_at_tokens",
    "block_size",
)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One start of one server."""

    id: str
    source: str
    source_group: str
    grade: str
    engine: str
    engine_version: str | None
    model: str
    accelerator: str | None
    request: Mapping[str, Any]
    measured: Mapping[str, float]
    by_rank: Mapping[str, list[float]]
    failed: str | None
    traits: frozenset[str]

    @property
    def version(self) -> tuple[int, int] | None:
        """Major and minor version; None where it is not known."""
        if self.engine_version is None:
            return None
        major, minor = self.engine_version.split(".")[:2]
        return int(major), int(minor)

    def measured_bytes(self, figure: str) -> int | None:
        """A measured size under the contract's name, in bytes."""
        size = self.measured.get(gib_name(figure))
        return None if size is None else round(size * GIB)


def gib_name(figure: str) -> str:
    """The name under which a record keeps a size in GiB."""
    return figure.replace("_bytes", "_gib")


def bytes_name(figure: str) -> str:
    """The contract's name of a figure that a record keeps in GiB."""
    return figure.replace("_gib", "_bytes")


def records(path: Path = RUNS) -> list[RunRecord]:
    """Every record of a file, in its order."""
    with path.open(encoding="utf-8") as lines:
        return [record_of(json.loads(line)) for line in lines if line.strip()]


def record_of(row: Mapping[str, Any]) -> RunRecord:
    """A record from its row, whichever names it uses."""
    request = row.get("request")
    if request is None:
        named = {REQUEST_ALIASES.get(key, key): value for key, value in row.items()}
        request = kept(named, REQUESTED)
    figures = {MEASURED_ALIASES.get(key, key): value for key, value in row["measured"].items()}
    return RunRecord(
        id=row["id"],
        source=row.get("source") or row.get("source_url", ""),
        source_group=row.get("source_group", ""),
        grade=row.get("grade", ""),
        engine=row.get("engine", "vllm"),
        engine_version=version_of(row.get("engine_version")),
        model=row["model"],
        accelerator=row.get("accelerator"),
        request=request,
        measured=kept(figures, MEASURED),
        by_rank=row.get("by_rank", {}),
        failed=row.get("failed"),
        traits=frozenset(row.get("traits", ())),
    )


def kept(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The values that are known, of those named."""
    return {name: values[name] for name in names if values.get(name) is not None}


def version_of(text: str | None) -> str | None:
    """A version, if the text begins with one."""
    head = (text or "").split(" ")[0]
    parts = head.split(".")
    return head if len(parts) > 1 and parts[0].isdecimal() and parts[1].isdecimal() else None
