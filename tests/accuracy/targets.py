"""What is aimed at, and whether it is reached."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.accuracy.references import REFERENCES, reference_pools
from tests.accuracy.score import Scored, Summary, errors, summary

NEWEST: Final = "0.33.0"
OWN_VERSION: Final = "0.26.0"
TOKENS_NEAR: Final = 0.03


@dataclass(frozen=True, slots=True)
class Target:
    """One aim, what was reached, and whether that is enough."""

    title: str
    aim: str
    shown: str
    is_met: bool


def targets(all_scored: Sequence[Scored]) -> list[Target]:
    """Every aim of the benchmark."""
    pool, weights = known(all_scored, "kv_pool"), known(all_scored, "weights")
    return [
        at_most("KV pool, mean absolute error", pool.mean, 0.025),
        at_most("KV pool, median absolute error", pool.median, 0.01),
        at_most("weights, mean absolute error", weights.mean, 0.005),
        at_most("72B bf16 at TP 2 on 80 GB, worst pool", worst_72b(all_scored), 0.05),
        at_most(f"R1 at {NEWEST}", reference_error(NEWEST), 0.03),
        at_most(f"R1 at {OWN_VERSION}", reference_error(OWN_VERSION), 0.03),
        at_least("tokens within 3 %", near(errors(all_scored, "tokens")), 0.95),
        over_and_under(pool),
        at_least("pools inside the stated range", inside(all_scored), 0.85),
    ]


def known(all_scored: Sequence[Scored], figure: str) -> Summary:
    """The summary of a figure that some records surely have."""
    found = summary(errors(all_scored, figure))
    if found is None:
        raise ValueError(figure)
    return found


def at_most(title: str, value: float, aim: float) -> Target:
    """An error that should not be larger."""
    return Target(title, f"≤ {100 * aim:g} %", f"{100 * value:.2f} %", value <= aim)


def at_least(title: str, value: float, aim: float) -> Target:
    """A share that should not be smaller."""
    return Target(title, f"≥ {100 * aim:g} %", f"{100 * value:.1f} %", value >= aim)


def over_and_under(pool: Summary) -> Target:
    """That no more is promised than is held back."""
    return Target(
        "promises of too much against too little",
        "no more",
        f"{pool.over} : {pool.under}",
        pool.over <= pool.under,
    )


def worst_72b(all_scored: Sequence[Scored]) -> float:
    """The worst error of the 72B models in bf16 at TP 2 on 80 GB."""
    found = [
        abs(one.comparisons["kv_pool"].error)
        for one in all_scored
        if "72b" in one.record.model.lower()
        and one.record.request.get("tensor_parallel_size") == 2
        and one.deployed.deployment.model.quantization is None
    ]
    return max(found)


def reference_error(version: str) -> float:
    """How far R1 is off at a version."""
    reference = REFERENCES[0]
    for name, pool, _, _ in reference_pools(reference):
        if name == version:
            return abs(pool / reference.pool_gib - 1)
    raise ValueError(version)


def near(values: Sequence[float]) -> float:
    """The share of errors that are small."""
    return sum(abs(value) <= TOKENS_NEAR for value in values) / len(values)


def inside(all_scored: Sequence[Scored]) -> float:
    """The share of pools inside their range."""
    return sum(one.is_within for one in all_scored) / len(all_scored)
