"""The parts of the page by name, as the tests meet them again and again."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.watching import wait_until_ready


def open_page(page: Page, search: str = "./") -> None:
    """Open the page on a scenario and wait until its core answers."""
    page.goto(search)
    wait_until_ready(page)


def control(page: Page, name: str) -> Locator:
    """Return the control of one key of the contract."""
    return page.locator(f'[name="{name}"]')


def figure(page: Page, name: str) -> Locator:
    """Return the first figure of that name that is shown."""
    return page.locator(f'main data[data-figure="{name}"]').first


def expect_figure(page: Page, name: str, value: object) -> None:
    """Wait until a figure has a raw value."""
    expect(figure(page, name)).to_have_attribute("value", str(value))


def put(page: Page, name: str, text: str) -> None:
    """Type into a control and leave it."""
    field = control(page, name)
    field.fill(text)
    field.press("Tab")


def open_more(page: Page) -> None:
    """Open "More knobs"."""
    page.locator("#more > summary").click()


def expect_search(page: Page, search: str) -> None:
    """Wait until the address has just this query."""
    expect(page).to_have_url(re.compile(f"^[^?]*{re.escape(search)}$"))
