"""The compact form, for an iframe in an article."""

from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.page_parts import control, expect_figure, open_page, put
from tests.browser.watching import wait_until_ready


def test_it_shows_the_sentence_the_bars_and_the_verdict_and_no_more(page: Page) -> None:
    """What else the page has is one press away."""
    open_page(page, "?embed=1&tensor_parallel_size=4")
    for shown in (".sentence", ".verdict", ".bar >> nth=0", "#embed-foot"):
        expect(page.locator(shown)).to_be_visible()
    for hidden in ("nav", "footer", "#knobs", "#frontier", "#panels", "#more", ".legend"):
        expect(page.locator(hidden)).to_be_hidden()
    expect(control(page, "model")).to_be_visible()
    expect(control(page, "pipeline_parallel_size")).to_be_hidden()


def test_it_fits_an_articles_column(page: Page) -> None:
    """At 560 pixels nothing has to be scrolled to."""
    page.set_viewport_size({"width": 560, "height": 340})
    open_page(page, "?embed=1")
    size = page.evaluate("() => [document.body.scrollWidth, document.body.scrollHeight]")
    assert size[0] <= 560
    assert size[1] <= 340


def test_a_refusal_gives_its_reason_and_still_fits(page: Page) -> None:
    """The length that is too much is in no control of the compact form."""
    page.set_viewport_size({"width": 560, "height": 340})
    open_page(page, "?embed=1&max_model_len=")
    reason = page.locator(".reason.embed-only")
    expect(reason).to_contain_text("At 131,072 tokens one request needs 20.00 GiB of KV")
    assert page.evaluate("() => document.body.scrollHeight") <= 340
    open_page(page, "?embed=1&tensor_parallel_size=3")
    expect(reason).to_contain_text("must be divisible by tensor parallel size")


def test_a_label_that_does_not_fit_its_part_is_not_seen(page: Page) -> None:
    """It would stand on its neighbours."""
    label = page.locator(".bar .KV p").first
    seen = """(label) => {
      const range = document.createRange();
      range.selectNodeContents(label);
      return range.getBoundingClientRect().top < label.getBoundingClientRect().bottom;
    }"""
    open_page(page)
    assert label.evaluate(seen)
    open_page(page, "?embed=1")
    assert not label.evaluate(seen)


def test_full_screen_opens_the_same_scenario_in_a_tab_of_its_own(
    new_context: Callable[..., BrowserContext], base_url: str
) -> None:
    """As it is after changes in the frame, and without the compact form."""
    context = new_context(base_url=base_url)
    page = context.new_page()
    open_page(page, "?embed=1")
    put(page, "tensor_parallel_size", "4")
    expect_figure(page, "num_accelerators", 4)
    with context.expect_page() as opening:
        page.get_by_role("link", name="Full screen").click()
    full = opening.value
    wait_until_ready(full)
    assert urlsplit(full.url).query == "tensor_parallel_size=4"
    expect_figure(full, "num_accelerators", 4)
    expect(full.locator("nav")).to_be_visible()


def test_it_stays_compact_while_it_is_used(page: Page) -> None:
    """A changed link of the frame is still the frame's."""
    open_page(page, "?embed=1")
    put(page, "tensor_parallel_size", "8")
    expect_figure(page, "num_accelerators", 8)
    assert urlsplit(page.url).query == "tensor_parallel_size=8&embed=1"
    expect(page.locator("nav")).to_be_hidden()


def test_it_works_in_a_frame_of_a_page_from_elsewhere(
    new_context: Callable[..., BrowserContext], base_url: str
) -> None:
    """An article's own origin is another."""
    page = new_context().new_page()
    page.set_content(f'<iframe src="{base_url}?embed=1" width="560" height="340"></iframe>')
    frame = page.frame_locator("iframe")
    frame.locator('html[data-core="ready"]').wait_for(state="attached", timeout=60_000)
    frame.locator("[name=tensor_parallel_size]").fill("4")
    accelerators = frame.locator("[data-figure=num_accelerators]")
    expect(accelerators).to_have_attribute("value", "4")
