"""``docs/accuracy.md``: how far Napkin's figures lie from real runs, target by target, row by row."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pycore.data import rows
from pycore.model.model import Model
from tests.accuracy.references import REFERENCES, Reference, reference_pools
from tests.accuracy.score import (
    FIGURES,
    Evidence,
    Scored,
    Summary,
    errors,
    model_of,
    source_of,
    summary,
)
from tests.accuracy.targets import Target, targets

# How a record says that it was copied from a public file without noting where that is.
UNADDRESSED: Final = "address is not known"
EXPLAINED: Final = Path(__file__).parent / "explained.jsonl"
GIB: Final = 1 << 30
# Rows further out than this, or outside their range, are told one by one.
MISS: Final = 0.02
NAMES: Final = {
    "weights": "weights",
    "activation": "activation peak",
    "non_torch": "non-torch",
    "cuda_graphs": "CUDA graphs",
    "kv_pool": "KV pool",
    "tokens": "tokens",
    "concurrency": "concurrency",
}


def report(found: Evidence, by_model: Sequence[Scored], by_source: Sequence[Scored]) -> str:
    """The whole document."""
    parts = [
        introduction(found),
        target_table(targets(by_model), targets(by_source)),
        figure_table(by_model, by_source),
        group_tables(by_model),
        reference_table(),
        misses(by_model),
        constant_table(),
        used_table(by_model, by_source),
        left_table(found),
    ]
    return "\n".join(parts)


def introduction(found: Evidence) -> str:
    """What was done with what."""
    sources = len({source_of(one.record) for one in found.used})
    models = len({model_of(one.record) for one in found.used})
    unaddressed = sum(UNADDRESSED in one.record.source for one in found.used)
    return f"""# How far Napkin's figures lie from real runs

Written by `python3 build.py accuracy`; do not edit.

{len(found.used)} public start-up records of real servers, of {models} models from {sources}
sources, are predicted through Napkin's own contract from their configuration alone: version,
GPU, utilisation, TP, lengths and the model's config. The constants in the formulas are learnt
anew for each record, once without all records of its model (*model left out*), once without all
of its source (*source left out*). Errors are of sizes, never signed means; a figure's error is
|predicted ÷ measured − 1|. Logs print two decimals of a GiB. Of {unaddressed} of these records
the address of the file that they were copied from is not known: `tests/runs/runs.jsonl` says so.
"""


def target_table(by_model: Sequence[Target], by_source: Sequence[Target]) -> str:
    """What is aimed at, and what was reached."""
    lines = ["## Targets", "", "| target | aim | model left out | source left out |", "|-|-|-|-|"]
    for one, other in zip(by_model, by_source, strict=True):
        mark = "" if one.is_met else " **missed**"
        lines.append(f"| {one.title} | {one.aim} | {one.shown}{mark} | {other.shown} |")
    return "\n".join([*lines, ""])


def percent(value: float) -> str:
    """A share as a percentage."""
    return f"{100 * value:.2f} %"


def summary_cells(found: Summary | None) -> str:
    """One summary as cells of a table."""
    if found is None:
        return "– | – | – | – | –"
    return (
        f"{found.count} | {percent(found.median)} | {percent(found.mean)} | "
        f"{100 * found.worst:+.1f} % | {found.over} : {found.under}"
    )


def figure_table(by_model: Sequence[Scored], by_source: Sequence[Scored]) -> str:
    """Each figure's errors."""
    lines = ["## Figure by figure", ""]
    for title, all_scored in (("Model left out", by_model), ("Source left out", by_source)):
        lines += [f"{title}:", "", *table_head("figure")]
        for figure in FIGURES:
            found = summary(errors(all_scored, figure))
            lines.append(f"| {NAMES[figure]} | {summary_cells(found)} |")
        lines.append("")
    lines += [
        "CUDA graphs are compared with the engine's estimate where it was printed, else with what",
        "capturing took; the estimate goes in steps of 2 MiB times the graphs. *Over : under* counts",
        "predictions above and below the measured figure by more than 0.05 %.",
        "",
    ]
    return "\n".join(lines)


def table_head(first: str) -> list[str]:
    """The head of a table of summaries."""
    return [
        f"| {first} | runs | median | mean | worst | over : under |",
        "|-|-|-|-|-|-|",
    ]


def group_tables(all_scored: Sequence[Scored]) -> str:
    """The KV pool by architecture, version, GPU and TP; tight shapes apart."""
    keys: list[tuple[str, Callable[[Scored], str]]] = [
        ("version", version_of),
        ("GPU", lambda one: one.record.accelerator or "another"),
        ("TP × PP", shape_of),
        ("architecture", lambda one: kind_of(one.deployed.deployment.model)),
        ("pool", lambda one: "tight (under 10 % of the GPU)" if one.is_tight else "roomy"),
    ]
    lines = ["## The KV pool, model left out, by …", ""]
    for title, key in keys:
        lines += table_head(title)
        for name in sorted({key(one) for one in all_scored}, key=natural):
            found = summary(errors((s for s in all_scored if key(s) == name), "kv_pool"))
            lines.append(f"| {name} | {summary_cells(found)} |")
        lines.append("")
    return "\n".join(lines)


def natural(name: str) -> tuple[object, ...]:
    """A key that sorts 0.9 before 0.10."""
    return tuple(int(part) if part.isdigit() else -1 for part in name.split(".")), name


def version_of(one: Scored) -> str:
    """Major and minor version."""
    return ".".join(map(str, one.deployed.deployment.settings.version.version))


def shape_of(one: Scored) -> str:
    """TP and PP."""
    scenario = one.deployed.deployment.scenario
    return f"{scenario.tensor_parallel_size} × {scenario.pipeline_parallel_size}"


def kind_of(model: Model) -> str:
    """The engine's class, without what all of them end in."""
    name = model.architecture
    for ending in ("ForCausalLM", "ForConditionalGeneration"):
        name = name.removesuffix(ending)
    return name


def reference_table() -> str:
    """The published case that every user brings."""
    lines = [
        "## Reference case R1",
        "",
        "Llama-3.3-70B in bf16 on two A100 80GB, TP 2: 5.63 GiB were left. Its version is not",
        "stated; it holds no block back and 0.92 is its default, so it is one from 0.20 to 0.28.",
        "",
        "| version | KV pool | error | range |",
        "|-|-|-|-|",
    ]
    for version, pool, low, high in reference_pools(R1):
        error = pool / R1.pool_gib - 1
        lines.append(
            f"| {version} | {pool:.2f} GiB | {100 * error:+.1f} % | {low:.2f} to {high:.2f} |"
        )
    return "\n".join([*lines, ""])


R1: Final[Reference] = REFERENCES[0]


def misses(all_scored: Sequence[Scored]) -> str:
    """The rows that lie far out, or outside their range, and why."""
    because = explanations()
    lines = ["## Rows that miss, and why", ""]
    for one in sorted(all_scored, key=lambda s: -abs(s.comparisons["kv_pool"].error)):
        pool = one.comparisons["kv_pool"]
        tokens = one.comparisons.get("tokens")
        far = abs(pool.error) > MISS or (tokens is not None and abs(tokens.error) > 0.03)
        if not far and one.is_within:
            continue
        low, high = one.pool_bounds
        lines.append(
            f"- `{one.record.id}`: {pool.predicted:.2f} GiB for {pool.measured:.2f} "
            f"({100 * pool.error:+.1f} %; range {low:.2f} to {high:.2f}). "
            + because.get(one.record.id, "Not explained.")
        )
    return "\n".join([*lines, ""])


def explanations() -> dict[str, str]:
    """Why records miss, by id."""
    lines = EXPLAINED.read_text(encoding="utf-8").splitlines()
    return {row["id"]: str(row["because"]) for row in map(json.loads, lines)}


def constant_table() -> str:
    """The learnt constants."""
    lines = [
        "## Constants, learnt from all usable runs",
        "",
        "Robust least squares; *nine in ten* is the residual that nine in ten observations which",
        "speak of the constant stay below, other terms' errors included.",
        "",
        "| constant | value | what | observations | sources | nine in ten |",
        "|-|-|-|-|-|-|",
    ]
    for row in rows("overheads"):
        value = row["value"]
        shown = f"{value}" if not str(row["id"]).endswith("_bytes") else mib(float(str(value)))
        told = row.get("error_of_nine_in_ten_gib")
        told_cell = f"{told} GiB" if told is not None else "–"
        lines.append(
            f"| `{row['id']}` | {shown} | {row['summary']} | "
            f"{row.get('num_observations', '–')} | {row.get('num_sources', '–')} | {told_cell} |"
        )
    return "\n".join([*lines, ""])


def mib(num_bytes: float) -> str:
    """A size in MiB, or in KiB where it is small."""
    if num_bytes < 1 << 20:
        return f"{num_bytes / 1024:.0f} KiB"
    return f"{num_bytes / (1 << 20):.0f} MiB"


def used_table(by_model: Sequence[Scored], by_source: Sequence[Scored]) -> str:
    """Every record that was predicted."""
    lines = [
        "## The runs used",
        "",
        "| record | model | version | GPU | TP | pool | model left out | source left out | in range |",
        "|-|-|-|-|-|-|-|-|-|",
    ]
    for one, other in zip(by_model, by_source, strict=True):
        pool, again = one.comparisons["kv_pool"], other.comparisons["kv_pool"]
        lines.append(
            f"| `{one.record.id}` | {one.record.model} | {one.record.engine_version} | "
            f"{one.record.accelerator} | {shape_of(one)} | {pool.measured:.2f} | "
            f"{pool.predicted:.2f} | {again.predicted:.2f} | {'yes' if one.is_within else 'no'} |"
        )
    return "\n".join([*lines, ""])


def left_table(found: Evidence) -> str:
    """The records that were not, by reason."""
    return "\n".join(["## The runs not used", "", *left_lines(found), ""])


def left_lines(found: Evidence) -> Iterator[str]:
    """One line for every reason."""
    counts = Counter(reason for _, reason in found.left)
    for reason, count in counts.most_common():
        names = ", ".join(f"`{record.id}`" for record, why in found.left if why == reason)
        yield f"- {reason} ({count}): {names}"


def printed(lines: Iterable[Target]) -> str:
    """The targets as a terminal shows them."""
    return "\n".join(
        f"{'ok    ' if target.is_met else 'MISSED'} {target.title}: {target.shown} "
        f"(aim: {target.aim})"
        for target in lines
    )
