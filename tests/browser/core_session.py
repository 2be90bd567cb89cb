"""Talking to the page's own modules from a test: its client of the core, and the bare worker.

Both are loaded from the page of licences, which is of the same site and starts no core itself.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hashed_names import HASH_LENGTH
from playwright.sync_api import Page

from tests.browser.watching import START_MILLISECONDS

PAGE = "licenses/"
LOAD_CORE = """
async ({ module, assets, timeouts }) => {
  const { createCore } = await import(module);
  window.seen = { progress: [], states: [] };
  window.core = createCore({
    assets,
    timeouts,
    onProgress: (progress) => window.seen.progress.push(progress),
    onState: (state, detail) => window.seen.states.push([state, detail]),
  });
  window.core.start();
}
"""
START_WORKER = """
async ({ worker, runtime, bundle, lock }) => {
  window.bareWorker = new Worker(worker, { type: "module" });
  window.bareWorker.postMessage({ start: { runtime, bundle, lock } });
  await new Promise((resolve, reject) => {
    window.bareWorker.addEventListener("message", ({ data }) => {
      if (data.ready) resolve();
      if (data.failed) reject(new Error(data.failed));
    });
  });
}
"""
ASK_WORKER = """
(texts) => new Promise((resolve) => {
  const answers = [];
  window.bareWorker.onmessage = ({ data }) => {
    answers.push(data.text ?? `crashed: ${data.crashed}`);
    if (answers.length === texts.length) resolve(answers);
  };
  texts.forEach((text, id) => window.bareWorker.postMessage({ id, text }));
})
"""


def assets(site: Path) -> dict[str, Any]:
    """Read what the page was told about its assets."""
    html = (site / "index.html").read_text("utf-8")
    block = html.split('id="assets">')[1].split("</script>")[0]
    found: dict[str, Any] = json.loads(block)
    return found


def absolute_assets(site: Path, url: str) -> dict[str, Any]:
    """Return the same with whole addresses, for a page that stands in another folder."""
    found = assets(site)
    return found | {name: url + found[name] for name in ("worker", "runtime", "bundle")}


def load_core(page: Page, site: Path, url: str, **timeouts: int) -> None:
    """Open a page with the client of the core, with the test's own patience."""
    page.goto(url + PAGE)
    (module,) = site.glob(f"static/core.{'?' * HASH_LENGTH}.js")
    page.evaluate(
        LOAD_CORE,
        {
            "module": url + module.relative_to(site).as_posix(),
            "assets": absolute_assets(site, url),
            "timeouts": timeouts,
        },
    )


def wait_for_core(page: Page, state: str) -> None:
    """Wait until the core is in a state."""
    page.locator(f'html[data-core="{state}"]').wait_for(
        state="attached", timeout=START_MILLISECONDS
    )


def states(page: Page) -> list[str]:
    """Return the states that the core has been in."""
    found: list[list[str]] = page.evaluate("() => window.seen.states")
    return [state for state, _ in found]


def start_bare_worker(page: Page, site: Path, url: str) -> None:
    """Start the worker without its client, so that any text can be sent."""
    page.goto(url + PAGE)
    page.evaluate(START_WORKER, absolute_assets(site, url))


def ask_bare_worker(page: Page, texts: Sequence[str]) -> list[str]:
    """Send each text as it is; return the answers as they came."""
    answers: list[str] = page.evaluate(ASK_WORKER, list(texts))
    return answers
