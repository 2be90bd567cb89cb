"""Writes the constants that all usable runs together teach to the core's own data.

``python3 build.py accuracy --learn``. What each constant means stands here; its value, its error
and what it was learnt from come from the fit. The ranges' own constants are chosen so that about
nine of ten pools lie within them, models and sources left out in turn; they are only copied.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pycore.data import rows
from pycore.engine.overheads import learnt_anew
from tests.accuracy.fit import LEARNABLE, fitted
from tests.accuracy.observations import Observation

ROOT: Final = Path(__file__).parents[2]
STORED: Final = ROOT / "pycore" / "data" / "overheads.jsonl"
GIB: Final = 1 << 30
# Sizes are kept to a MiB, which is what logs of two decimals can tell; shares of layers finer.
MIB: Final = 1 << 20
SOURCE: Final = "learnt from public start-up records: docs/accuracy.md"

MEANINGS: Final = {
    "sorted_logit_copies": "matrices of float32 logits while they are sorted (vLLM 0.10 to 0.16)",
    "base_bytes": "what else the tensor library keeps, and a little held to the safe side",
    "hidden_copies": "rows of hidden_size that a layer holds for each token",
    "non_torch_0_10_bytes": "outside torch on one rank, vLLM 0.10",
    "non_torch_0_11_bytes": "outside torch on one rank, vLLM 0.11 to 0.17",
    "non_torch_0_18_bytes": "outside torch on one rank from vLLM 0.18 on",
    "non_torch_before_hopper_bytes": "the same on GPUs before Hopper, vLLM 0.10 to 0.17",
    "non_torch_before_ada_bytes": "the same on GPUs before Ada from vLLM 0.18 on, which load fewer kernels",
    "non_torch_amd_bytes": "outside torch on one rank on AMD's GPUs",
    "non_torch_stage_bytes": "outside torch on a pipeline stage of one rank",
    "ranks_bytes": "to talk to other ranks",
    "unlinked_ranks_bytes": "to talk to other ranks over PCIe",
    "multicast_bytes": "to write to all ranks at once (Hopper and Blackwell, vLLM 0.17 to 0.24)",
    "further_rank_bytes": "for each rank beyond the first",
    "host_memory_bytes": "the process itself, where CPU and GPU share their memory",
    "slack_bytes": "holes that weights laid out anew leave in what is reserved, from vLLM 0.27 on",
    "older_graph_pool_bytes": "the pool of CUDA graphs, vLLM 0.19 and before",
    "older_graph_layer_bytes": "each CUDA graph and layer, vLLM 0.19 and before",
    "graph_pool_bytes": "the pool of CUDA graphs as V1 estimates it, from vLLM 0.20 on",
    "graph_layer_bytes": "each CUDA graph and layer as V1 estimates it, from vLLM 0.20 on",
    "state_graph_layer_bytes": "the same for models that keep states of fixed size",
    "v2_graph_pool_bytes": "all CUDA graphs as V2 estimates them, from vLLM 0.29 on",
}


def learn(said: Sequence[Observation]) -> list[dict[str, Any]]:
    """The rows of the data file, learnt anew."""
    constants = rounded(fitted(said))
    with learnt_anew(constants):
        before = [observation.residual() for observation in said]
    learnt = [described(name, constants, said, before) for name in LEARNABLE]
    return [*learnt, *(row for row in rows("overheads") if row["id"] not in LEARNABLE)]


def rounded(constants: dict[str, float]) -> dict[str, float]:
    """Constants to the digits that the records can tell."""
    return {
        name: round(value, 1)
        if not name.endswith("_bytes")
        else round(value / 1000) * 1000
        if "layer" in name
        else round(value / MIB) * MIB
        for name, value in constants.items()
    }


def described(
    name: str, constants: dict[str, float], said: Sequence[Observation], before: Sequence[float]
) -> dict[str, Any]:
    """One constant with its meaning, its error and where it comes from."""
    moved = {**constants, name: constants[name] + LEARNABLE[name][1]}
    with learnt_anew(moved):
        speaking = [
            (observation, residual)
            for observation, residual in zip(said, before, strict=True)
            if abs(observation.residual() - residual) > 1e-9
        ]
    sources = {observation.deployed.record.source_group for observation, _ in speaking}
    sizes = sorted(abs(residual) for _, residual in speaking)
    value = constants[name]
    return {
        "id": name,
        "value": value if not name.endswith("_bytes") else int(value),
        "summary": MEANINGS[name],
        "num_observations": len(speaking),
        "num_sources": len(sources),
        "error_of_nine_in_ten_gib": round(sizes[len(sizes) * 9 // 10], 3) if sizes else None,
        "source": SOURCE,
    }


def write(rows_to_write: Sequence[dict[str, Any]]) -> None:
    """Writes the data file."""
    text = "".join(json.dumps(row) + "\n" for row in rows_to_write)
    STORED.write_text(text, encoding="utf-8")
