"""The core in the browser against the core here: the same bytes, whatever is asked."""

from pathlib import Path

from playwright.sync_api import Page
from scenarios import compared_requests

from pycore.bridge import answer
from tests.browser.core_session import ask_bare_worker, start_bare_worker


def test_pyodide_answers_byte_for_byte_as_cpython_does(
    page: Page, site: Path, base_url: str
) -> None:
    """Hundreds of requests over models, accelerators, questions and mistakes."""
    requests = compared_requests()
    assert len(requests) >= 200
    start_bare_worker(page, site, base_url)
    answered = ask_bare_worker(page, requests)
    for request, found in zip(requests, answered, strict=True):
        assert answer(request) == found, request
