"""Prints, model by model, how many golden figures Napkin reproduces, and every one it does not.

``python3 -m tests.golden.score [--model NAME] [--limit N]``
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator

from pycore.bridge import answer
from tests.golden.builds import Build, builds, read_lines
from tests.golden.compare import Figure, compare_build, compare_case

Differences = dict[tuple[str, str], list[str]]
"""Lines to print, by model and figure."""


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
    """Score every build; the exit status says whether everything agreed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="", help="only models whose name contains this")
    parser.add_argument("--limit", type=int, default=6, help="differences listed per figure")
    options = parser.parse_args(arguments)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    wrong: Differences = defaultdict(list)
    near: list[str] = []
    for build in builds():
        if options.model not in build.model:
            continue
        for label, figure in figures(build):
            outcome = "right" if figure.is_right else "wrong"
            counts[build.model][f"{figure.name} {outcome}"] += 1
            counts["TOTAL"][f"{figure.name} {outcome}"] += 1
            if not figure.is_right:
                _note(wrong, build, label, figure)
            elif figure.name == "weights_bytes_by_stage" and figure.expected != figure.actual:
                near.append(f"{label}: {_describe(figure)}")
    _print(counts, wrong, options.limit)
    print(f"\nweights within 0.1 %, not to the byte: {len(near)}", *near[:40], sep="\n    ")
    miscounted = [] if options.model else list(_miscounted())
    print(f"\nparameters miscounted: {len(miscounted)}", *miscounted, sep="\n    ")
    return 1 if wrong or miscounted else 0


def _miscounted() -> Iterator[str]:
    """Models of the catalogue whose parameters are known and not what Napkin counts.

    A model that is refused is one too.
    """
    for row in read_lines("param_counts"):
        request = {"model": row["model"], "accelerator": "h100-sxm-80gb"}
        reply = json.loads(answer(json.dumps(request)))
        if not reply["ok"]:
            yield f"{row['model']}: {reply['failure']['message'][:120]}"
        elif reply["result"]["num_parameters"] != row["num_parameters"]:
            difference = reply["result"]["num_parameters"] - row["num_parameters"]
            yield f"{row['model']}: {difference:+d} of {row['num_parameters']}"


def _note(wrong: Differences, build: Build, label: str, figure: Figure) -> None:
    """Keep one difference; a build that cannot be read is noted once, not figure by figure."""
    if str(figure.actual).startswith("failure"):
        lines = wrong[build.model, "failure"]
        line = f"{build.label}: {str(figure.actual)[:160]}"
        if line not in lines:
            lines.append(line)
    else:
        wrong[build.model, figure.name].append(f"{label}: {_describe(figure)}")


def _print(counts: dict[str, Counter[str]], wrong: Differences, limit: int) -> None:
    """The table, then the differences."""
    names = sorted({key.rsplit(" ", 1)[0] for count in counts.values() for key in count})
    for (model, name), lines in wrong.items():
        print(f"\n{model} · {name}: {len(lines)} wrong")
        for line in lines[:limit]:
            print(f"    {line}")
        if len(lines) > limit:
            print(f"    … and {len(lines) - limit} more")
    total = counts.pop("TOTAL", Counter())
    print()
    for model, count in [*counts.items(), ("TOTAL", total)]:
        named = [name for name in names if _all(count, name)]
        bad = [name for name in named if count[f"{name} wrong"]]
        cells = [f"{n} {count[f'{n} right']}/{_all(count, n)}" for n in bad]
        if bad == named and not any(count[f"{name} right"] for name in named):
            cells = [f"none of {sum(count.values())} right"]
        print(f"{model:34} {' · '.join(cells) or f'all {sum(count.values())} right'}")


def _all(count: Counter[str], name: str) -> int:
    """How many figures of this name there were."""
    return count[f"{name} right"] + count[f"{name} wrong"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
