"""The slow link that loading is measured over."""

import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_server import start_server
from throttled_link import Link, throttled_handler

NUM_BYTES = 200_000


@pytest.fixture
def link() -> Link:
    """8 Mbps: a megabyte a second, and 50 ms to and fro."""
    return Link(bits_per_second=8_000_000, round_trip_seconds=0.05)


@pytest.fixture
def url(link: Link, tmp_path: Path) -> Iterator[str]:
    """Serve one file over it."""
    (tmp_path / "file.bin").write_bytes(bytes(NUM_BYTES))
    server = start_server(tmp_path, handler=throttled_handler(link))
    yield f"http://127.0.0.1:{server.server_port}/file.bin"
    server.stop()


def fetch(url: str) -> float:
    """Fetch it whole; return the seconds that took."""
    started = time.monotonic()
    with urllib.request.urlopen(url) as response:
        assert len(response.read()) == NUM_BYTES
    return time.monotonic() - started


def test_bytes_take_their_time(url: str, link: Link) -> None:
    """Two round trips and the transfer."""
    assert fetch(url) >= 0.1 + NUM_BYTES / 1_000_000
    assert link.num_requests == 1
    assert NUM_BYTES < link.num_bytes < NUM_BYTES + 1_000


def test_connections_share_the_bandwidth(url: str) -> None:
    """Three at once take three times as long as one, not as long as one."""
    started = time.monotonic()
    threads = [threading.Thread(target=fetch, args=(url,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - started >= 3 * NUM_BYTES / 1_000_000
