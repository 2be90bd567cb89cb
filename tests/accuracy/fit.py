"""Constants that fit the observations best: robust least squares, the same every time.

Gauss and Newton's method on a dozen constants, each observation's pull capped as Huber's loss
does, so that no single run decides a constant. Each constant is drawn a little to its nearest
kin, so that one which no observation speaks of takes its kin's value, and never one learnt from
runs that were left out.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pycore.engine.overheads import learnt_anew
from tests.accuracy.observations import Observation

GIB: Final = 1 << 30
# Residuals beyond this pull no harder [GiB].
CAP: Final = 0.01
# A term put too low promises too much, and weighs this much more than one put too high; but for
# CUDA graphs, which scatter too widely to lean on.
PRUDENCE: Final = 2.0
# With the best fit, half of all starts find a little less than was promised: so much is held back.
SAFE_SIDE: Final = {"base_bytes": 0.02 * GIB}
ROUNDS: Final = 8
# In these rounds every constant's effect on every observation is looked for.
LOOKS_ROUND: Final = (0, 3)
# Smaller differences are none [GiB].
NOTHING: Final = 1e-9
# A constant, where the search begins, its step for the derivative, and its nearest kin. Steps are of
# the constant's own size: a tenth of a GiB where it may come to GiB, else a hundredth.
LEARNABLE: Final[dict[str, tuple[float, float, str | None]]] = {
    "sorted_logit_copies": (9.0, 0.1, None),
    "base_bytes": (0.01 * GIB, 0.01 * GIB, None),
    "hidden_copies": (3.5, 0.1, None),
    "non_torch_0_10_bytes": (0.15 * GIB, 0.01 * GIB, "non_torch_0_11_bytes"),
    "non_torch_0_11_bytes": (0.15 * GIB, 0.01 * GIB, "non_torch_0_18_bytes"),
    "non_torch_0_18_bytes": (0.15 * GIB, 0.01 * GIB, "non_torch_0_11_bytes"),
    "non_torch_before_hopper_bytes": (0.05 * GIB, 0.01 * GIB, "non_torch_0_10_bytes"),
    "non_torch_before_ada_bytes": (0.15 * GIB, 0.01 * GIB, "non_torch_0_18_bytes"),
    "non_torch_amd_bytes": (0.15 * GIB, 0.01 * GIB, "non_torch_0_18_bytes"),
    "non_torch_stage_bytes": (0.15 * GIB, 0.01 * GIB, "non_torch_0_18_bytes"),
    "ranks_bytes": (0.3 * GIB, 0.01 * GIB, None),
    "unlinked_ranks_bytes": (0.2 * GIB, 0.01 * GIB, "ranks_bytes"),
    "multicast_bytes": (0.3 * GIB, 0.1 * GIB, "ranks_bytes"),
    "further_rank_bytes": (0.05 * GIB, 0.01 * GIB, None),
    "host_memory_bytes": (0.5 * GIB, 0.1 * GIB, None),
    "slack_bytes": (0.1 * GIB, 0.01 * GIB, None),
    "older_graph_pool_bytes": (0.1 * GIB, 0.01 * GIB, "graph_pool_bytes"),
    "older_graph_layer_bytes": (150_000, 1_000, "graph_layer_bytes"),
    "graph_pool_bytes": (0.1 * GIB, 0.01 * GIB, "older_graph_pool_bytes"),
    "graph_layer_bytes": (150_000, 1_000, "older_graph_layer_bytes"),
    "state_graph_layer_bytes": (150_000, 1_000, "graph_layer_bytes"),
    "v2_graph_pool_bytes": (0.4 * GIB, 0.01 * GIB, None),
}
# How hard a constant is held to its kin, or to where the search begins: what a difference of one
# step costs [GiB squared]. Rows of hidden_size were counted in the code: residual and norm, what
# goes into attention and what comes out.
KINSHIP: Final = 1e-7
COUNTED: Final = {"hidden_copies": 1e-5}


def fitted(observations: Sequence[Observation]) -> dict[str, float]:
    """The constants that these observations speak for."""
    constants = {name: begin for name, (begin, _, _) in LEARNABLE.items()}
    everywhere = range(len(observations))
    touched: dict[str, Sequence[int]] = dict.fromkeys(LEARNABLE, everywhere)
    for number in range(ROUNDS):
        residuals = residuals_with(constants, observations)
        slopes = {
            name: slopes_of(name, constants, observations, residuals, touched[name])
            for name in LEARNABLE
        }
        # Which candidate makes a peak can change while the constants settle, but not after.
        if number in LOOKS_ROUND:
            touched = {name: tuple(found) for name, found in slopes.items()}
        else:
            touched = (
                touched if number + 1 not in LOOKS_ROUND else dict.fromkeys(LEARNABLE, everywhere)
            )
        for name, move in step(constants, slopes, residuals, observations).items():
            constants[name] = max(0.0, constants[name] + move * LEARNABLE[name][1])
    return {name: value + SAFE_SIDE.get(name, 0) for name, value in constants.items()}


def residuals_with(
    constants: Mapping[str, float], observations: Sequence[Observation]
) -> list[float]:
    """Every observation's residual under these constants."""
    with learnt_anew(constants):
        return [observation.residual() for observation in observations]


def slopes_of(
    name: str,
    constants: Mapping[str, float],
    observations: Sequence[Observation],
    residuals: Sequence[float],
    touched: Sequence[int],
) -> dict[int, float]:
    """How residuals move with one step of a constant: those that do, by their place."""
    moved = {**constants, name: constants[name] + LEARNABLE[name][1]}
    found = {}
    with learnt_anew(moved):
        for index in touched:
            slope = observations[index].residual() - residuals[index]
            if abs(slope) > NOTHING:
                found[index] = slope
    return found


def step(
    constants: Mapping[str, float],
    slopes: Mapping[str, Mapping[int, float]],
    residuals: Sequence[float],
    observations: Sequence[Observation],
) -> dict[str, float]:
    """The steps of each constant that bring the weighted residuals down most."""
    weights = [
        observation.weight
        * (PRUDENCE if residual < 0 and "cuda_graphs" not in observation.terms else 1.0)
        * min(1.0, CAP / max(abs(residual), NOTHING))
        for observation, residual in zip(observations, residuals, strict=True)
    ]
    names = list(LEARNABLE)
    matrix = [
        [
            sum(weights[i] * slopes[a][i] * slopes[b][i] for i in slopes[a].keys() & slopes[b])
            for b in names
        ]
        for a in names
    ]
    right = [-sum(weights[i] * s * residuals[i] for i, s in slopes[a].items()) for a in names]
    for index, name in enumerate(names):
        begin, unit, kin = LEARNABLE[name]
        hold = COUNTED.get(name, KINSHIP)
        matrix[index][index] += hold
        aim = begin if kin is None else constants[kin]
        right[index] += hold * (aim - constants[name]) / unit
        if kin is not None:
            matrix[index][names.index(kin)] -= hold
    return dict(zip(names, solved(matrix, right), strict=True))


def solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of a small system of linear equations, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for column in range(size):
        pivot = max(range(column, size), key=lambda index: abs(rows[index][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for index in range(size):
            factor = rows[index][column] / rows[column][column] if index != column else 0
            if factor:
                rows[index] = [
                    a - factor * b for a, b in zip(rows[index], rows[column], strict=True)
                ]
    return [rows[index][size] / rows[index][index] for index in range(size)]
