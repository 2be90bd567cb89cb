"""The client of the core: nobody waits for ever, and the newest question wins."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Worker

from tests.browser.core_session import load_core, states, wait_for_core

MODEL = "llama-3.3-70b-instruct"
ASK_MANY = f"""
() => Promise.all([1, 2, 3, 4, 5].map((concurrency) =>
  window.core.ask({{ model: "{MODEL}", accelerator: "h100-sxm-80gb",
    tensor_parallel_size: 4, concurrency }})))
"""
ASK_IN_LINE = f"""
async () => {{
  const order = [];
  const ask = (name, request) => window.core.ask(request).then((answer) => order.push([name, answer.ok]));
  const scenario = {{ model: "{MODEL}", accelerator: "h100-sxm-80gb", tensor_parallel_size: 4 }};
  await Promise.all([
    ask("model", {{ ...scenario, ask: "model" }}),
    ask("knobs", {{ ...scenario, ask: "knobs" }}),
    ask("frontier", {{ ...scenario, ask: "frontier" }}),
    ask("size", scenario),
  ]);
  return order;
}}
"""
ASK_WHILE_MOVING = f"""
async () => {{
  const scenario = {{ model: "{MODEL}", accelerator: "h100-sxm-80gb", tensor_parallel_size: 4 }};
  const knobs = [];
  for (const concurrency of [1, 2, 3]) {{
    await window.core.ask({{ ...scenario, concurrency }});
    knobs.push(window.core.ask({{ ...scenario, concurrency, ask: "knobs" }}));
  }}
  return (await Promise.all(knobs)).map((answer) => answer?.ok ?? null);
}}
"""
COUNT_ANSWERS = """
() => {
  const post = self.postMessage;
  self.numAnswers = 0;
  self.postMessage = (message) => {
    if ("text" in message) self.numAnswers += 1;
    post.call(self, message);
  };
}
"""
CRASH = "() => { setTimeout(() => { throw new Error('as if WebAssembly had trapped'); }); }"
HANG = """
() => {
  const post = self.postMessage;
  self.postMessage = (message) => { if (!("text" in message)) post.call(self, message); };
}
"""


@pytest.fixture
def core_page(
    new_context: Callable[..., BrowserContext], base_url: str, site: Path
) -> Callable[..., Page]:
    """Open a page with a core that is ready, and has the test's own patience."""

    def make(**timeouts: int) -> Page:
        page = new_context().new_page()
        load_core(page, site, base_url, **timeouts)
        wait_for_core(page, "ready")
        return page

    return make


def own_worker(page: Page) -> Worker:
    """Return the worker of the test's own core: the one started last."""
    return page.workers[-1]


def test_the_newest_question_wins(core_page: Callable[..., Page]) -> None:
    """Older ones of the same kind resolve to null; none is left waiting."""
    answers: list[Any] = core_page().evaluate(ASK_MANY)
    assert answers[:-1] == [None] * 4
    assert answers[-1]["result"]["chosen"]["concurrency"] == 5


def test_sizing_goes_before_what_waits(core_page: Callable[..., Page]) -> None:
    """The question on its way is finished; of those that wait, the size comes first."""
    order: list[Any] = core_page().evaluate(ASK_IN_LINE)
    assert [name for name, _ in order] == ["model", "size", "knobs", "frontier"]
    assert all(ok for _, ok in order)


def test_what_follows_a_sizing_is_not_begun_while_the_hand_moves(
    core_page: Callable[..., Page],
) -> None:
    """Three moves cost three sizings and one table of knobs, so the next move never waits for one."""
    page = core_page(restMilliseconds=2_000)
    own_worker(page).evaluate(COUNT_ANSWERS)
    assert page.evaluate(ASK_WHILE_MOVING) == [None, None, True]
    assert own_worker(page).evaluate("() => self.numAnswers") == 4


def test_a_crashed_worker_is_replaced_and_answers_again(core_page: Callable[..., Page]) -> None:
    """What comes after the crash is answered by the new worker."""
    page = core_page(restartMilliseconds=0)
    own_worker(page).evaluate(CRASH)
    wait_for_core(page, "starting")
    wait_for_core(page, "ready")
    assert page.evaluate("() => window.core.ask({ ask: 'catalogue' })")["ok"] is True
    assert states(page) == ["starting", "ready", "starting", "ready"]


def test_a_crash_settles_the_call_on_its_way_and_keeps_the_ones_that_wait(
    core_page: Callable[..., Page],
) -> None:
    """The lost call gets a failure that says so; the waiting one gets its answer."""
    page = core_page(restartMilliseconds=0, answerMilliseconds=300)
    own_worker(page).evaluate(HANG)
    lost, kept = page.evaluate(
        "() => Promise.all([window.core.ask({ ask: 'catalogue' }),"
        " window.core.ask({ ask: 'model', model: 'phi-4' })])"
    )
    assert lost["failure"]["reason"] == "core_crashed"
    assert kept["ok"] is True


def test_a_core_that_crashes_again_at_once_is_given_up(core_page: Callable[..., Page]) -> None:
    """No endless restarting: it says that it failed, and calls are settled at once."""
    page = core_page(restartMilliseconds=600_000)
    own_worker(page).evaluate(CRASH)
    wait_for_core(page, "failed")
    answer = page.evaluate("() => window.core.ask({ ask: 'catalogue' })")
    assert answer["failure"]["reason"] == "core_crashed"
