"""How long a visitor waits: first paint, the first answer of the core, and the visits after."""

import json
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from browser_profile import Profiles
from local_server import start_server
from micropip_check import REFERENCE_REQUEST
from places import DIST
from playwright.sync_api import BrowserContext, Page
from report import Figure
from stock_page import write_stock_page
from throttled_link import Link, throttled_handler

NUM_PAINTS = 11
BETWEEN_VISITS_MILLISECONDS = 1_000
NUM_LOADS = 5
TIMEOUT_MILLISECONDS = 120_000
FIRST_PAINT = """
() => new Promise((resolve) => new PerformanceObserver((list) => {
  for (const entry of list.getEntriesByName("first-contentful-paint")) resolve(entry.startTime);
}).observe({ type: "paint", buffered: true }))
"""
# The page is asked for another scenario than the prepared one: it is interactive when the core's
# own answer to that is on the screen.
WATCH_ANSWER = """
const note = () => {
  const figure = document.querySelector('#bars data[data-figure="loaded_weights_bytes_per_rank"]');
  const value = figure?.getAttribute("value");
  if (!value) return;
  window.prepared ??= value;
  if (value !== window.prepared && !window.answeredAt) window.answeredAt = performance.now();
};
new MutationObserver(note).observe(document, {
  subtree: true, childList: true, attributes: true, attributeFilter: ["value"],
});
"""
ANSWERED_AT = "() => window.answeredAt ?? null"
KEPT = "async () => { await navigator.serviceWorker.ready; return true; }"
OTHER_SCENARIO = "?tensor_parallel_size=4"


def fast_link() -> Link:
    """30 Mbps and 20 ms: a good household connection."""
    return Link(bits_per_second=30e6, round_trip_seconds=0.02)


@contextmanager
def served(folder: Path, link: Link) -> Iterator[str]:
    """Serve a folder over a link."""
    server = start_server(folder, handler=throttled_handler(link))
    yield f"http://127.0.0.1:{server.server_port}/"
    server.stop()


def write_bare_page(folder: Path) -> None:
    """Write the same markup with nothing to load and no style, filled up to the same size."""
    page = (DIST / "index.html").read_text("utf-8")
    bare = re.sub(r"<(script|style)\b.*?</\1>|<link\b[^>]*>", "", page, flags=re.DOTALL)
    icon = '<link rel="icon" href="data:,">'
    # Letters and digits that compress about as the page's own data do.
    filler = re.sub(r"[^\w\s,.]", " ", page)[: len(page) - len(bare) - len(icon)]
    (folder / "index.html").write_text(f"{bare}{icon}<!--{filler}-->", "utf-8")


def measure_first_paint(profiles: Profiles) -> list[Figure]:
    """Paint the page and a bare one of its size in turn, over the same link."""
    link = fast_link()
    with tempfile.TemporaryDirectory() as bare:
        write_bare_page(Path(bare))
        with served(Path(bare), link) as bare_url, served(DIST, link) as url:
            paints: dict[str, list[float]] = {bare_url: [], url: []}
            for _ in range(NUM_PAINTS):
                for address, found in paints.items():
                    with profiles() as context:
                        found.append(first_paint(context, address))
    bare_paint, paint = median(paints[bare_url]), median(paints[url])
    note = f"{paint:.0f} ms against {bare_paint:.0f} ms at 30 Mbps / 20 ms, n={NUM_PAINTS}"
    return [Figure("first paint against a bare page", paint / bare_paint, "times", 1.2, note)]


def first_paint(context: BrowserContext, url: str) -> float:
    """Return the milliseconds to a page's first paint."""
    page = context.new_page()
    page.goto(url, wait_until="commit")
    milliseconds: float = page.evaluate(FIRST_PAINT)
    page.close()
    return milliseconds


@dataclass
class Loads:
    """Milliseconds to the core's first answer on the screen, by kind of visit."""

    stock: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    second: list[float] = field(default_factory=list)
    third: list[float] = field(default_factory=list)
    offline: list[float] = field(default_factory=list)
    cold_bytes: list[float] = field(default_factory=list)
    stock_bytes: list[float] = field(default_factory=list)
    kept_bytes: list[float] = field(default_factory=list)
    offline_bytes: list[float] = field(default_factory=list)


def measure_loading(profiles: Profiles) -> list[Figure]:
    """Load the plain Pyodide page and ours in turn, each in a fresh profile."""
    loads = Loads()
    with tempfile.TemporaryDirectory() as stock:
        write_stock_page(Path(stock), json.dumps(REFERENCE_REQUEST))
        for turn in range(NUM_LOADS):
            load_stock(profiles, Path(stock), loads)
            load_ours(profiles, loads)
            print(f"  … load {turn + 1} of {NUM_LOADS}", flush=True)
    return loading_figures(loads)


def load_stock(profiles: Profiles, folder: Path, loads: Loads) -> None:
    """Load the plain page once."""
    link = fast_link()
    with served(folder, link) as url, profiles() as context:
        loads.stock.append(time_to_answer(context.new_page(), url))
        loads.stock_bytes.append(link.num_bytes)


def load_ours(profiles: Profiles, loads: Loads) -> None:
    """Load our page once cold, twice more, and once with the server gone."""
    link = fast_link()
    with profiles() as context:
        context.add_init_script(WATCH_ANSWER)
        with served(DIST, link) as url:
            page = context.new_page()
            loads.cold.append(time_to_answer(page, url + OTHER_SCENARIO))
            loads.cold_bytes.append(link.num_bytes)
            page.evaluate(KEPT)
            page.wait_for_timeout(BETWEEN_VISITS_MILLISECONDS)
            page.close()
            loads.kept_bytes.append(link.num_bytes)
            for found in (loads.second, loads.third):
                found.append(visit_again(context, url))
        before = link.num_bytes
        loads.offline.append(visit_again(context, url))
        loads.offline_bytes.append(link.num_bytes - before)


def visit_again(context: BrowserContext, url: str) -> float:
    """Open another page in the same profile."""
    page = context.new_page()
    milliseconds = time_to_answer(page, url + OTHER_SCENARIO)
    page.close()
    return milliseconds


def time_to_answer(page: Page, url: str) -> float:
    """Return the milliseconds from the start of the navigation to the core's own answer."""
    page.goto(url)
    deadline = time.monotonic() + TIMEOUT_MILLISECONDS / 1000
    while time.monotonic() < deadline:
        found: float | None = page.evaluate(ANSWERED_AT)
        if found is not None:
            return found
        time.sleep(0.1)
    message = f"{url} showed no answer of the core"
    raise TimeoutError(message)


def loading_figures(loads: Loads) -> list[Figure]:
    """Turn the visits into figures."""
    stock, cold = median(loads.stock), median(loads.cold)
    second, third, offline = median(loads.second), median(loads.third), median(loads.offline)
    against = f"n={NUM_LOADS}, 30 Mbps / 20 ms; plain Pyodide with micropip {stock:.0f} ms"
    return [
        Figure(
            "cold load to the core's answer",
            cold / stock,
            "times",
            0.6,
            f"{cold:.0f} ms, {against}",
        ),
        Figure("bytes of a cold load", median(loads.cold_bytes), "bytes", 5.6e6),
        Figure("bytes with the offline copy", median(loads.kept_bytes), "bytes"),
        Figure("bytes of the plain page", median(loads.stock_bytes), "bytes"),
        Figure("second visit", second / stock, "times", 0.3, f"{second:.0f} ms"),
        Figure("third visit", third / stock, "times", None, f"{third:.0f} ms"),
        Figure("offline visit", offline / stock, "times", None, f"{offline:.0f} ms"),
        Figure("bytes of an offline visit", max(loads.offline_bytes), "bytes", 0),
    ]
