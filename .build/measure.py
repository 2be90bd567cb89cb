"""Measures loading, latency and memory in a real Chromium, interleaved, and prints medians."""

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

from measure_loading import measure_first_paint, measure_loading
from measure_work import measure_knobs, measure_memory, measure_sizes
from places import DIST
from playwright.sync_api import Browser, sync_playwright
from report import Figure, print_report

FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a Chromium of its own; its sandbox is off only for root, who cannot have it."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    flags = [*FLAGS, *(["--no-sandbox"] if is_root else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=flags)
        yield browser
        browser.close()


def machine(browser: Browser) -> str:
    """Name the machine that the figures are of."""
    info = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip()
        for line in (info.read_text().splitlines() if info.is_file() else [])
        if line.startswith("model name")
    ]
    processor = names[0] if names else platform.processor() or platform.machine()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{processor}, {os.cpu_count()} cores{load}; Chromium {browser.version}"


def own_code() -> Figure:
    """Count the page's own JavaScript and CSS as they are shipped."""
    own = [*DIST.glob("static/**/*.js"), *DIST.glob("static/**/*.css"), DIST / "sw.js"]
    return Figure(
        "own JavaScript and CSS", sum(path.stat().st_size for path in own), "bytes", 90_000
    )


def main() -> int:
    """Measure everything; fail if a promise is not kept."""
    with chromium() as browser:
        print(f"\n{machine(browser)}\n", flush=True)
        figures = [
            *measure_first_paint(browser, median),
            *measure_loading(browser, median),
            *measure_knobs(browser),
            *measure_sizes(browser),
            *measure_memory(browser),
            own_code(),
        ]
        print(f"\n{machine(browser)}")
    return print_report(figures)


if __name__ == "__main__":
    sys.exit(main())
