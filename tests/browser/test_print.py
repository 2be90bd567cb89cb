"""On paper: the answer without what cannot be pressed there."""

from playwright.sync_api import Page, expect

from tests.browser.page_parts import open_page


def test_paper_has_the_answer_and_no_buttons_to_press(page: Page) -> None:
    """The sentence, the verdict, the bars and the tables stay."""
    open_page(page)
    page.emulate_media(media="print", color_scheme="dark")
    for shown in (".sentence", ".verdict", ".bar >> nth=0", ".legend", "#knobs table", ".chart"):
        expect(page.locator(shown)).to_be_visible()
    for hidden in ("nav", ".panel-tabs", "#more"):
        expect(page.locator(hidden)).to_be_hidden()


def test_paper_is_white(page: Page) -> None:
    """Even for those who read in the dark."""
    page.emulate_media(color_scheme="dark")
    open_page(page)
    read = "() => getComputedStyle(document.documentElement).colorScheme"
    assert page.evaluate(read) == "light dark"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(read) == "light"


def test_an_open_panel_is_printed_in_full(page: Page) -> None:
    """The arithmetic is what people print."""
    open_page(page, "?panel=arithmetic")
    page.emulate_media(media="print")
    expect(page.locator("#arithmetic li").last).to_be_visible()
