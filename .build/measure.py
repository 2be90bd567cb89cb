"""Measures loading, latency and memory in a real Chromium, interleaved, and prints medians."""

import os
import platform
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from browser_profile import fresh_profiles
from measure_loading import measure_first_paint, measure_loading
from measure_work import measure_knobs, measure_large_config, measure_memory, measure_sizes
from own_code import LARGEST_BYTES, own_code_bytes
from places import DIST
from report import Figure, print_report

MEASURES = (
    measure_first_paint,
    measure_sizes,
    measure_memory,
    measure_knobs,
    measure_large_config,
    measure_loading,
)


def machine(version: str) -> str:
    """Name the machine that the figures are of."""
    info = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip()
        for line in (info.read_text().splitlines() if info.is_file() else [])
        if line.startswith("model name")
    ]
    processor = names[0] if names else platform.processor() or platform.machine()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{processor}, {os.cpu_count()} cores{load}; Chromium {version}"


def main() -> int:
    """Measure everything; fail if a promise is not kept."""
    with fresh_profiles() as profiles:
        with profiles() as context:
            browser = context.browser
            version = browser.version if browser else "?"
        print(f"\n{machine(version)}\n", flush=True)
        figures = [Figure("own JavaScript and CSS", own_code_bytes(DIST), "bytes", LARGEST_BYTES)]
        for measure in MEASURES:
            print(f"· {(measure.__doc__ or '').splitlines()[0]}", flush=True)
            figures += measure(profiles)
    print(f"\n{machine(version)}")
    return print_report(figures)


if __name__ == "__main__":
    sys.exit(main())
