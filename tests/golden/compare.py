"""What Napkin answers beside what the engine answered, figure by figure."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.golden.builds import Build, Case

Answer = Callable[[str], str]

# For builds that need not be right to the byte: golden rows of one configuration differ a little
# themselves, since some attention backends keep the rotary table in another dtype.
WEIGHTS_TOLERANCE = Fraction(1, 1000)


@dataclass(frozen=True)
class Figure:
    """One figure of one build or case: the engine's, and ours."""

    name: str
    expected: Any
    actual: Any
    is_right: bool


def _ask(answer: Answer, request: dict[str, Any]) -> dict[str, Any]:
    """The answer's result; a failure is shown as the one figure it has."""
    reply: dict[str, Any] = json.loads(answer(json.dumps(request)))
    result: dict[str, Any] = reply.get("result") or {"failure": reply["failure"]}
    return result


def _equal(name: str, expected: Any, result: dict[str, Any], actual: Any = None) -> Figure:
    """A figure that has to be the engine's to the unit."""
    if "failure" in result:
        return Figure(name, expected, f"failure: {result['failure']['message']}", is_right=False)
    shown = result.get(name) if actual is None else actual
    return Figure(name, expected, shown, shown == expected)


def _weights(build: Build, result: dict[str, Any]) -> Figure:
    """Weights by stage, to the byte or within 0.1 %."""
    name, expected = "weights_bytes_by_stage", build.expected["weights_bytes_by_stage"]
    actual = result.get(name) or []
    tolerance = Fraction(0) if build.is_exact else WEIGHTS_TOLERANCE
    is_right = len(actual) == len(expected) and all(
        abs(Fraction(ours) / theirs - 1) <= tolerance
        for ours, theirs in zip(actual, expected, strict=True)
    )
    shown = f"failure: {result['failure']['message']}" if "failure" in result else actual
    return Figure(name, expected, shown, is_right)


def compare_build(answer: Answer, build: Build) -> Iterator[Figure]:
    """The figures that no case changes, or the reason why the build is refused."""
    request = build.request
    if build.cases:
        available = max(case.available_kv_cache_bytes for case in build.cases)
        request = request | {"measured": {"available_kv_cache_bytes": available}}
    result = _ask(answer, request)
    if build.refused:
        yield _refusal(build.refused["kind"], result)
        return
    expected = build.expected
    chosen = result.get("chosen", {})
    yield _weights(build, result)
    yield _equal("block_size", expected["block_size"], result)
    for name in ("max_num_batched_tokens", "max_num_seqs"):
        yield _equal(name, expected[name], result, chosen.get(name))
    for name, by_stage in (
        ("kv_cache_bytes_per_block", "kv_cache_bytes_per_block_by_stage"),
        ("kv_cache_bytes_per_token_per_rank", "kv_cache_bytes_per_token_by_stage"),
    ):
        yield _equal(name, max(expected[by_stage]), result)


def _refusal(kind: str, result: dict[str, Any]) -> Figure:
    """A build that the engine refuses is refused for the same reason.

    An architecture that the engine does not know is a request that Napkin cannot read either.
    """
    if "failure" in result:
        reason = result["failure"]["reason"]
        return Figure("refusal", kind, f"failure: {reason}", kind == reason)
    kinds = [refusal["kind"] for refusal in result["refusals"]]
    return Figure("refusal", kind, kinds, kind in kinds)


def compare_case(answer: Answer, build: Build, case: Case) -> Iterator[Figure]:
    """The figures of one size of the cache and one length."""
    result = _ask(
        answer,
        build.request
        | {
            "max_model_len": case.max_model_len,
            "measured": {"available_kv_cache_bytes": case.available_kv_cache_bytes},
        },
    )
    yield _equal("starts", not case.is_refused, result)
    for name in ("num_gpu_blocks", "kv_cache_size_tokens", "kv_cache_max_concurrency"):
        yield _equal(name, getattr(case, name), result)
    if case.autofit_max_model_len is not None:
        yield _equal("max_model_len", case.autofit_max_model_len, result)
        return
    yield _equal("needed_kv_cache_bytes", case.needed_kv_cache_bytes, result)
    yield _equal("estimated_max_model_len", case.estimated_max_model_len, result)
