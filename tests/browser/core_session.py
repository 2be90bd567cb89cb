"""Talking to the page's own modules from a test: its client of the core, and the bare worker."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hashed_names import HASH_LENGTH
from playwright.sync_api import Page

START_WORKER = """
async () => {
  const assets = JSON.parse(document.getElementById("assets").textContent);
  const url = (path) => new URL(path, document.baseURI).href;
  const worker = new Worker(url(assets.worker), { type: "module" });
  window.bareWorker = worker;
  const { runtime, bundle, lock } = assets;
  worker.postMessage({ start: { runtime: url(runtime), bundle: url(bundle), lock } });
  await new Promise((resolve, reject) => {
    worker.addEventListener("message", ({ data }) => {
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


def start_bare_worker(page: Page) -> None:
    """Start the page's worker without its client, so that any text can be sent."""
    page.evaluate(START_WORKER)


def ask_bare_worker(page: Page, texts: Sequence[str]) -> list[str]:
    """Send each text as it is; return the answers as they came."""
    answers: list[str] = page.evaluate(ASK_WORKER, list(texts))
    return answers


def module_url(site: Path, name: str) -> str:
    """Return the hashed address of one of the page's modules."""
    (found,) = site.glob(f"static/{name}.{'?' * HASH_LENGTH}.js")
    return found.relative_to(site).as_posix()


def assets(site: Path) -> dict[str, Any]:
    """Read what the page was told about its assets."""
    html = (site / "index.html").read_text("utf-8")
    block = html.split('id="assets">')[1].split("</script>")[0]
    found: dict[str, Any] = json.loads(block)
    return found
