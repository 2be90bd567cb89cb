"""Context against concurrency."""

from tests.decide.asking import R1, result


def test_the_frontier_falls_and_ends_where_the_engine_refuses() -> None:
    """More context, fewer requests; the last point is the longest request."""
    curve = result({**R1, "ask": "frontier"})
    points = curve["points"]
    assert len(points) <= 64
    assert [p["context_tokens"] for p in points] == sorted({p["context_tokens"] for p in points})
    concurrency = [point["concurrency"] for point in points]
    assert concurrency == sorted(concurrency, reverse=True)
    assert points[-1]["context_tokens"] == curve["refused_beyond_tokens"]
    assert points[-1]["concurrency"] >= 1
    assert curve["here"]["concurrency"] == result(R1)["max_concurrency_for_workload"]


def test_where_nothing_fits_there_is_no_frontier() -> None:
    """70B in bf16 on one L4 has no curve to draw."""
    curve = result({"ask": "frontier", "model": R1["model"], "accelerator": "l4"})
    assert curve["points"] == []
