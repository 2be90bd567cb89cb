"""A loopback server that is as slow as a real link: one bandwidth for all, and a round trip each.

The browser's own throttling does not reach the requests of a worker, so the server does it.
"""

import threading
import time
from http import HTTPStatus

from local_server import StaticHandler

CHUNK_BYTES = 16_384


class Link:
    """A link that all connections share; counts what went over it."""

    def __init__(self, *, bits_per_second: float, round_trip_seconds: float) -> None:
        self.bytes_per_second = bits_per_second / 8
        self.round_trip_seconds = round_trip_seconds
        self.num_bytes = 0
        self.num_requests = 0
        self._free_at = 0.0
        self._lock = threading.Lock()

    def reserve(self, num_bytes: int) -> float:
        """Take the link's next free time for so many bytes; return when they have passed."""
        with self._lock:
            self.num_bytes += num_bytes
            start = max(time.monotonic(), self._free_at)
            self._free_at = start + num_bytes / self.bytes_per_second
            return self._free_at

    def count_request(self) -> None:
        """Count one request."""
        with self._lock:
            self.num_requests += 1


def sleep_until(moment: float) -> None:
    """Wait for a moment of the monotonic clock."""
    time.sleep(max(0.0, moment - time.monotonic()))


class ThrottledHandler(StaticHandler):
    """Serves as StaticHandler does, over a Link."""

    link: Link

    def setup(self) -> None:
        """A new connection costs a round trip of its own."""
        super().setup()
        time.sleep(self.link.round_trip_seconds)

    def send_body(self, status: HTTPStatus, headers: dict[str, str], body: bytes) -> None:
        """Wait for the request's round trip, then send."""
        self.link.count_request()
        time.sleep(self.link.round_trip_seconds)
        self.link.reserve(sum(len(name) + len(value) + 4 for name, value in headers.items()))
        super().send_body(status, headers, body)

    def write_body(self, body: bytes) -> None:
        """Send chunk by chunk, each when the link has had time for it."""
        for start in range(0, len(body), CHUNK_BYTES):
            chunk = body[start : start + CHUNK_BYTES]
            sleep_until(self.link.reserve(len(chunk)))
            self.wfile.write(chunk)


def throttled_handler(link: Link) -> type[ThrottledHandler]:
    """Bind the handler to a link."""
    return type("Throttled", (ThrottledHandler,), {"link": link})
