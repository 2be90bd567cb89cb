"""The wheel in a plain Pyodide page, installed with micropip, as a Python user would."""

import json
from pathlib import Path

from local_server import start_server
from micropip_check import KV_CACHE_BYTES_PER_TOKEN, REFERENCE_REQUEST, WEIGHTS_BYTES
from playwright.sync_api import Page
from stock_page import write_stock_page

from pycore.bridge import answer
from tests.browser.watching import address, wait_until_ready


def test_micropip_installs_the_wheel_and_it_answers_the_reference_case(
    complaining_page: Page, site: Path, tmp_path: Path
) -> None:
    """The same answer as here, to the byte."""
    request = json.dumps(REFERENCE_REQUEST)
    write_stock_page(tmp_path, request)
    server = start_server(tmp_path)
    complaining_page.goto(address(server))
    wait_until_ready(complaining_page)
    text = complaining_page.locator("#answer").text_content() or ""
    server.stop()
    assert answer(request) == text
    result = json.loads(text)["result"]
    assert result["weights_bytes_per_rank"] == WEIGHTS_BYTES
    assert result["kv_cache_bytes_per_token_per_rank"] == KV_CACHE_BYTES_PER_TOKEN
