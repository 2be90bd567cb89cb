"""Context against concurrency: how many requests of each length the pool holds at once."""

from dataclasses import dataclass, replace

from pycore.scenario import Scenario
from pycore.sizing.size import deployment_of, plan_of, size, workload_concurrency
from pycore.sizing.ledger import Ledger

SHORTEST_TOKENS = 1024
STEPS_PER_DOUBLING = 4
MOST_POINTS = 64


@dataclass(frozen=True, slots=True)
class Point:
    """Requests of ``context_tokens`` that fit at once."""

    context_tokens: int
    concurrency: float


def frontier(scenario: Scenario) -> dict[str, object]:
    """Points from 1,024 tokens to the longest request, closer together where it is short."""
    here = size(replace(scenario, figures=False))
    workload = scenario.input_tokens + scenario.output_tokens
    if here.num_gpu_blocks is None or not here.longest_request_tokens:
        return {"points": [], "refused_beyond_tokens": here.longest_request_tokens, "here": None}
    deployment = deployment_of(scenario, Ledger(is_open=False))
    plan = plan_of(deployment)

    def point(tokens: int) -> Point:
        one = replace(deployment, scenario=replace(scenario, input_tokens=tokens, output_tokens=0))
        return Point(tokens, workload_concurrency(one, plan, here.num_gpu_blocks or 0))

    return {
        "points": [point(tokens) for tokens in lengths(here.longest_request_tokens)],
        "refused_beyond_tokens": here.longest_request_tokens,
        "here": Point(workload, here.max_concurrency_for_workload or 0.0),
    }


def lengths(longest: int) -> list[int]:
    """Lengths evenly spaced on a logarithmic scale, the longest included."""
    shortest = min(SHORTEST_TOKENS, longest)
    found = []
    step = 0
    while len(found) < MOST_POINTS - 1:
        tokens = round(shortest * 2 ** (step / STEPS_PER_DOUBLING))
        if tokens >= longest:
            break
        found.append(tokens)
        step += 1
    return [*found, longest]
