"""A static server as hosts have it: right types, gzip where accepted, caching by name."""

import contextlib
import gzip
import mimetypes
import re
import socket
import threading
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

TYPES = {
    ".bin": "application/octet-stream",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".whl": "application/zip",
}
COMPRESSED = {".css", ".html", ".js", ".json", ".mjs", ".svg", ".txt", ".wasm", ".webmanifest"}
HASHED = re.compile(r"[.-][0-9a-f]{10}([./]|$)")


@cache
def compressed(path: Path, modified: float) -> bytes:  # noqa: ARG001  # part of the cache's key
    """Compress a file once for as long as it stays the same."""
    return gzip.compress(path.read_bytes(), compresslevel=9, mtime=0)


def find_file(root: Path, url: str, prefix: str) -> Path | None:
    """Return the file that a URL names under ``root``, if there is one."""
    path = unquote(urlsplit(url).path)
    if not path.startswith(prefix):
        return None
    target = (root / path[len(prefix) :]).resolve()
    if not target.is_relative_to(root):
        return None
    if path.endswith("/"):
        target = target / "index.html"
    return target if target.is_file() else None


class StaticHandler(BaseHTTPRequestHandler):
    """Serves one folder below one path."""

    protocol_version = "HTTP/1.1"
    root: Path
    prefix = "/"
    cache_control: str | None = None

    def do_GET(self) -> None:
        """Send the file, compressed if that is accepted."""
        file = find_file(self.root, self.path, self.prefix)
        if file is None:
            self.send_body(HTTPStatus.NOT_FOUND, {"Content-Type": "text/plain"}, b"not found\n")
            return
        headers = {"Content-Type": content_type(file), "Cache-Control": self.caching(file)}
        headers["ETag"] = f'"{file.stat().st_mtime_ns:x}-{file.stat().st_size:x}"'
        if self.headers.get("If-None-Match") == headers["ETag"]:
            self.send_body(HTTPStatus.NOT_MODIFIED, headers, b"")
        elif file.suffix in COMPRESSED and "gzip" in self.headers.get("Accept-Encoding", ""):
            headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
            self.send_body(HTTPStatus.OK, headers, compressed(file, file.stat().st_mtime))
        else:
            self.send_body(HTTPStatus.OK, headers, file.read_bytes())

    def do_HEAD(self) -> None:
        """Send what GET would, without its body."""
        self.do_GET()

    def caching(self, file: Path) -> str:
        """Hashed names never change; everything else is asked for again."""
        if self.cache_control:
            return self.cache_control
        path = file.relative_to(self.root).as_posix()
        return "public, max-age=31536000, immutable" if HASHED.search(path) else "no-cache"

    def send_body(self, status: HTTPStatus, headers: dict[str, str], body: bytes) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status is not HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.write_body(body)

    def write_body(self, body: bytes) -> None:
        """Write the bytes; a slower link overrides this."""
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay silent: the page has its own ways to say what is wrong."""


def content_type(file: Path) -> str:
    """Return the MIME type, without which WebAssembly and modules do not load."""
    return TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or TYPES[".bin"]


class QuietServer(ThreadingHTTPServer):
    """A threading server that takes a browser's hanging up as the everyday thing it is."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[StaticHandler]) -> None:
        super().__init__(address, handler)
        self.connections: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, object]:
        """Remember each connection, to be able to end it."""
        connection, address = super().get_request()
        self.connections.add(connection)
        return connection, address

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        """Forget a connection that is over."""
        super().shutdown_request(request)
        self.connections -= {request}

    def stop(self) -> None:
        """Stop serving, end what is open and give the port back."""
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore connections that the browser dropped."""


def start_server(
    root: Path, *, port: int = 0, prefix: str = "/", handler: type[StaticHandler] = StaticHandler
) -> QuietServer:
    """Serve ``root`` on the loopback, in a thread of its own."""
    bound = type("Bound", (handler,), {"root": root.resolve(), "prefix": prefix})
    server = QuietServer(("127.0.0.1", port), bound)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
