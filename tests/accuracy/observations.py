"""What each usable record says about a term, and what Napkin's own formulas give for it.

A term is predicted by the functions that an answer is made of, so that constants learnt here are
the ones that those functions then use.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from pycore.engine.runners import takes_cuda_graphs_from_budget
from pycore.engine.shards import ranks_of
from pycore.request import read_scenario
from pycore.sizing.deployment import Deployment, deployment_of
from pycore.sizing.ledger import Ledger
from pycore.sizing.memory import cuda_graphs_of, is_unseen, non_torch_of
from pycore.sizing.profiling import profiled
from pycore.sizing.profiling_run import Run
from pycore.sizing.weights import StageWeights, stage_weights
from tests.accuracy.requests import request_of
from tests.runs.records import RunRecord

GIB: Final = 1 << 30
QUIET: Final = Ledger(is_open=False)
# A pool whose terms were not printed says less about each of them.
WEIGHT_OF_POOL: Final = 0.3


@dataclass(frozen=True, slots=True)
class Deployed:
    """A record's deployment, ready to have the terms of its stages predicted."""

    record: RunRecord
    deployment: Deployment
    stages: tuple[StageWeights, ...]

    def run(self, stage: int) -> Run:
        """The profiling run of one stage."""
        found = self.deployment
        return Run(found.scenario, found.settings, found.model, found.accelerator, stage)

    @property
    def counts_consumed(self) -> bool:
        """Whether the version counts all that vanished from the GPU."""
        return self.deployment.settings.version.counts_consumed

    @property
    def takes_graphs(self) -> bool:
        """Whether an estimate for CUDA graphs is taken from the budget."""
        settings = self.deployment.settings
        return takes_cuda_graphs_from_budget(
            settings.version, self.deployment.accelerator, v2_runner=settings.v2_runner
        )


@dataclass(frozen=True, slots=True)
class Terms:
    """What Napkin puts the terms of one stage at [GiB]."""

    activation: float
    warm_activation: float
    non_torch: float
    cuda_graphs: float

    def named(self, name: str) -> float:
        """The term of that name."""
        return self.non_torch if name == "non_torch" else self.cuda_graphs


@dataclass(frozen=True, slots=True)
class Observation:
    """One measured term, or a sum of terms that was measured as one [GiB]."""

    deployed: Deployed
    terms: tuple[str, ...]
    measured: float
    weight: float = 1.0
    stage: int = 0

    def residual(self) -> float:
        """Predicted less measured, of a start with or without a compiled model in its cache."""
        terms = terms_of(self.deployed, self.stage)
        rest = sum(terms.named(name) for name in self.terms if name != "activation")
        if "activation" not in self.terms:
            return rest - self.measured
        both = (terms.activation, terms.warm_activation)
        return min((rest + value - self.measured for value in both), key=abs)


def deployed(record: RunRecord) -> Deployed:
    """A record's deployment."""
    scenario = read_scenario(request_of(record))
    found = deployment_of(scenario, QUIET)
    ranks = ranks_of(scenario, found.accelerator)
    settings = found.settings
    stages = stage_weights(found.model, ranks, settings.dtype, settings.quantization)
    return Deployed(record, found, stages)


def terms_of(one: Deployed, stage: int) -> Terms:
    """The terms of one stage, by the formulas and the constants of the moment."""
    run = one.run(stage)
    profile = profiled(run, QUIET)
    return Terms(
        profile.peak_bytes / GIB,
        profile.warm_peak_bytes / GIB,
        non_torch_of(run, profile, QUIET).value / GIB,
        cuda_graphs_of(run, one.stages[stage], QUIET).value / GIB,
    )


def observations(
    all_deployed: Iterable[Deployed], of_graphs_alone: Iterable[Deployed] = ()
) -> list[Observation]:
    """What the records say; what one source says of one model several times counts once.

    Of some records only the estimate for CUDA graphs can be used.
    """
    found = [observation for one in all_deployed for observation in observed(one)]
    found += [observation for one in of_graphs_alone for observation in observed_graphs(one)]
    voices = Counter(said(observation) for observation in found)
    twins = Counter((said(observation), observation.measured) for observation in found)
    told_apart = {(said(observation), observation.measured): observation for observation in found}
    return [
        replace(observation, weight=observation.weight * twins[key] / voices[key[0]])
        for key, observation in told_apart.items()
    ]


def said(observation: Observation) -> tuple[object, ...]:
    """Who says what of which model in which shape."""
    record, settings = observation.deployed.record, observation.deployed.deployment.settings
    return (
        record.source_group,
        record.model.lower(),
        settings.version.version,
        settings.dtype,
        record.request.get("tensor_parallel_size"),
        observation.terms,
        observation.stage,
    )


def observed(one: Deployed) -> Iterator[Observation]:
    """What one record says of its terms; nothing where no formula covers the model's attention."""
    measured = one.record.measured
    yield from observed_graphs(one)
    if is_unseen(one.deployment.model):
        return
    if one.record.by_rank.get("activation_gib"):
        yield from observed_by_stage(one)
        return
    activation, other = measured.get("activation_gib"), measured.get("non_torch_gib")
    if not one.counts_consumed and activation is not None:
        yield Observation(one, ("activation",), activation)
    if not one.counts_consumed and other is not None:
        yield Observation(one, ("non_torch",), other)
    if other is None or one.counts_consumed:
        yield from observed_together(one)


def observed_graphs(one: Deployed) -> Iterator[Observation]:
    """What one record says of CUDA graphs."""
    estimate = one.record.measured.get("cuda_graph_estimated_gib")
    if estimate is not None:
        yield Observation(one, ("cuda_graphs",), estimate)


def observed_by_stage(one: Deployed) -> Iterator[Observation]:
    """Of a pipeline whose stages were printed: least first, the last stage's, which samples, last.

    Where three differ, the middle stages, which have no embedding, took least.
    """
    by_rank = one.record.by_rank
    last = len(one.stages) - 1
    places = ((1, 0), (0, 1), (last, 2)) if len(by_rank["activation_gib"]) > 2 else ((0, 0), (1, 1))
    for stage, index in places:
        yield Observation(one, ("activation",), by_rank["activation_gib"][index], stage=stage)
        yield Observation(one, ("non_torch",), by_rank["non_torch_gib"][index], stage=stage)


def observed_together(one: Deployed) -> Iterator[Observation]:
    """What all terms took together, where they were not printed one by one."""
    measured = one.record.measured
    computed = one.stages[0].loaded_bytes / GIB
    weights = measured.get("loaded_weights_gib_per_rank", computed)
    pool = measured.get("available_kv_cache_gib")
    consumed, peak = measured.get("consumed_gib"), measured.get("printed_peak_activation_gib")
    graphs = ("cuda_graphs",) if one.takes_graphs else ()
    if consumed is not None and peak is not None:
        yield Observation(one, ("non_torch",), consumed - weights)
        # What AMD's graphs take is of another size, and one run tells of it.
        if one.deployment.accelerator.vendor != "AMD":
            yield Observation(one, ("activation", *graphs), peak)
    elif pool is not None:
        taken = one.deployment.requested_bytes / GIB - weights - pool
        yield Observation(one, ("activation", "non_torch", *graphs), taken, WEIGHT_OF_POOL)
