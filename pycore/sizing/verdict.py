"""The verdict: whether the engine starts, whether it is comfortable, and why."""

from collections.abc import Mapping
from typing import Final

from pycore.engine.refusals.memory import WEIGHTS_TOO_LARGE
from pycore.engine.refusals.refusal import Refusal
from pycore.sizing.capacity import Capacity
from pycore.sizing.deployment import Deployment, pool_basis
from pycore.sizing.memory import StageMemory
from pycore.sizing.result import Verdict

# A pool under a tenth of the GPU is called tight.
TIGHT_SHARE: Final = 10


def judge(
    deployment: Deployment, memory: StageMemory, capacity: Capacity, workload: float
) -> tuple[tuple[Refusal, ...], Verdict, Mapping[str, object]]:
    """The refusals, the verdict, and why."""
    requested = deployment.requested_bytes
    pool_is_given = pool_basis(deployment.scenario, deployment.accelerator) == "exact"
    if memory.weights_bytes >= requested and not pool_is_given:
        reason = {"weights_bytes": memory.weights_bytes, "requested_bytes": requested}
        kind = "weights_exceed_budget"
        return (WEIGHTS_TOO_LARGE,), "does_not_fit", {"kind": kind, **reason}
    if capacity.refusal is not None and memory.available_kv_cache_bytes <= 0:
        short = -memory.available_kv_cache_bytes
        kind = "fixed_terms_exceed_budget"
        return (capacity.refusal,), "does_not_fit", {"kind": kind, "short_bytes": short}
    if capacity.refusal is not None:
        return (
            (capacity.refusal,),
            "refused",
            {
                "kind": "kv_cache_too_small",
                "needed_kv_cache_bytes": capacity.needed_bytes,
                "available_kv_cache_bytes": memory.available_kv_cache_bytes,
                "max_model_len": capacity.max_model_len,
            },
        )
    if workload < deployment.concurrency_per_replica:
        return (
            (),
            "tight",
            {
                "kind": "concurrency_short",
                "max_concurrency_for_workload": workload,
                "concurrency": deployment.concurrency_per_replica,
            },
        )
    pool = {"available_kv_cache_bytes": memory.available_kv_cache_bytes}
    if memory.available_kv_cache_bytes * TIGHT_SHARE < deployment.total_bytes:
        return (), "tight", {"kind": "pool_small", **pool}
    return (), "fits", {"kind": "room_to_spare", **pool}
