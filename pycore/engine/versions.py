"""What changed from one version of vLLM to the next, as far as sizing feels it.

Only what real start-up records or the version's own code establish; a version in between takes
the facts of the nearest one below that is known, and its bounds are wider.
"""

from dataclasses import dataclass
from typing import Final

from pycore.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class EngineVersion:
    """The sizing facts of one version.

    ``sampler_factor`` is the activation peak of the sampler, in logit matrices of float32
    [max_num_seqs, vocab_size]. ``established`` is False where neither code nor record was seen.
    """

    version: tuple[int, int]
    default_gpu_memory_utilization: float
    sampler_factor: float
    cuda_graphs_in_budget: bool
    blocks_held_back: int
    non_torch_gib: float
    non_torch_gib_with_ranks: float
    """At TP of 2 or more on GPUs with NVLink multicast (Hopper and later)."""
    established: bool = True
    source: str = "public start-up records"


# Source: start-up records of vLLM 0.10 to 0.31, and the code of 0.33.0.
VERSIONS: Final = (
    EngineVersion((0, 10), 0.90, 9.7, False, 0, 0.12, 1.84),
    EngineVersion((0, 11), 0.90, 9.7, False, 0, 0.13, 0.55),
    EngineVersion((0, 12), 0.90, 9.7, False, 0, 0.13, 1.0, established=False),
    EngineVersion((0, 13), 0.90, 9.7, False, 0, 0.13, 1.0, established=False),
    EngineVersion((0, 14), 0.90, 9.7, False, 0, 0.13, 1.0, established=False),
    EngineVersion((0, 15), 0.90, 9.7, False, 0, 0.13, 1.0, established=False),
    EngineVersion((0, 16), 0.90, 9.7, False, 0, 0.13, 1.0),
    EngineVersion((0, 17), 0.90, 3.8, False, 0, 0.13, 2.0),
    EngineVersion((0, 18), 0.90, 3.8, False, 0, 0.25, 2.1),
    EngineVersion((0, 19), 0.90, 3.73, False, 0, 0.25, 2.1),
    EngineVersion((0, 20), 0.90, 3.73, False, 0, 0.25, 2.1, established=False),
    EngineVersion((0, 21), 0.92, 2.4, True, 0, 0.25, 1.0, established=False),
    EngineVersion((0, 22), 0.92, 2.4, True, 0, 0.25, 1.0),
    EngineVersion((0, 26), 0.92, 2.4, True, 0, 0.25, 1.0),
    EngineVersion((0, 31), 0.92, 2.4, True, 0, 0.25, 1.0),
    EngineVersion((0, 33), 0.92, 2.4, True, 1, 0.25, 1.0, source="the code of vLLM 0.33.0"),
)

OLDEST: Final = VERSIONS[0].version
NEWEST: Final = VERSIONS[-1].version
CHOICES: Final = tuple(f"{facts.version[0]}.{facts.version[1]}.0" for facts in VERSIONS)


def parse_version(text: str) -> tuple[int, int]:
    """Major and minor number of version ``text`` (0.33.0, v0.19.1, 0.26)."""
    parts = text.removeprefix("v").split(".")
    if len(parts) < 2 or not all(is_short_number(part) for part in parts[:2]):
        raise InvalidRequest(
            "engine_version", "unknown_choice", f"{text[:40]!r} is not a version", CHOICES
        )
    return int(parts[0]), int(parts[1])


def is_short_number(text: str) -> bool:
    """Whether ``text`` is a whole number of at most four digits."""
    return text.isascii() and text.isdigit() and len(text) < 5


def find_version(text: str) -> EngineVersion:
    """The facts of version ``text``: its own, or those of the nearest known one below."""
    asked = parse_version(text)
    if not OLDEST <= asked <= NEWEST:
        raise InvalidRequest(
            "engine_version",
            "unknown_choice",
            f"vLLM {text[:40]} is not known: from {CHOICES[0]} to {CHOICES[-1]} are",
            CHOICES,
        )
    return next(facts for facts in reversed(VERSIONS) if facts.version <= asked)
