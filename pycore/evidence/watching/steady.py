"""A workload that has settled: how many requests run, and how full they make the pool."""

import math
from dataclasses import dataclass

from pycore.engine.kv.capacity import blocks_per_request
from pycore.engine.kv.formulas import kv_cache_max_concurrency
from pycore.scenario import Scenario
from pycore.sizing.deployment import deployment_of, plan_of
from pycore.sizing.ledger import Ledger
from pycore.sizing.result import SizeResult
from pycore.units import ceil_div


def tenths(value: float) -> float:
    """A number of requests to one decimal: never more than there are."""
    return math.floor(value * 10 + 1e-9) / 10


@dataclass(frozen=True, slots=True)
class Steady:
    """One replica under its share of the workload, once it has settled."""

    asked: int
    held: float
    running: float
    usage: float
    usage_at_full_length: float

    @property
    def preempts(self) -> bool:
        """Whether more is admitted than fits at full length."""
        return self.asked > self.held


def steady_state(scenario: Scenario, result: SizeResult) -> Steady | None:
    """The workload on one replica; None where the engine does not start.

    Requests are met at any point of their answer, so on average half of it is in the cache.
    """
    blocks = result.num_gpu_blocks
    if not result.starts or not blocks:
        return None
    plan = plan_of(deployment_of(scenario, Ledger(is_open=False)))
    full = scenario.input_tokens + scenario.output_tokens
    half = scenario.input_tokens + ceil_div(scenario.output_tokens, 2)
    asked = ceil_div(scenario.concurrency, scenario.data_parallel_size)
    most = result.chosen["max_num_seqs"]
    limit = most if isinstance(most, int) else asked
    held, at_half = (
        kv_cache_max_concurrency(
            num_gpu_blocks=blocks, blocks_per_request=blocks_per_request(plan, tokens)
        )
        for tokens in (full, half)
    )
    running = min(float(asked), float(limit), at_half)
    return Steady(
        asked=asked,
        held=min(held, float(limit)),
        running=running,
        usage=min(1.0, running / at_half),
        usage_at_full_length=min(1.0, min(asked, limit) / held),
    )
