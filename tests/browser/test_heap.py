"""Answering leaves nothing behind: neither objects in Python nor memory of WebAssembly."""

import json
from pathlib import Path

from playwright.sync_api import Page
from worker_memory import memory_of

from tests.browser.core_session import ask_bare_worker, start_bare_worker

NUM_ANSWERS = 1_000
SCENARIO = {"model": "llama-3.3-70b-instruct", "accelerator": "h100-sxm-80gb"}


def requests(start: int) -> list[str]:
    """Return requests that differ from each other, as a user's do."""
    return [
        json.dumps(SCENARIO | {"input_tokens": 100 + i, "tensor_parallel_size": 2 + 2 * (i % 2)})
        for i in range(start, start + NUM_ANSWERS)
    ]


def test_answers_leave_no_memory_behind(page: Page, site: Path, base_url: str) -> None:
    """After a warm-up that fills what is meant to be kept, a thousand answers add nothing."""
    start_bare_worker(page, site, base_url)
    worker = page.workers[-1]
    ask_bare_worker(page, requests(0))
    before = memory_of(worker)
    ask_bare_worker(page, requests(NUM_ANSWERS))
    after = memory_of(worker)
    assert before.heap_bytes == after.heap_bytes
    assert after.num_objects - before.num_objects < NUM_ANSWERS / 20
    assert after.num_blocks - before.num_blocks < NUM_ANSWERS / 20
