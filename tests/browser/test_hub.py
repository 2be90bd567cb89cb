"""A model from the Hugging Face hub, on a press: tested against a real server that behaves so."""

import json
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from local_server import StaticHandler, start_server
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.page_parts import control, expect_figure, open_page
from tests.browser.test_config import KV_BYTES, SMALL
from tests.browser.watching import address

HUB = 'name="napkin-hub" content="https://huggingface.co"'
CODE = "X-Error-Code"
ANSWERS: dict[str, tuple[HTTPStatus, dict[str, str], str]] = {
    "acme/small/resolve/main/config.json": (HTTPStatus.OK, {}, json.dumps(SMALL)),
    "acme/small/resolve/main/model.safetensors.index.json": (
        HTTPStatus.OK,
        {},
        '{"metadata": {"total_size": 2471628800}}',
    ),
    "acme/gated/resolve/main/config.json": (HTTPStatus.UNAUTHORIZED, {CODE: "GatedRepo"}, ""),
    "acme/private/resolve/main/config.json": (HTTPStatus.FORBIDDEN, {}, ""),
    "acme/none/resolve/main/config.json": (HTTPStatus.UNAUTHORIZED, {CODE: "RepoNotFound"}, ""),
    "acme/lost/resolve/main/config.json": (HTTPStatus.NOT_FOUND, {}, ""),
    "acme/gguf/resolve/main/config.json": (HTTPStatus.NOT_FOUND, {CODE: "EntryNotFound"}, ""),
    "acme/busy/resolve/main/config.json": (HTTPStatus.TOO_MANY_REQUESTS, {"Retry-After": "42"}, ""),
    "acme/broken/resolve/main/config.json": (HTTPStatus.BAD_GATEWAY, {}, ""),
    "acme/portal/resolve/main/config.json": (HTTPStatus.OK, {}, "<html>Please sign in</html>"),
    "acme/odd/resolve/main/config.json": (HTTPStatus.OK, {}, '{"architectures": ["OddModel"]}'),
}
SAID = {
    "acme/gated": "is gated",
    "acme/private": "is gated",
    "acme/none": "no public model acme/none",
    "acme/lost": "no public model acme/lost",
    "acme/gguf": "has no config.json",
    "acme/busy": "asks to wait 42 s",
    "acme/broken": "failed on acme/broken",
    "acme/portal": "is not JSON",
    "acme/odd": "OddModel",
}


class HubHandler(StaticHandler):
    """Serves the site, and below hub/ what the hub would answer."""

    asked: list[str]

    def do_GET(self) -> None:  # noqa: N802  # http.server's name
        """Tell the page that the hub is here, and play it."""
        path = urlsplit(self.path).path
        if path.startswith("/hub/"):
            name = path.removeprefix("/hub/")
            self.asked.append(name)
            missing = (HTTPStatus.NOT_FOUND, {CODE: "EntryNotFound"}, "")
            status, headers, body = ANSWERS.get(name, missing)
            self.send_body(status, headers, body.encode())
        elif path == "/":
            page = (self.root / "index.html").read_text("utf-8")
            assert page.count(HUB) == 1
            page = page.replace(HUB, 'name="napkin-hub" content="hub"')
            self.send_body(HTTPStatus.OK, {"Content-Type": "text/html"}, page.encode())
        else:
            super().do_GET()


@pytest.fixture
def asked() -> list[str]:
    """Collect what the hub was asked for."""
    return []


@pytest.fixture
def hub_url(site: Path, asked: list[str]) -> Iterator[str]:
    """Serve the site with a hub of its own."""
    server = start_server(site, handler=type("Hub", (HubHandler,), {"asked": asked}))
    yield address(server)
    server.stop()


@pytest.fixture
def hub_page(new_context: Callable[..., BrowserContext], hub_url: str) -> Page:
    """Open the page that has that hub."""
    page = new_context(base_url=hub_url, service_workers="block").new_page()
    open_page(page, "?tensor_parallel_size=1")
    return page


def press_fetch(page: Page, model: str) -> None:
    """Type an id and press the button."""
    control(page, "model").click()
    control(page, "model").fill(model)
    page.get_by_role("button", name=f"Fetch {model} from Hugging Face").click()


def test_a_models_config_and_size_come_on_a_press(hub_page: Page, asked: list[str]) -> None:
    """Nothing is asked for before it; afterwards all is in the link."""
    control(hub_page, "model").click()
    control(hub_page, "model").fill("acme/small")
    assert asked == []
    press_fetch(hub_page, "acme/small")
    expect_figure(hub_page, "kv_cache_bytes_per_token_per_rank", KV_BYTES)
    assert "checkpoint_bytes=2471628800" in hub_page.url
    expect(control(hub_page, "model")).to_have_value("acme/small")
    assert all(name.startswith(("acme/small/", "api/models/acme/small")) for name in asked)
    asked.clear()
    open_page(hub_page, hub_page.url)
    expect_figure(hub_page, "kv_cache_bytes_per_token_per_rank", KV_BYTES)
    assert asked == []


def test_each_way_of_failing_has_its_own_words(hub_page: Page) -> None:
    """And what was typed, and the model before it, stay."""
    for model, said in SAID.items():
        press_fetch(hub_page, model)
        expect(hub_page.locator("#hub-said")).to_contain_text(said)
        expect(control(hub_page, "model")).to_have_value(model)
        expect_figure(hub_page, "verdict", "does_not_fit")
        hub_page.keyboard.press("Escape")
        expect(control(hub_page, "model")).to_have_value("Llama-3.3-70B-Instruct")


def test_without_a_network_it_says_so(hub_page: Page) -> None:
    """And what can be done instead."""
    hub_page.context.set_offline(True)
    press_fetch(hub_page, "acme/small")
    expect(hub_page.locator("#hub-said")).to_contain_text("There is no network. Paste")
    hub_page.context.set_offline(False)
    press_fetch(hub_page, "acme/small")
    expect_figure(hub_page, "kv_cache_bytes_per_token_per_rank", KV_BYTES)


def test_a_hub_that_is_not_there_is_not_a_missing_network(
    new_context: Callable[..., BrowserContext], site: Path
) -> None:
    """The server has gone while the page stayed."""
    gone: threading.Event = threading.Event()

    class Going(HubHandler):
        asked: list[str] = []  # noqa: RUF012  # nothing is looked at here

        def do_GET(self) -> None:  # noqa: N802  # http.server's name
            """Hang up on the hub's part."""
            if self.path.startswith("/hub/"):
                gone.set()
                self.close_connection = True
                self.connection.close()
            else:
                super().do_GET()

    server = start_server(site, handler=Going)
    page = new_context(base_url=address(server), service_workers="block").new_page()
    open_page(page)
    press_fetch(page, "acme/small")
    expect(page.locator("#hub-said")).to_contain_text("could not be reached")
    assert gone.is_set()
    server.stop()
