"""Prints, model by model, how many golden figures Napkin reproduces, and every one it does not.

``python3 -m tests.golden.score [--scope uniform|later|all] [--model NAME] [--limit N]``
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator

from pycore.bridge import answer
from tests.golden.builds import SCOPES, Build, builds
from tests.golden.compare import Figure, compare_build, compare_case


def figures(build: Build) -> Iterator[tuple[str, Figure]]:
    """Every figure of ``build``, with words that say where it comes from."""
    for figure in compare_build(answer, build):
        yield build.label, figure
    for case in build.cases:
        pool = f"{case.available_kv_cache_bytes / 2**30:.2f}GiB len={case.max_model_len}"
        for figure in compare_case(answer, build, case):
            yield f"{build.label} @{pool}", figure


def _deviation(figure: Figure) -> str:
    """How far the weights of each stage are from the engine's."""
    if not isinstance(figure.actual, list) or len(figure.actual) != len(figure.expected):
        return str(figure.actual)[:90]
    pairs = zip(figure.actual, figure.expected, strict=True)
    return " ".join(f"{(a / e - 1) * 100:+.4f}% ({a - e:+d})" for a, e in pairs)


def _describe(figure: Figure) -> str:
    """The two values, in a line."""
    if figure.name == "weights_bytes_by_stage":
        return _deviation(figure)
    return f"expected {figure.expected} actual {str(figure.actual)[:110]}"


def main(arguments: list[str]) -> int:
    """Score the scope asked for; the exit status says whether everything agreed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scope", choices=SCOPES, default="uniform")
    parser.add_argument("--model", default="", help="only models whose name contains this")
    parser.add_argument("--limit", type=int, default=6, help="differences listed per figure")
    options = parser.parse_args(arguments)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    wrong: dict[tuple[str, str], list[str]] = defaultdict(list)
    for build in builds(options.scope):
        if options.model not in build.model:
            continue
        for label, figure in figures(build):
            outcome = "right" if figure.is_right else "wrong"
            counts[build.model][f"{figure.name} {outcome}"] += 1
            counts["TOTAL"][f"{figure.name} {outcome}"] += 1
            if not figure.is_right:
                wrong[build.model, figure.name].append(f"{label}: {_describe(figure)}")
    _print(counts, wrong, options.limit)
    return 1 if wrong else 0


def _print(
    counts: dict[str, Counter[str]], wrong: dict[tuple[str, str], list[str]], limit: int
) -> None:
    """The table, then the differences."""
    names = sorted({key.rsplit(" ", 1)[0] for count in counts.values() for key in count})
    for (model, name), lines in wrong.items():
        print(f"\n{model} · {name}: {len(lines)} wrong")
        for line in lines[:limit]:
            print(f"    {line}")
        if len(lines) > limit:
            print(f"    … and {len(lines) - limit} more")
    print()
    for model, count in counts.items():
        cells = [f"{n} {count[f'{n} right']}/{_all(count, n)}" for n in names if _all(count, n)]
        bad = [
            cell
            for n, cell in zip([m for m in names if _all(count, m)], cells, strict=True)
            if count[f"{n} wrong"]
        ]
        if model == "TOTAL":
            print("TOTAL  " + " · ".join(cells))
        else:
            print(f"{model:40} " + (" · ".join(bad) if bad else f"all {sum(count.values())}"))


def _all(count: Counter[str], name: str) -> int:
    """How many figures of this name there were."""
    return count[f"{name} right"] + count[f"{name} wrong"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
