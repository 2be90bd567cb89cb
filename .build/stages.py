"""`build.py test`: every check in turn, one line each, and a last line that counts."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from chromium import find_chromium
from console import say, watch
from places import NODE_MODULES, ROOT
from toolbox import node, node_modules, virtual_environment


@dataclass(frozen=True)
class Outcome:
    """What one stage found."""

    title: str
    passed: int
    failed: int


def run_stages(expression: str | None) -> int:
    """Set everything up, run the stages, print one line for each and the sum."""
    python = virtual_environment("build-requirements.txt", "test-requirements.txt")
    program = node()
    node_modules()
    environment = dict(os.environ)
    environment["CHROMIUM"] = str(find_chromium(python))
    from assemble import build_site

    contract = check_contract()
    build_site()
    if expression:
        outcomes = [run_pytest(python, environment, "-k", expression)]
    else:
        outcomes = [
            contract,
            *static_checks(python),
            run_node_tests(program),
            run_pytest(python, environment),
        ]
    return summarise(outcomes)


def check_contract() -> Outcome:
    """Whether the page's types are the core's, before the build writes them anew."""
    from contract_types import TARGET, contract_types

    is_fresh = TARGET.is_file() and TARGET.read_text("utf-8") == contract_types()
    return Outcome("static/contract.d.ts", passed=int(is_fresh), failed=int(not is_fresh))


def static_checks(python: Path) -> list[Outcome]:
    """Types and lint, of both languages."""
    tools = NODE_MODULES / ".bin"
    checks: list[tuple[str, list[str | Path]]] = [
        ("ruff check", [python, "-m", "ruff", "check"]),
        ("ruff format", [python, "-m", "ruff", "format", "--check"]),
        ("mypy", [python, "-m", "mypy"]),
        ("tsc (page)", [tools / "tsc", "-p", "tsconfig.json"]),
        ("tsc (workers)", [tools / "tsc", "-p", ".build/tsconfig.worker.json"]),
        ("biome", [tools / "biome", "check", "--error-on-warnings"]),
    ]
    return [run_check(title, argv) for title, argv in checks]


def run_check(title: str, argv: list[str | Path]) -> Outcome:
    """Run one tool that passes or fails as a whole."""
    say(f"· {title}")
    code, lines = watch([str(word) for word in argv], cwd=ROOT, env=None)
    if code != 0:
        say("\n".join(lines))
    return Outcome(title, passed=int(code == 0), failed=int(code != 0))


def run_node_tests(program: str) -> Outcome:
    """Run the JavaScript tests with Node's own runner."""
    tests = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/js/**/*.test.js"))
    say("· JavaScript tests")
    code, lines = watch([program, "--test", "--test-reporter=tap", *tests], cwd=ROOT, env=None)
    counts = {kind: count_tap(lines, kind) for kind in ("pass", "fail", "cancelled")}
    failed = counts["fail"] + counts["cancelled"]
    if code != 0:
        say("\n".join(lines))
        failed = max(failed, 1)
    return Outcome("JavaScript tests", passed=counts["pass"], failed=failed)


def count_tap(lines: list[str], kind: str) -> int:
    """Read one of the closing counts of Node's TAP report."""
    found = [re.fullmatch(rf"# {kind} (\d+)", line) for line in lines]
    return max((int(match[1]) for match in found if match), default=0)


def run_pytest(python: Path, environment: dict[str, str], *arguments: str) -> Outcome:
    """Run the Python and browser tests, shown as they go."""
    say("· Python and browser tests")
    argv = [str(python), "-m", "pytest", "-q", "--durations=5", *arguments]
    unbuffered = environment | {"PYTHONUNBUFFERED": "1"}
    code, lines = watch(argv, cwd=ROOT, env=unbuffered, echo=True)
    last = lines[-1] if lines else ""
    passed, failed, errors = (count_pytest(last, kind) for kind in ("passed", "failed", "error"))
    if code != 0:
        failed = max(failed + errors, 1)
    return Outcome("Python and browser tests", passed=passed, failed=failed)


def count_pytest(line: str, kind: str) -> int:
    """Read one of the counts of pytest's last line."""
    found = re.search(rf"(\d+) {kind}", line)
    return int(found[1]) if found else 0


def summarise(outcomes: list[Outcome]) -> int:
    """Print what each stage found, then the sum."""
    say("")
    for outcome in outcomes:
        verdict = "ok    " if outcome.failed == 0 else "FAILED"
        say(f"{verdict}  {outcome.title}: {outcome.passed} passed, {outcome.failed} failed")
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    say(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1
