"""The load: its progress in true bytes, and what is said when it goes wrong."""

import shutil
import threading
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from first_answers import first_answers
from local_server import QuietServer, StaticHandler, start_server
from playwright.sync_api import Page, expect

from tests.browser.core_session import assets, load_core, states, wait_for_core
from tests.browser.watching import address

ASK = "() => window.core.ask({ ask: 'catalogue' })"


class HaltingHandler(StaticHandler):
    """Sends half of the WebAssembly, and the rest when it is told to."""

    go_on: threading.Event

    def write_body(self, body: bytes) -> None:
        """Stop half-way through the runtime."""
        if self.path.endswith(".wasm"):
            half = len(body) // 2
            self.wfile.write(body[:half])
            self.wfile.flush()
            self.go_on.wait(60)
            body = body[half:]
        self.wfile.write(body)


class RefusingHandler(StaticHandler):
    """Answers an error for one file until it is told to stop."""

    refused: str
    relent: threading.Event

    def do_GET(self) -> None:  # noqa: N802  # http.server's name
        """Refuse the one file."""
        if self.refused in self.path and not self.relent.is_set():
            self.send_body(HTTPStatus.SERVICE_UNAVAILABLE, {}, b"")
        else:
            super().do_GET()


@pytest.fixture
def go_on() -> threading.Event:
    """Say when a halted or refusing server is to do its work."""
    return threading.Event()


@pytest.fixture
def halting_url(site: Path, go_on: threading.Event) -> Iterator[str]:
    """Serve the site up to the middle of the runtime."""
    server = start_server(site, handler=type("Halting", (HaltingHandler,), {"go_on": go_on}))
    yield address(server)
    go_on.set()
    server.stop()


@pytest.fixture(params=["pyodide.asm.wasm", "bundle", "pyodide.asm.mjs", "core.worker"])
def refusing_url(
    request: pytest.FixtureRequest, site: Path, go_on: threading.Event
) -> Iterator[str]:
    """Serve the site without one of the files that the core needs."""
    settings = {"refused": request.param, "relent": go_on}
    server: QuietServer = start_server(site, handler=type("Refusing", (RefusingHandler,), settings))
    yield address(server)
    server.stop()


def test_progress_counts_every_byte_that_arrives_and_no_other(
    page: Page, site: Path, base_url: str
) -> None:
    """It only grows, and ends at the size of the files."""
    load_core(page, site, base_url)
    wait_for_core(page, "ready")
    seen: list[dict[str, int]] = page.evaluate("() => window.seen.progress")
    described = assets(site)
    wasm = site / described["runtime"] / "pyodide.asm.wasm"
    expected = wasm.stat().st_size + (site / described["bundle"]).stat().st_size
    loaded = [each["loadedBytes"] for each in seen]
    assert expected == loaded[-1]
    assert {expected} == {each["totalBytes"] for each in seen}
    assert loaded == sorted(loaded)
    # However fast the link: Chromium hands on no more than this at once.
    assert len(loaded) > expected // (2 * 2**20)


def test_a_missing_file_is_a_failure_that_settles_every_call(
    complaining_page: Page, site: Path, refusing_url: str, go_on: threading.Event
) -> None:
    """Pyodide itself would leave callers waiting; and a retry works once the file is back."""
    page = complaining_page
    load_core(page, site, refusing_url)
    answer: dict[str, Any] = page.evaluate(ASK)
    assert answer["ok"] is False
    assert answer["failure"]["reason"] == "core_crashed"
    wait_for_core(page, "failed")
    go_on.set()
    page.evaluate("() => window.core.retry()")
    wait_for_core(page, "ready")
    assert page.evaluate(ASK)["ok"] is True


def test_the_page_keeps_its_prepared_answer_when_the_core_cannot_load(
    complaining_page: Page, refusing_url: str
) -> None:
    """Without Python the first answer still stands, and the page says what is the matter."""
    page = complaining_page
    page.goto(refusing_url)
    wait_for_core(page, "failed")
    figure = page.locator('data[data-figure="loaded_weights_bytes_per_rank"]').first
    prepared = first_answers()["size"]["result"]["loaded_weights_bytes_per_rank"]
    expect(figure).to_have_attribute("value", str(prepared))
    expect(figure).to_be_visible()


def test_a_stalled_load_says_so_and_goes_on_when_bytes_come_again(
    complaining_page: Page, site: Path, halting_url: str, go_on: threading.Event
) -> None:
    """Stalled is not failed: what was asked meanwhile is answered."""
    page = complaining_page
    load_core(page, site, halting_url, stallMilliseconds=500)
    page.evaluate("() => { window.asked = window.core.ask({ ask: 'catalogue' }); }")
    wait_for_core(page, "stalled")
    go_on.set()
    wait_for_core(page, "ready")
    assert page.evaluate("async () => (await window.asked).ok") is True
    assert states(page) == ["starting", "stalled", "starting", "ready"]


def test_a_broken_runtime_is_a_failure(complaining_page: Page, site: Path, tmp_path: Path) -> None:
    """Bytes that are no WebAssembly make Pyodide warn and never settle; we must."""
    broken = tmp_path / "site"
    shutil.copytree(site, broken)
    (wasm,) = broken.glob("runtime-*/pyodide.asm.wasm")
    wasm.write_bytes(b"\0asm broken")
    server = start_server(broken)
    load_core(complaining_page, site, address(server))
    wait_for_core(complaining_page, "failed")
    server.stop()


def test_the_site_works_below_any_path(complaining_page: Page, site: Path) -> None:
    """GitHub Pages serves a project below its name."""
    server = start_server(site, prefix="/some/project/")
    complaining_page.goto(address(server, "/some/project/"))
    wait_for_core(complaining_page, "ready")
    server.stop()
