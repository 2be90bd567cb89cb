"""A real run beside the prediction: pasted, dropped, adopted; read in the page and sent nowhere."""

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pycore.units import GIB
from tests.browser.page_parts import control, expect_figure, figure, open_page
from tests.browser.test_accessibility import findings
from tests.browser.test_config import DROP, LONGEST_FRAME, PASTE
from tests.evidence.made_logs import Run, messages
from tests.evidence.rendered import Look, rendered

WEIGHTS_GIB, POOL_GIB, GRAPHS_GIB = 65.74, 5.21, 1.25
RUN = Run(
    version="0.26.0",
    model="meta-llama/Llama-3.3-70B-Instruct",
    request={"tensor_parallel_size": 2, "max_model_len": 8192},
    measured={
        "loaded_weights_gib_per_rank": WEIGHTS_GIB,
        "available_kv_cache_gib": POOL_GIB,
        "kv_cache_size_tokens": 34144,
        "cuda_graph_gib": GRAPHS_GIB,
    },
)
LOG = rendered(messages(RUN), Look())
DIVISIBILITY = "ValueError: Total number of attention heads (64) must be divisible by tensor parallel size (3)."
NOISE = "(APIServer pid=1) INFO 07-01 12:00:00 [loggers.py:1] 10.0.0.7:0 - POST /v1/chat 200 OK\n"
LARGE_BYTES = 20_000_000
MAKE_LARGE = """
([noise, times, log]) => {
  window.large = new DataTransfer();
  window.large.items.add(new File([noise.repeat(times), log], "server.log"));
}
"""
DROP_LARGE = """
() => {
  const options = { bubbles: true, cancelable: true, dataTransfer: window.large };
  document.querySelector("#check textarea").dispatchEvent(new DragEvent("drop", options));
}
"""


def open_check(page: Page) -> None:
    """Open the page with the panel."""
    open_page(page, "?panel=check")
    expect(page.locator("#check")).to_be_visible()


def said(page: Page, text: str) -> None:
    """Wait until the panel says what it recognised."""
    expect(page.locator("#check [role=status]")).to_contain_text(text, timeout=30_000)


def test_a_pasted_log_stands_beside_the_prediction(page: Page) -> None:
    """Every figure of it, with its raw value."""
    open_check(page)
    control(page, "text").fill(LOG)
    said(page, "lines recognised · vLLM 0.26.0 · TP 2 · read here, sent nowhere")
    for name, gib in (
        ("loaded_weights_bytes_per_rank", WEIGHTS_GIB),
        ("available_kv_cache_bytes", POOL_GIB),
        ("cuda_graph_bytes", GRAPHS_GIB),
    ):
        expect_figure(page, f"{name}.measured", round(gib * GIB))
    table = page.get_by_role("table").filter(has_text="off by")
    expect(table.get_by_role("row", name="weights, GiB")).to_contain_text("65.74")
    expect(table.get_by_role("row", name="CUDA graphs, GiB 0")).to_contain_text(" to ")


def test_what_was_measured_moves_the_bars(page: Page) -> None:
    """The graphs take just what the run said, and the text stays where it is."""
    open_check(page)
    control(page, "text").fill(LOG)
    said(page, "recognised")
    before = figure(page, "cuda_graph_bytes").get_attribute("value")
    page.get_by_role("button", name="Use the measured figures").click()
    expect_figure(page, "cuda_graph_bytes", round(GRAPHS_GIB * GIB))
    assert before != str(round(GRAPHS_GIB * GIB))
    expect(control(page, "max_model_len")).to_have_value("8192")
    expect(control(page, "text")).to_have_value(LOG)
    assert "measured.cuda_graph_bytes" in page.url


def test_a_run_fills_the_scenario(page: Page) -> None:
    """As far as it tells it; nothing is measured by that."""
    open_check(page)
    control(page, "text").fill(LOG.replace("'tensor_parallel_size': 2", "'max_num_seqs': 17"))
    said(page, "recognised")
    page.get_by_role("button", name="Fill the scenario").click()
    expect(control(page, "max_model_len")).to_have_value("8192")
    expect(control(page, "max_num_seqs")).to_have_value("17")
    assert "measured" not in page.url


def test_an_error_is_explained_with_cures_to_press(page: Page) -> None:
    """And the cure is applied to the scenario."""
    open_check(page)
    control(page, "text").fill(DIVISIBILITY)
    expect(page.locator("#check")).to_contain_text("Each rank takes whole attention heads")
    page.locator("#check .cures").get_by_role("button", name="--tensor-parallel-size 4").click()
    expect(control(page, "tensor_parallel_size")).to_have_value("4")


def test_a_text_that_says_nothing_is_told_so(page: Page) -> None:
    """And nothing is offered that would do nothing."""
    open_check(page)
    control(page, "text").fill("hello world")
    said(page, "Nothing recognised: paste a server’s start-up lines")
    for name in ("Fill the scenario", "Use the measured figures"):
        expect(page.get_by_role("button", name=name)).to_be_hidden()


def test_one_panel_is_open_at_a_time_and_nothing_typed_is_lost(page: Page) -> None:
    """The tabs say which."""
    open_check(page)
    control(page, "text").fill(LOG)
    said(page, "recognised")
    page.get_by_role("button", name="Show the arithmetic").click()
    expect(page.locator("#check")).to_be_hidden()
    expect(page.locator("#arithmetic li").first).to_be_visible()
    tab = page.get_by_role("button", name="Check against a real run")
    expect(tab).to_have_attribute("aria-expanded", "false")
    tab.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#arithmetic")).to_be_hidden()
    expect(control(page, "text")).to_have_value(LOG)
    page.get_by_role("button", name="Clear").click()
    expect(control(page, "text")).to_have_value("")
    expect(page.locator("#check [role=status]")).to_have_text("")
    expect(page.get_by_role("button", name="Use the measured figures")).to_be_hidden()


def test_files_of_any_kind_are_read_together(page: Page) -> None:
    """With what is in the field."""
    open_check(page)
    control(page, "text").fill(LOG)
    files = {"gpus.txt": "0, NVIDIA A100 80GB PCIe, 81920 MiB\n", "other.log": DIVISIBILITY}
    page.evaluate(DROP, {"selector": "#check textarea", "files": files})
    expect(page.locator("#check")).to_contain_text("Each rank takes whole attention heads")
    said(page, "vLLM 0.26.0")
    expect(page.locator("#config-dialog")).to_be_hidden()
    expect(control(page, "text")).to_have_value(LOG)


def test_a_long_paste_becomes_a_file(page: Page) -> None:
    """The field would freeze the page with it; what stands in the field stays."""
    open_check(page)
    control(page, "text").evaluate(PASTE, NOISE * 2000 + LOG)
    said(page, "vLLM 0.26.0")
    expect(control(page, "text")).to_have_value("")


def test_twenty_megabytes_are_read_without_freezing_the_page(page: Page) -> None:
    """The figures are found at their end. How long it took is printed: machines are shared."""
    open_check(page)
    expect(page.locator("#check details data").first).to_be_attached()
    page.evaluate(MAKE_LARGE, [NOISE, LARGE_BYTES // len(NOISE), LOG])
    page.evaluate(LONGEST_FRAME)
    started = time.monotonic()
    page.evaluate(DROP_LARGE)
    said(page, "vLLM 0.26.0")
    elapsed = time.monotonic() - started
    longest = page.evaluate("() => window.frames_seen.longest")
    print(f"20 MB answered in {elapsed:.1f} s")
    print(f"longest frame of the page meanwhile: {longest:.0f} ms")
    expect_figure(page, "available_kv_cache_bytes.measured", round(POOL_GIB * GIB))


def test_what_to_watch_comes_with_rules_to_copy(page: Page) -> None:
    """Of the scenario, whether or not a run was pasted."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_check(page)
    page.get_by_text("What the dashboard should settle at").click()
    series = page.get_by_role("table").filter(has_text="settles at")
    expect(series.get_by_role("row", name="Running").get_by_role("cell").first).to_have_text("4")
    page.get_by_text("Alerts, as a Prometheus rule file").click()
    page.get_by_role("button", name="Copy the rules").click()
    expect(page.get_by_role("button", name="Done")).to_be_visible()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert "alert: " in copied


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_open_panel(
    new_context: Callable[..., BrowserContext], base_url: str, scheme: str
) -> None:
    """Empty, and with all that a run can bring; nor is a small screen scrolled sideways."""
    page = new_context(
        base_url=base_url, color_scheme=scheme, viewport={"width": 390, "height": 800}
    ).new_page()
    open_check(page)
    assert findings(page) == []
    page.get_by_text("What the dashboard should settle at").click()
    page.get_by_text("Alerts, as a Prometheus rule file").click()
    assert findings(page) == []
    control(page, "text").fill(LOG + DIVISIBILITY)
    said(page, "recognised")
    expect(page.get_by_text("What the dashboard should settle at")).to_be_hidden()
    assert findings(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
