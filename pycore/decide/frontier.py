"""Context against concurrency: how many requests of each length the pool holds at once."""

from dataclasses import dataclass, replace
from typing import Final

from pycore.engine.kv import capacity as kv_capacity
from pycore.engine.kv.formulas import max_concurrency_for_workload
from pycore.scenario import Scenario
from pycore.sizing.deployment import deployment_of
from pycore.sizing.ledger import Ledger
from pycore.sizing.size import Sizing, refusals_before_loading, sizing_of

SHORTEST_TOKENS: Final = 1024
STEPS_PER_DOUBLING: Final = 4
MOST_POINTS: Final = 64


@dataclass(frozen=True, slots=True)
class Point:
    """Requests of ``context_tokens`` that one replica holds at once."""

    context_tokens: int
    """Tokens of a request, prompt and answer together."""
    concurrency: float
    """Requests of that length that the pool holds at once, no more than are scheduled."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """The answer to ``frontier``: the curve, where it ends, and where the scenario stands on it."""

    points: tuple[Point, ...]
    """From 1,024 tokens to the longest request; none where the engine would not start."""
    refused_beyond_tokens: int | None
    """The longest request that fits; null where the engine refuses whatever the length."""
    here: Point | None
    """The scenario's own workload; null where there is no curve."""


def frontier(scenario: Scenario) -> Frontier:
    """Points from 1,024 tokens to the longest request, evenly spaced on a logarithmic scale."""
    ledger = Ledger(is_open=False)
    deployment = deployment_of(replace(scenario, figures=False), ledger)
    if refusals_before_loading(deployment):
        return Frontier((), None, None)
    sizing = sizing_of(deployment, ledger)
    longest = sizing.capacity.longest_request_tokens
    if longest == 0:
        return Frontier((), 0, None)
    return Frontier(
        tuple(point(sizing, tokens) for tokens in lengths(longest)),
        longest,
        point(sizing, deployment.workload_tokens),
    )


def point(sizing: Sizing, tokens: int) -> Point:
    """Requests of ``tokens`` that the pool holds at once, no more than are scheduled."""
    held = max_concurrency_for_workload(
        num_gpu_blocks=sizing.capacity.num_gpu_blocks,
        blocks_per_request=kv_capacity.blocks_per_request(sizing.plan, tokens),
        max_num_seqs=sizing.deployment.settings.max_num_seqs,
    )
    return Point(tokens, held)


def lengths(longest: int) -> list[int]:
    """Lengths up to ``longest``, which is the last."""
    shortest = min(SHORTEST_TOKENS, longest)
    spaced = (round(shortest * 2 ** (step / STEPS_PER_DOUBLING)) for step in range(MOST_POINTS - 1))
    return [*(tokens for tokens in spaced if tokens < longest), longest]
