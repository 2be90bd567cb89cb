"""One Chromium and one server of the built site for all browser tests; a new context for each."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from assemble import build_site
from browser_profile import flags
from chromium import find_chromium
from local_server import QuietServer, start_server
from places import DIST
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.watching import Watch, address, wait_until_ready


@pytest.fixture(scope="session")
def site() -> Path:
    """Give the built site, brought up to date."""
    build_site()
    return DIST


@pytest.fixture(scope="session")
def server(site: Path) -> Iterator[QuietServer]:
    """Serve the built site at the root of a loopback port."""
    running = start_server(site)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def base_url(server: QuietServer) -> str:
    """Where the site is."""
    return address(server)


@pytest.fixture(scope="session")
def chromium_path() -> Path:
    """Find the Chromium that build.py chose, or choose one as it would."""
    named = os.environ.get("CHROMIUM")
    return Path(named) if named else find_chromium(Path(sys.executable))


@pytest.fixture(scope="session")
def browser(chromium_path: Path) -> Iterator[Browser]:
    """One Chromium; its sandbox is off only for root, who cannot have it."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=str(chromium_path), args=flags())
        yield running
        running.close()


@pytest.fixture
def new_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Make contexts that are closed after the test."""
    made: list[BrowserContext] = []

    def make(**options: object) -> BrowserContext:
        context = browser.new_context(**options)  # type: ignore[arg-type]  # Playwright's own names
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()


@pytest.fixture
def complaining_page(new_context: Callable[..., BrowserContext], base_url: str) -> Page:
    """Open nothing yet: a page that is meant to have something to complain about."""
    return new_context(base_url=base_url).new_page()


@pytest.fixture
def page(new_context: Callable[..., BrowserContext], base_url: str) -> Iterator[Page]:
    """Open nothing yet: a page on which an error or a foreign request fails the test."""
    strict = Watch(base_url)
    context = new_context(base_url=base_url)
    strict.follow(context)
    yield context.new_page()
    assert strict.errors == []
    assert strict.foreign == []


@pytest.fixture
def ready_page(page: Page) -> Page:
    """Open the page and wait until the core answers."""
    page.goto("./")
    wait_until_ready(page)
    return page
