"""Rules of a load: what a server held and how long requests took must agree.

Little's law ties them: requests in flight on average are the time they spent in flight, summed,
over the time that passed; those that wait are the rate of arrivals times the wait.
"""

from collections.abc import Iterator
from typing import Final

from pycore.evidence.reading.metrics import percentile
from pycore.evidence.rules.rule import Check, Contradiction, Evidence

# Gauges are sampled and rounded; a rule speaks only where more than that is missing.
SAMPLING: Final = 1.05
FEWEST_WAITING: Final = 2
FULL: Final = 0.985
EMPTY: Final = 0.8
PERCENTILES: Final = (("p99", 0.99), ("p95", 0.95), ("p90", 0.90))


def peak(evidence: Evidence, figure: str) -> float | None:
    """The largest value of a gauge: engines add up, and a quoted peak is of the whole."""
    readings = evidence.findings.readings(figure)
    if not readings:
        return None
    quoted = [reading.value for reading in readings if reading.worker == "quoted"]
    engines = [reading.value for reading in readings if reading.worker != "quoted"]
    return max([*quoted, sum(engines)] if engines else quoted)


def counter(evidence: Evidence, figure: str) -> float | None:
    """A counter: the sum of its series, or what a sentence says of it."""
    readings = evidence.findings.readings(figure)
    own = [reading.value for reading in readings if reading.worker != "quoted"]
    if own:
        return sum(own)
    return readings[0].value if readings else None


def in_flight(evidence: Evidence) -> Iterator[Contradiction]:
    """The time spent running, summed, over the duration: no more than the peak that ran."""
    decode, prefill = (
        counter(evidence, "decode_seconds_sum"),
        counter(evidence, "prefill_seconds_sum"),
    )
    duration, most = evidence.value("duration_seconds"), peak(evidence, "num_requests_running")
    if decode is None or not duration or most is None:
        return
    spent = decode + (prefill or 0.0)
    mean = spent / duration
    if mean <= most * SAMPLING:
        return
    runs = round(mean / most + 0.499)
    share = mean / runs
    yield Contradiction(
        "in_flight_above_peak",
        f"{spent:,.0f} s of prefill and decode within {duration:,.0f} s mean {mean:.0f} requests "
        f"in flight on average; the peak of {most:.0f} running rules that out for one run. "
        f"Counters that had seen the run {times(runs)} would mean {share:.1f}.",
        {
            "mean_in_flight": round(mean, 1),
            "num_requests_running_peak": most,
            "seconds": spent,
            "duration_seconds": duration,
        },
    )


def times(count: int) -> str:
    """How often, as a word."""
    return {2: "twice", 3: "three times"}.get(count, f"{count} times")


def waiting(evidence: Evidence) -> Iterator[Contradiction]:
    """The wait of the slowest, at the rate of arrivals: that many must have stood in the queue."""
    rate = evidence.value("request_rate") or evidence.value("request_throughput")
    most = peak(evidence, "num_requests_waiting")
    if not rate or most is None:
        return
    typical = latency(evidence, "ttft_seconds", "p50", 0.5) or 0.0
    for name, share in PERCENTILES:
        slow = latency(evidence, "ttft_seconds", name, share)
        if slow is None:
            continue
        queued = rate * max(0.0, slow - typical)
        if queued <= max(most * 1.5, most + FEWEST_WAITING):
            continue
        yield Contradiction(
            "waiting_below_littles_law",
            f"TTFT {name} of {slow:.2f} s at {rate:g} requests/s cannot be with at most "
            f"{most:.0f} waiting: while one of the slowest waits the {slow - typical:.2f} s that "
            f"it takes longer than the median, about {queued:.0f} more arrive behind it.",
            {
                f"ttft_seconds_{name}": slow,
                "request_rate": rate,
                "num_requests_waiting_peak": most,
                "waiting_by_littles_law": round(queued, 1),
            },
        )
        return


def latency(evidence: Evidence, figure: str, name: str, share: float) -> float | None:
    """A percentile of a latency: as printed, else out of the histogram's buckets."""
    printed = evidence.value(f"{figure}_{name}")
    return printed if printed is not None else percentile(evidence.findings, figure, share)


def more_than_allowed(evidence: Evidence) -> Iterator[Contradiction]:
    """No engine runs more than max_num_seqs."""
    limit = evidence.max_num_seqs
    if limit is None:
        return
    engines = [
        reading.value
        for reading in evidence.findings.readings("num_requests_running")
        if reading.worker != "quoted" or evidence.scenario.data_parallel_size == 1
    ]
    most = max(engines, default=0)
    if most > limit:
        yield Contradiction(
            "more_running_than_max_num_seqs",
            f"{most:.0f} requests ran at once, but max_num_seqs is {limit}: the metrics are of "
            "another start, or of several engines together.",
            {"num_requests_running_peak": most, "max_num_seqs": limit},
        )


def counted_twice(evidence: Evidence) -> Iterator[Contradiction]:
    """A server's counters and a load generator must have seen the same requests."""
    sent = evidence.value("num_requests_succeeded")
    finished = counter(evidence, "num_requests_finished") or counter(evidence, "e2e_count")
    if not sent or not finished or abs(finished - sent) <= max(2.0, sent * 0.05):
        return
    yield Contradiction(
        "counters_of_other_requests",
        f"The load generator counts {sent:,.0f} requests, the server's counters "
        f"{finished:,.0f}: they began before this run, so their sums are not this run's.",
        {"num_requests_succeeded": sent, "num_requests_finished": finished},
    )


def throughput(evidence: Evidence) -> Iterator[Contradiction]:
    """Requests over the duration are the throughput."""
    sent, duration = evidence.value("num_requests_succeeded"), evidence.value("duration_seconds")
    printed = evidence.value("request_throughput")
    if not sent or not duration or not printed:
        return
    follows = sent / duration
    if abs(follows - printed) > max(0.05 * printed, 0.02):
        yield Contradiction(
            "throughput_does_not_follow",
            f"{sent:,.0f} requests in {duration:,.2f} s are {follows:.2f} a second, not "
            f"{printed:.2f}.",
            {"request_throughput": printed, "follows": round(follows, 2)},
        )


def idle_pool(evidence: Evidence) -> Iterator[Contradiction]:
    """Requests wait, or are preempted, only for room in the pool or for a place in the batch."""
    usage, limit = peak_share(evidence), evidence.max_num_seqs
    waited, ran = peak(evidence, "num_requests_waiting"), peak(evidence, "num_requests_running")
    preempted = counter(evidence, "num_preemptions")
    if usage is None or usage >= EMPTY:
        return
    if preempted:
        yield Contradiction(
            "preempted_with_room",
            f"{preempted:,.0f} preemptions, but the KV cache was never seen above {usage:.0%}: "
            "the gauge was sampled too seldom, or the counter is of an earlier time.",
            {"num_preemptions": preempted, "kv_cache_usage_peak": usage},
        )
    if waited and waited >= FEWEST_WAITING and ran is not None and limit and ran < limit / 2:
        yield Contradiction(
            "waiting_with_room",
            f"{waited:.0f} requests waited with {ran:.0f} of {limit} running and the KV cache at "
            f"{usage:.0%}: neither is what held them; prefill, or the load before the server, is.",
            {"num_requests_waiting_peak": waited, "kv_cache_usage_peak": usage},
            excludes=False,
        )


def peak_share(evidence: Evidence) -> float | None:
    """The fullest that any engine's KV cache was seen."""
    values = [reading.value for reading in evidence.findings.readings("kv_cache_usage")]
    return max(values, default=None)


def full_pool(evidence: Evidence) -> Iterator[Contradiction]:
    """A pool that is full while requests wait is the limit, and preempting is what it costs."""
    usage, waited = peak_share(evidence), peak(evidence, "num_requests_waiting")
    if usage is None or usage < FULL or not waited:
        return
    preempted = counter(evidence, "num_preemptions") or counter(evidence, "num_preemptions_logged")
    tail = (
        f" {preempted:,.0f} preemptions threw away and computed anew what they had in it."
        if preempted
        else ""
    )
    yield Contradiction(
        "pool_is_the_limit",
        f"The KV cache was {usage:.1%} full with {waited:.0f} waiting: more was admitted than it "
        f"holds at full length.{tail}",
        {"kv_cache_usage_peak": usage, "num_requests_waiting_peak": waited},
        excludes=False,
    )


RULES: Final[tuple[Check, ...]] = (
    in_flight,
    waiting,
    more_than_allowed,
    counted_twice,
    throughput,
    idle_pool,
    full_pool,
)
