"""The page without a network, after one visit; and an update, which must not mix versions."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from local_server import QuietServer, StaticHandler, start_server
from playwright.sync_api import BrowserContext, Page

from tests.browser.watching import Watch, address, wait_until_ready

IS_KEPT = """
async () => {
  const registration = await navigator.serviceWorker.ready;
  return registration.active.state;
}
"""
CACHES = "() => caches.keys()"
VERSION = re.compile(r'name="napkin-build" content="(\w+)"')


@pytest.fixture
def own_copy(site: Path, tmp_path: Path) -> Path:
    """Copy the site, to be changed."""
    copy = tmp_path / "site"
    shutil.copytree(site, copy)
    return copy


@pytest.fixture
def cache_control() -> str | None:
    """Say how long the browser may keep files on its own; None is as `serve` does it."""
    return None


@pytest.fixture
def own_server(own_copy: Path, cache_control: str | None) -> Iterator[QuietServer]:
    """Serve that copy, to be shut down."""
    handler = type("Caching", (StaticHandler,), {"cache_control": cache_control})
    server = start_server(own_copy, handler=handler)
    yield server
    server.stop()


def visit(page: Page, url: str) -> None:
    """Visit, until the core is ready and the service worker has kept everything."""
    page.goto(url)
    wait_until_ready(page)
    assert page.evaluate(IS_KEPT) in {"activating", "activated"}


def version_shown(page: Page) -> str | None:
    """Read which build the page is of."""
    return page.locator('meta[name="napkin-build"]').get_attribute("content")


def make_newer(site: Path) -> str:
    """Make the copy a later build."""
    index = (site / "index.html").read_text("utf-8")
    match = VERSION.search(index)
    assert match is not None
    newer = match[1][::-1]
    for name in ("index.html", "sw.js"):
        path = site / name
        path.write_text(path.read_text("utf-8").replace(match[1], newer), "utf-8")
    return newer


@pytest.mark.parametrize("cache_control", [None, "no-store"])
def test_it_opens_and_answers_with_the_server_gone(
    new_context: Callable[..., BrowserContext], own_server: QuietServer
) -> None:
    """Also at another link than the one first visited, and from the kept copy alone."""
    context = new_context()
    watch = Watch(address(own_server))
    watch.follow(context)
    page = context.new_page()
    visit(page, watch.origin)
    own_server.stop()
    second = context.new_page()
    second.goto(f"{watch.origin}?tensor_parallel_size=4")
    wait_until_ready(second)
    assert watch.foreign == []


def test_it_opens_and_answers_offline(
    new_context: Callable[..., BrowserContext], base_url: str
) -> None:
    """The browser's own word for it."""
    context = new_context()
    page = context.new_page()
    visit(page, base_url)
    context.set_offline(True)
    page.reload()
    wait_until_ready(page)


def test_an_update_shows_at_the_next_visit_and_leaves_at_most_two_versions(
    new_context: Callable[..., BrowserContext], own_server: QuietServer, own_copy: Path
) -> None:
    """A new page comes from the network at once, and its files replace the older ones."""
    page = new_context().new_page()
    url = address(own_server)
    visit(page, url)
    for _ in range(2):
        newer = make_newer(own_copy)
        (own_copy / "sw.js").write_text((own_copy / "sw.js").read_text() + "\n")
        visit(page, url)
        assert version_shown(page) == newer
        page.evaluate("async () => (await navigator.serviceWorker.getRegistration()).update()")
        page.locator("html").evaluate(
            "async (_, name) => { while (!(await caches.keys()).includes(name))"
            " await new Promise((resolve) => setTimeout(resolve, 50)); }",
            f"napkin-{newer}",
        )
    assert len(page.evaluate(CACHES)) <= 2


def test_everything_that_the_site_loads_is_kept(site: Path) -> None:
    """The list in the service worker is the list of files, less the page and the licences."""
    text = (site / "sw.js").read_text("utf-8")
    match = re.search(r"const FILES = (\[.*?\]);", text)
    assert match is not None
    shipped = {
        path.relative_to(site).as_posix()
        for path in site.rglob("*")
        if path.is_file() and not path.is_relative_to(site / "licenses")
    }
    assert shipped - {"index.html", "sw.js"} == set(json.loads(match[1]))
