"""What is pressed and dragged below the verdict, and what can be taken along."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.page_parts import control, expect_figure, expect_search, open_page, put


def test_pressing_a_knobs_row_applies_it(ready_page: Page) -> None:
    """The row's promise is what comes."""
    row = ready_page.locator("#knobs tbody tr", has_text="--kv-cache-dtype").first
    promised = row.locator("data").first.get_attribute("value")
    row.locator("button").click()
    expect_figure(ready_page, "longest_request_tokens", promised)
    expect(control(ready_page, "kv_cache_dtype")).to_have_value("fp8")


def test_every_knobs_row_keeps_its_promise(ready_page: Page) -> None:
    """Each is tried from the same place."""
    rows = ready_page.locator("#knobs tbody tr")
    texts = rows.all_text_contents()
    for index in range(len(texts)):
        row = rows.nth(index)
        held = row.locator("data").last.get_attribute("value")
        row.locator("button").click()
        expect_figure(ready_page, "max_concurrency_for_workload", held)
        ready_page.go_back()
        expect_search(ready_page, "")
        expect(rows).to_have_text(texts)


def test_the_point_moves_by_arrow_keys_and_keeps_the_split(ready_page: Page) -> None:
    """Right is longer; prompt and answer grow alike."""
    point = ready_page.locator(".point")
    point.focus()
    point.press("ArrowRight")
    expect(point).to_have_attribute("aria-valuenow", "8704")
    expect(control(ready_page, "input_tokens")).to_have_value("4352")
    expect(control(ready_page, "output_tokens")).to_have_value("4352")
    point.press("PageUp")
    expect(point).to_have_attribute("aria-valuenow", "17408")
    point.press("Home")
    expect(point).to_have_attribute("aria-valuenow", "256")


def test_dragging_the_point_changes_the_request_and_leaves_one_step_back(page: Page) -> None:
    """A drag is one gesture, however many places it passes."""
    open_page(page)
    page.locator(".chart").scroll_into_view_if_needed()
    chart = page.locator(".chart").bounding_box()
    assert chart is not None
    page.mouse.move(chart["x"] + chart["width"] * 0.5, chart["y"] + chart["height"] * 0.5)
    page.mouse.down()
    for step in range(30):
        page.mouse.move(
            chart["x"] + chart["width"] * (0.5 - step / 100), chart["y"] + chart["height"] * 0.5
        )
    page.mouse.up()
    expect(page).to_have_url(re.compile("input_tokens=[0-9]+&output_tokens=[0-9]+"))
    page.go_back()
    expect_search(page, "")
    expect(control(page, "input_tokens")).to_have_value("4096")


def test_the_arithmetic_can_be_checked_by_hand(ready_page: Page) -> None:
    """Names, numbers put in, the result, its source and how far to trust it."""
    ready_page.get_by_role("button", name="Show the arithmetic").click()
    expect_search(ready_page, "?panel=arithmetic")
    item = ready_page.locator(
        "#arithmetic li", has=ready_page.locator("[data-figure=kv_cache_bytes_per_token_per_rank]")
    )
    expect(item).to_contain_text("163,840 bytes")
    expect(item.locator("summary")).to_contain_text("160 KiB")
    expect(item.locator(".badge")).to_have_text("exact")
    assert item.evaluate("(node) => [...node.parentElement.children].indexOf(node)") == 0
    folded = ready_page.locator("#arithmetic details:not([open])")
    expect(folded.filter(has_text="What the engine may use")).to_contain_text("72.91 GiB")
    formula, numbers = item.locator("code").all_inner_texts()
    evaluated = numbers.split("=")[1].replace("×", "*").replace("÷", "//").replace(",", "")
    assert eval(evaluated) == 163840  # our own page's arithmetic, checked by hand
    assert "element_bytes" in formula
    put(ready_page, "tensor_parallel_size", "4")
    expect(item).to_contain_text("81,920 bytes")


def test_an_open_panel_is_part_of_the_link(page: Page) -> None:
    """Any view is a link."""
    open_page(page, "?tensor_parallel_size=4&panel=arithmetic")
    expect(page.locator("#arithmetic li")).not_to_have_count(0)
    page.get_by_role("button", name="Show the arithmetic").click()
    expect(page.locator("#arithmetic")).to_be_hidden()
    expect_search(page, "?tensor_parallel_size=4")


def test_examples_are_links_that_work_without_loading_the_page_again(ready_page: Page) -> None:
    """And they are real links, to be opened elsewhere."""
    ready_page.evaluate("() => { window.before = true; }")
    ready_page.get_by_role("button", name="Examples").click()
    link = ready_page.locator("#examples a").nth(1)
    href = link.get_attribute("href") or ""
    link.click()
    expect_search(ready_page, href)
    expect(ready_page.locator("#examples")).to_be_hidden()
    assert ready_page.evaluate("() => window.before") is True


def test_the_link_can_be_copied(new_context: Callable[..., BrowserContext], base_url: str) -> None:
    """As a link, and as Markdown with the figures."""
    context = new_context(base_url=base_url, permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    open_page(page, "?tensor_parallel_size=4")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Done ✓")).to_be_visible()
    assert page.evaluate("() => navigator.clipboard.readText()") == page.url
    page.get_by_role("button", name="Copy as Markdown").click()
    expect(page.get_by_role("button", name="Done ✓")).to_have_count(2)
    markdown = page.evaluate("() => navigator.clipboard.readText()")
    assert "| Longest single request | 131,072 tokens |" in markdown
    assert markdown.endswith(f"[Napkin]({page.url})")


def test_the_answer_can_be_taken_along_as_json(ready_page: Page) -> None:
    """With the request that it answers."""
    with ready_page.expect_download() as waiting:
        ready_page.get_by_role("button", name="Download JSON").click()
    saved = json.loads(Path(waiting.value.path()).read_text("utf-8"))
    assert saved["request"]["tensor_parallel_size"] == 2
    assert saved["result"]["weights_bytes_per_rank"] == 70588581120
