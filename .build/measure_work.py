"""How the core works once it is there: a knob to the screen, one sizing, and memory."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median, quantiles

from browser_profile import Profiles
from hashed_names import HASH_LENGTH
from local_server import start_server
from places import DIST
from playwright.sync_api import Page
from report import Figure
from worker_memory import memory_of

NUM_WARM_UP = 300
NUM_MOVES = 200
NUM_BATCHES = 20
BATCH = 50
NUM_ANSWERS = 10_000
SCENARIO = {
    "model": "llama-3.3-70b-instruct",
    "accelerator": "h100-sxm-80gb",
    "input_tokens": 4096,
    "output_tokens": 512,
    "concurrency": 8,
    "max_model_len": 16384,
}
MOVE_KNOB = """
async ({ times, pause }) => {
  const control = document.querySelector('[name="tensor_parallel_size"]');
  const figure = document.querySelector('#bars data[data-figure="loaded_weights_bytes_per_rank"]');
  const moves = [];
  for (let i = 0; i < times; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    const before = figure.getAttribute("value");
    const drawn = new Promise((resolve) => {
      const observer = new MutationObserver(() => {
        if (figure.getAttribute("value") === before) return;
        observer.disconnect();
        resolve(performance.now());
      });
      observer.observe(figure, { attributes: true });
    });
    control.value = control.value === "4" ? "8" : "4";
    const moved = performance.now();
    control.dispatchEvent(new Event("input", { bubbles: true }));
    moves.push((await drawn) - moved);
  }
  return moves;
}
"""
START_WORKER = """
async () => {
  const assets = JSON.parse(document.getElementById("assets").textContent);
  const url = (path) => new URL(path, document.baseURI).href;
  window.bare = new Worker(url(assets.worker), { type: "module" });
  const { runtime, bundle, lock } = assets;
  window.bare.postMessage({ start: { runtime: url(runtime), bundle: url(bundle), lock } });
  await new Promise((resolve) => window.bare.addEventListener("message", ({ data }) => {
    if (data.ready) resolve();
  }));
}
"""
ASK_BATCH = """
(texts) => new Promise((resolve) => {
  let left = texts.length;
  const started = performance.now();
  window.bare.onmessage = () => {
    left -= 1;
    if (left === 0) resolve((performance.now() - started) / texts.length);
  };
  texts.forEach((text, id) => window.bare.postMessage({ id, text }));
})
"""

# The page's own client asks for a config's few fields, as after a paste, while a timer looks for
# gaps in which the page could not have moved.
ASK_LARGE = """
async ({ module, text }) => {
  const { createCore } = await import(new URL(module, document.baseURI));
  const core = createCore();
  core.start();
  await core.ask({ ask: "model", model: "phi-4" });
  let last = performance.now();
  let gap = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    gap = Math.max(gap, now - last);
    last = now;
  }, 4);
  const started = performance.now();
  const { ok } = await core.ask({ ask: "model", config: text });
  const milliseconds = performance.now() - started;
  await new Promise((resolve) => setTimeout(resolve, 50));
  clearInterval(timer);
  return { ok, milliseconds, gap };
}
"""


@contextmanager
def ready_page(profiles: Profiles) -> Iterator[Page]:
    """Open the page over the loopback, unthrottled, with its core ready."""
    server = start_server(DIST)
    with profiles() as context:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.locator('html[data-core="ready"]').wait_for(state="attached", timeout=120_000)
        yield page
    server.stop()


@contextmanager
def bare_worker(profiles: Profiles) -> Iterator[Page]:
    """Open the page with a second worker, to be asked without the page's client."""
    with ready_page(profiles) as page:
        page.evaluate(START_WORKER)
        yield page


def sizings(start: int, count: int) -> list[str]:
    """Return requests that differ from each other, as a user's do."""
    return [
        json.dumps(
            SCENARIO | {"tensor_parallel_size": 2 << (i % 3), "input_tokens": 1000 + i % 4000}
        )
        for i in range(start, start + count)
    ]


def measure_knobs(profiles: Profiles) -> list[Figure]:
    """Move a knob of the real page, and time until the figure in the document has changed."""
    with ready_page(profiles) as page:
        page.evaluate(MOVE_KNOB, {"times": NUM_WARM_UP, "pause": 0})
        hurried: list[float] = page.evaluate(MOVE_KNOB, {"times": NUM_MOVES, "pause": 16})
        calm: list[float] = page.evaluate(MOVE_KNOB, {"times": NUM_MOVES, "pause": 150})
    note = f"n={NUM_MOVES}, one move in 150 ms; median {median(calm):.1f} ms"
    hurry = f"one move in 16 ms; median {median(hurried):.1f} ms"
    return [
        Figure("knob to document, p95", quantiles(calm, n=20)[-1], "ms", 8, note),
        Figure(
            "knob to document while dragging, p95", quantiles(hurried, n=20)[-1], "ms", 8, hurry
        ),
    ]


def measure_sizes(profiles: Profiles) -> list[Figure]:
    """Ask the worker itself, in batches, so that the messages' own time hardly counts."""
    with bare_worker(profiles) as page:
        page.evaluate(ASK_BATCH, sizings(0, NUM_WARM_UP))
        batches: list[float] = []
        for turn in range(NUM_BATCHES):
            batches.append(page.evaluate(ASK_BATCH, sizings(turn * BATCH, BATCH)))
            time.sleep(0.05)
        other = {
            name: page.evaluate(
                ASK_BATCH, [json.dumps(SCENARIO | {"ask": name, "tensor_parallel_size": 2})] * 10
            )
            for name in ("knobs", "frontier")
        }
    note = f"median of {NUM_BATCHES} batches of {BATCH}; least {min(batches):.2f} ms"
    return [
        Figure("one sizing in the worker", median(batches), "ms", 1, note),
        *(Figure(f"one answer to `{name}`", value, "ms") for name, value in other.items()),
    ]


def measure_memory(profiles: Profiles) -> list[Figure]:
    """Answer ten thousand times and look at what is left."""
    with bare_worker(profiles) as page:
        page.evaluate(ASK_BATCH, sizings(0, NUM_ANSWERS // 10))
        worker = page.workers[-1]
        before = memory_of(worker)
        for start in range(0, NUM_ANSWERS, 1000):
            page.evaluate(ASK_BATCH, sizings(start, 1000))
        after = memory_of(worker)
    grown = after.heap_bytes - before.heap_bytes
    note = f"{before.heap_bytes:,} bytes; {after.num_objects - before.num_objects:+} objects"
    return [Figure(f"heap grown by {NUM_ANSWERS:,} answers", grown, "bytes", 0, note)]


def large_config() -> str:
    """Return a config.json of 6 MB: quantised, with a name for every module that is not."""
    names = [f"model.layers.{i % 32}.mlp.experts.{i}.a_long_name.gate_proj" for i in range(98_000)]
    return json.dumps(
        {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "vocab_size": 128256,
            "max_position_embeddings": 8192,
            "torch_dtype": "bfloat16",
            "quantization_config": {"quant_method": "fp8", "ignored_layers": names},
        }
    )


def measure_large_config(profiles: Profiles) -> list[Figure]:
    """Read a published config of 6 MB, and see whether the page can still move."""
    (module,) = DIST.glob(f"static/core.{'?' * HASH_LENGTH}.js")
    text = large_config()
    with ready_page(profiles) as page:
        found = page.evaluate(ASK_LARGE, {"module": f"static/{module.name}", "text": text})
    assert found["ok"]
    note = f"{len(text):,} bytes; longest gap on the page {found['gap']:.0f} ms"
    return [Figure("reading a large config.json", found["milliseconds"], "ms", 1000, note)]
