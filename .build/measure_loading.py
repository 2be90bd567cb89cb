"""How long a visitor waits: first paint, the first answer of the core, and the visits after."""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from local_server import start_server
from micropip_check import REFERENCE_REQUEST
from places import DIST
from playwright.sync_api import Browser, BrowserContext, Page
from report import Figure
from stock_page import write_stock_page
from throttled_link import Link, throttled_handler

NUM_PAINTS = 11
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
  const figure = document.querySelector('data[data-figure="loaded_weights_bytes_per_rank"]');
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
Median = Callable[[list[float]], float]


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
    """Write a page of the same size that holds one number and nothing to load."""
    size = (DIST / "index.html").stat().st_size
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Bare</title>'
    icon = '<link rel="icon" href="data:,">'
    drawn = (DIST / "index.html").read_text("utf-8")
    filler = drawn.replace("--", "- -").replace(">", " ")[: size - 200]
    (folder / "index.html").write_text(f"{head}{icon}<p>70588581120</p><!--{filler}-->")


def measure_first_paint(browser: Browser, median: Median) -> list[Figure]:
    """Paint the page and a bare one of its size in turn, over the same link."""
    link = fast_link()
    with tempfile.TemporaryDirectory() as bare:
        write_bare_page(Path(bare))
        with served(Path(bare), link) as bare_url, served(DIST, link) as url:
            paints: dict[str, list[float]] = {bare_url: [], url: []}
            for _ in range(NUM_PAINTS):
                for address, found in paints.items():
                    found.append(first_paint(browser, address))
    bare_paint, paint = median(paints[bare_url]), median(paints[url])
    note = f"{paint:.0f} ms against {bare_paint:.0f} ms at 30 Mbps / 20 ms, n={NUM_PAINTS}"
    return [Figure("first paint against a bare page", paint / bare_paint, "times", 1.2, note)]


def first_paint(browser: Browser, url: str) -> float:
    """Return the milliseconds to the first paint in a fresh profile."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(url)
    milliseconds: float = page.evaluate(FIRST_PAINT)
    context.close()
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


def measure_loading(browser: Browser, median: Median) -> list[Figure]:
    """Load the plain Pyodide page and ours in turn, each in a fresh profile."""
    loads = Loads()
    with tempfile.TemporaryDirectory() as stock:
        write_stock_page(Path(stock), json.dumps(REFERENCE_REQUEST))
        for turn in range(NUM_LOADS):
            load_stock(browser, Path(stock), loads)
            load_ours(browser, loads)
            print(f"  … load {turn + 1} of {NUM_LOADS}", flush=True)
    return loading_figures(loads, median)


def load_stock(browser: Browser, folder: Path, loads: Loads) -> None:
    """Load the plain page once."""
    link = fast_link()
    context = browser.new_context()
    with served(folder, link) as url:
        loads.stock.append(time_to_answer(context.new_page(), url))
        loads.stock_bytes.append(link.num_bytes)
    context.close()


def load_ours(browser: Browser, loads: Loads) -> None:
    """Load our page once cold, twice more, and once without a network."""
    link = fast_link()
    context = browser.new_context()
    context.add_init_script(WATCH_ANSWER)
    with served(DIST, link) as url:
        page = context.new_page()
        loads.cold.append(time_to_answer(page, url + OTHER_SCENARIO))
        loads.cold_bytes.append(link.num_bytes)
        page.evaluate(KEPT)
        page.close()
        loads.kept_bytes.append(link.num_bytes)
        for found in (loads.second, loads.third):
            found.append(visit_again(context, url))
        context.set_offline(True)
        before = link.num_bytes
        loads.offline.append(visit_again(context, url))
        loads.offline_bytes.append(link.num_bytes - before)
    context.close()


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


def loading_figures(loads: Loads, median: Median) -> list[Figure]:
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
