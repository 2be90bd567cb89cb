"""By keyboard, by ear, on a small screen, without motion and without colours of our own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from places import NODE_MODULES
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.page_parts import control, expect_figure, open_more, open_page, put

AXE = NODE_MODULES / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN_AXE = """
async (rules) => {
  const { violations } = await axe.run(document, { runOnly: rules });
  return violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map((node) => node.html)]);
}
"""
SMALLEST_TARGET = 24
SMALL_TARGETS = """
(smallest) => [...document.querySelectorAll("button, select, input, summary, .link, nav a")]
  .filter((node) => node.checkVisibility() && !node.closest(".unseen") && node.type !== "file")
  .map((node) => [node.outerHTML.slice(0, 90), node.getBoundingClientRect()])
  .filter(([, box]) => Math.min(box.width, box.height) < smallest)
  .map(([html, box]) => `${html} ${box.width} x ${box.height}`)
"""


def findings(page: Page) -> list[list[str]]:
    """Return what axe has to say about a page as it stands."""
    page.evaluate(AXE.read_text("utf-8"))
    found: list[list[str]] = page.evaluate(RUN_AXE, RULES)
    return found


def look_at_everything(page: Page) -> None:
    """Open what can be opened."""
    open_more(page)
    page.locator("footer summary").click()
    page.get_by_role("button", name="Show the arithmetic").click()
    page.get_by_label("×2 num_key_value_heads").click()
    expect_figure(page, "verdict", "refused")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "search", ["./", "?max_model_len=", "?embed=1", "?pipeline_parallel_size=4"]
)
def test_axe_finds_nothing(
    new_context: Callable[..., BrowserContext], base_url: str, scheme: str, search: str
) -> None:
    """In every form that a link can open."""
    page = new_context(base_url=base_url, color_scheme=scheme).new_page()
    open_page(page, search)
    assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_what_is_opened(
    new_context: Callable[..., BrowserContext], base_url: str, scheme: str
) -> None:
    """The drawers, the panel, a refusal, a failure, the list of models, the dialog."""
    page = new_context(base_url=base_url, color_scheme=scheme).new_page()
    open_page(page)
    look_at_everything(page)
    assert findings(page) == []
    put(page, "tensor_parallel_size", "x")
    control(page, "model").click()
    expect(page.locator("#model-popup")).to_be_visible()
    assert findings(page) == []
    page.locator("#config-open").click()
    assert findings(page) == []


def test_every_control_can_be_hit_with_a_finger(ready_page: Page) -> None:
    """24 CSS pixels at least."""
    look_at_everything(ready_page)
    assert ready_page.evaluate(SMALL_TARGETS, SMALLEST_TARGET) == []


@pytest.mark.parametrize("search", ["./", "?max_model_len=&panel=arithmetic", "?embed=1"])
def test_nothing_is_scrolled_sideways_at_320_pixels(page: Page, search: str) -> None:
    """Which is also a 640-pixel window at 200 %."""
    page.set_viewport_size({"width": 320, "height": 640})
    open_page(page, search)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    if "embed" not in search:
        look_at = "() => { document.querySelector('#more').open = true; }"
        page.evaluate(look_at)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 320


def test_a_word_is_explained_by_focus_and_by_hover_and_escape_takes_it_away(
    ready_page: Page,
) -> None:
    """And for those who listen the explanation is the control's description."""
    tip = ready_page.locator("#tip")
    field = control(ready_page, "tensor_parallel_size")
    field.focus()
    expect(tip).to_contain_text("Every layer is cut across this many GPUs")
    described = field.get_attribute("aria-describedby")
    assert ready_page.locator(f"#{described}").text_content() == tip.text_content()
    ready_page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    ready_page.get_by_role("button", name="CUDA graphs").hover()
    expect(tip).to_contain_text("Recorded launches")
    box = tip.bounding_box()
    assert box is not None
    ready_page.mouse.move(box["x"] + 5, box["y"] + 5)
    expect(tip).to_be_visible()


def test_every_word_in_use_has_its_line(ready_page: Page) -> None:
    """And every line is about a word in use."""
    used = set(
        ready_page.locator("[data-term]").evaluate_all("(n) => n.map((e) => e.dataset.term)")
    )
    explained = ready_page.locator("#glossary dd").evaluate_all(
        "(n) => n.map((e) => e.id.replace('term-', ''))"
    )
    assert used == set(explained)
    assert len(explained) == len(used)


def test_the_verdict_is_announced_once_things_have_settled(ready_page: Page) -> None:
    """Not at every letter."""
    live = ready_page.locator("#live")
    expect(live).to_have_attribute("aria-live", "polite")
    heard = ready_page.evaluate_handle(
        """() => {
          const heard = [];
          const note = () => heard.push(document.querySelector("#live").textContent);
          new MutationObserver(note).observe(document.querySelector("#live"), { childList: true });
          return heard;
        }"""
    )
    field = control(ready_page, "max_model_len")
    field.fill("")
    field.press_sequentially("131072", delay=30)
    expect(live).to_contain_text("Will not start. At 131,072 tokens")
    assert len(heard.json_value()) == 1


def test_the_bars_can_be_heard(ready_page: Page) -> None:
    """The drawing is hidden from screen readers; the table that it is drawn from is not."""
    table = ready_page.get_by_role("table", name="Memory on each GPU, in GiB")
    expect(table).to_have_count(1)
    header = table.get_by_role("columnheader").all_inner_texts()
    cells = table.get_by_role("row").nth(1).get_by_role("cell").all_inner_texts()
    assert dict(zip(header[1:], cells, strict=True))["weights"] == "65.74"
    assert ready_page.locator(".bar:not([aria-hidden=true])").count() == 0


def test_the_whole_sentence_can_be_worked_by_keyboard(ready_page: Page) -> None:
    """Tab goes through it in the order in which it is read."""
    control(ready_page, "model").focus()
    names = []
    for _ in range(11):
        ready_page.keyboard.press("Tab")
        names.append(ready_page.evaluate("() => document.activeElement.name"))
    assert names == [
        "quantization",
        "accelerator",
        "tensor_parallel_size",
        "pipeline_parallel_size",
        "data_parallel_size",
        "kv_cache_dtype",
        "concurrency",
        "input_tokens",
        "output_tokens",
        "max_model_len",
        "engine_version",
    ]


def test_the_list_of_models_is_worked_by_arrow_keys(ready_page: Page) -> None:
    """The option in question is known to screen readers; Escape brings the old name back."""
    field = control(ready_page, "model")
    field.focus()
    ready_page.keyboard.press("ArrowDown")
    field.fill("qwen3 32b")
    expect(ready_page.locator("#model-list li").first).to_be_visible()
    active = field.get_attribute("aria-activedescendant")
    expect(ready_page.locator(f"#{active}")).to_have_attribute("aria-selected", "true")
    ready_page.keyboard.press("Escape")
    expect(field).to_have_value("Llama-3.3-70B-Instruct")
    expect(ready_page.locator("#model-popup")).to_be_hidden()
    field.fill("qwen3-32b")
    ready_page.keyboard.press("Enter")
    expect(field).to_have_value("Qwen3-32B")


def test_the_focus_is_seen(ready_page: Page) -> None:
    """On the sentence's controls, whose own outline is not drawn, as on all others."""
    control(ready_page, "kv_cache_dtype").focus()
    pick = ready_page.locator(".pick:has([name=kv_cache_dtype])")
    style = pick.evaluate("(node) => getComputedStyle(node).outlineStyle")
    assert style == "solid"


def test_pressing_a_knob_keeps_the_focus_where_it_was(ready_page: Page) -> None:
    """The table is updated in place, not made anew."""
    button = ready_page.locator("#knobs tbody button").first
    button.focus()
    ready_page.keyboard.press("Enter")
    expect(control(ready_page, "kv_cache_dtype")).to_have_value("fp8")
    assert ready_page.evaluate("() => document.activeElement.closest('#knobs') !== null")


def test_nothing_moves_for_those_who_asked_for_no_motion(
    new_context: Callable[..., BrowserContext], base_url: str
) -> None:
    """No transition and no animation is left."""
    page = new_context(base_url=base_url, reduced_motion="reduce").new_page()
    open_page(page)
    moving = page.evaluate(
        """() => [...document.querySelectorAll("*")].filter((node) => {
          const { transitionDuration, animationName } = getComputedStyle(node);
          return transitionDuration !== "0s" || animationName !== "none";
        }).length"""
    )
    assert moving == 0


def test_the_bars_keep_their_colours_when_the_system_takes_all_others(
    new_context: Callable[..., BrowserContext], base_url: str
) -> None:
    """They mean something; everything else follows the system, and axe finds nothing."""
    page = new_context(base_url=base_url, forced_colors="active").new_page()
    open_page(page)
    read = "(node) => getComputedStyle(node).fill"
    weights = page.locator(".bar .weights_bytes").first.evaluate(read)
    pool = page.locator(".bar .kv_cache_in_use_bytes").first.evaluate(read)
    assert weights != pool
    assert findings(page) == []


def test_axe_is_the_one_that_is_pinned() -> None:
    """The findings mean something only with the tool there."""
    assert Path(AXE).is_file()
