"""`build.py accuracy`: hold Napkin's figures against public runs, and write what came of it."""

import sys

from console import say
from places import ROOT

sys.path.insert(0, str(ROOT))

from tests.accuracy import learn, report, score, targets
from tests.accuracy.baseline import BASELINE, baseline, reached, write_baseline
from tests.runs.records import records

DOCUMENT = ROOT / "docs" / "accuracy.md"


def accuracy(*, learn_anew: bool, set_baseline: bool) -> int:
    """Score, print the targets and the runs used, and rewrite the document.

    With ``learn_anew``, only learn the constants from all usable runs. With ``set_baseline``, take
    what is reached as what must not get worse: tests hold every later figure against it.
    """
    found = score.evidence(records())
    say(f"· {len(found.used)} runs used, {len(found.left)} not; this takes about a minute")
    if learn_anew:
        learn.write(learn.learn(found.said))
        say("· learnt: pycore/data/overheads.jsonl; run this again without --learn to score")
        return 0
    by_model = score.folds(found, score.model_of)
    by_source = score.folds(found, score.source_of)
    for one in by_model:
        pool = one.comparisons["kv_pool"]
        print(f"{100 * pool.error:+7.2f} %  {pool.measured:7.2f} GiB  {one.record.id}")
    print(report.printed(targets.targets(by_model)))
    DOCUMENT.write_text(report.report(found, by_model, by_source), encoding="utf-8")
    say(f"· written: {DOCUMENT.relative_to(ROOT)}")
    if set_baseline:
        write_baseline(by_model)
        say(f"· written: {BASELINE.relative_to(ROOT)}")
        return 0
    kept = baseline()
    for name, value in reached(by_model).items():
        if value != kept.get(name):
            say(f"· {name}: {value}; the baseline has {kept.get(name)}")
    return 0
