"""The alerts that a scenario calls for."""

from typing import Final

from pycore.evidence.watching.rules_text import Alert
from pycore.evidence.watching.steady import Steady, tenths
from pycore.scenario import Scenario
from pycore.sizing.result import SizeResult

NEARLY_FULL: Final = 0.95
# GPUs of one group work in step; sampling alone does not pull them this far apart.
UNEVEN_PERCENT: Final = 30
UNEVEN_SHARE: Final = 0.2


def difference(metric: str) -> str:
    """How far the GPUs of one pod are apart."""
    return f"max by (Hostname, pod) ({metric}) - min by (Hostname, pod) ({metric})"


def each_alert(scenario: Scenario, result: SizeResult, steady: Steady) -> list[Alert]:
    """The alerts for this scenario."""
    found = [*pool_alerts(scenario, steady), *queue_alerts(steady)]
    return [*found, *uneven(result)] if scenario.tensor_parallel_size > 1 else found


def pool_alerts(scenario: Scenario, steady: Steady) -> list[Alert]:
    """What tells a pool that is too small."""
    threshold = max(NEARLY_FULL, min(0.99, round(steady.usage_at_full_length + 0.02, 2)))
    return [
        Alert(
            "VllmPreempting",
            "sum by (model_name) (rate(vllm:num_preemptions_total[5m])) > 0",
            "2m",
            "warning",
            "Requests are thrown out of a full KV cache and computed anew",
            f"The pool holds {tenths(steady.held):.1f} requests of {scenario.input_tokens} + "
            f"{scenario.output_tokens} tokens; more were admitted.",
        ),
        Alert(
            "VllmKvCacheNearlyFull",
            f"max by (model_name) (vllm:kv_cache_usage_perc) > {threshold:g}",
            "5m",
            "warning",
            "The KV cache is fuller than this workload makes it",
            f"It should settle at {steady.usage:.0%} and reach {steady.usage_at_full_length:.0%}.",
        ),
    ]


def queue_alerts(steady: Steady) -> list[Alert]:
    """What tells more requests than the server was sized for, or no server."""
    waiting = int(max(0.0, steady.asked - steady.running))
    return [
        Alert(
            "VllmRequestsWaiting",
            f"max by (model_name) (vllm:num_requests_waiting) > {waiting}",
            "5m",
            "warning",
            "Requests wait longer than a moment",
            f"With {steady.asked} at once {waiting or 'none'} should wait.",
        ),
        Alert(
            "VllmMoreRunningThanHeld",
            f"max by (model_name) (vllm:num_requests_running) > {max(1, int(steady.held))}",
            "5m",
            "info",
            "More requests run than fit at their full length",
            "They fit only as long as most are short of their end; preemptions follow.",
        ),
        Alert(
            "VllmMetricsAbsent",
            "absent(vllm:num_requests_running)",
            "5m",
            "critical",
            "No vLLM engine reports its metrics",
            "It is down, still loading, or not scraped.",
        ),
    ]


def uneven(result: SizeResult) -> list[Alert]:
    """The alerts that tell a split which failed silently."""
    apart = int(result.requested_bytes * UNEVEN_SHARE) // (1 << 20)
    return [
        Alert(
            "TensorParallelRanksUneven",
            f"{difference('DCGM_FI_DEV_GPU_UTIL')} > {UNEVEN_PERCENT}",
            "10m",
            "critical",
            "GPUs of one tensor-parallel group are not equally busy",
            "Ranks work in step; one that idles is not in the group: the split failed silently.",
        ),
        Alert(
            "TensorParallelMemoryUneven",
            f"{difference('DCGM_FI_DEV_FB_USED')} > {apart}",
            "10m",
            "critical",
            "GPUs of one tensor-parallel group do not hold the same memory",
            "Each rank holds the same share of weights and KV cache.",
        ),
    ]
