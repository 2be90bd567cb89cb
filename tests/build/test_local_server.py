"""The server that `serve`, the tests and the measurements use, over real connections."""

import gzip
import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_server import QuietServer, start_server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Lay out a small site beside a secret."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<!doctype html>" + "page " * 100)
    (site / "core.0123456789.js").write_text("export const x = 1;" * 20)
    (site / "core.wasm").write_bytes(b"\0asm" * 100)
    (site / "bundle.bin").write_bytes(b"zipped" * 100)
    (tmp_path / "secret.txt").write_text("secret")
    return site


@pytest.fixture
def server(folder: Path) -> Iterator[QuietServer]:
    """Serve it below a path."""
    running = start_server(folder, prefix="/napkin/")
    yield running
    running.stop()


def get(server: QuietServer, path: str, **headers: str) -> http.client.HTTPResponse:
    """Ask for one path, with headers written as Python names."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request(
        "GET", path, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )
    response = connection.getresponse()
    response.body = response.read()  # type: ignore[attr-defined]  # kept for the test to read
    connection.close()
    return response


def body(response: http.client.HTTPResponse) -> bytes:
    """Return what was read."""
    return response.body  # type: ignore[attr-defined,no-any-return]  # set by get


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", "text/html; charset=utf-8"),
        ("core.0123456789.js", "text/javascript; charset=utf-8"),
        ("core.wasm", "application/wasm"),
        ("bundle.bin", "application/octet-stream"),
    ],
)
def test_types_are_those_that_browsers_insist_on(
    server: QuietServer, path: str, expected: str
) -> None:
    """A module or a WebAssembly of another type does not load."""
    assert expected == get(server, f"/napkin/{path}").headers["Content-Type"]


def test_text_and_webassembly_are_compressed_for_those_who_accept_it(server: QuietServer) -> None:
    """And the bundle, which is compressed already, is not."""
    wasm = get(server, "/napkin/core.wasm", Accept_Encoding="gzip, br")
    assert wasm.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body(wasm)) == b"\0asm" * 100
    assert get(server, "/napkin/core.wasm").headers["Content-Encoding"] is None
    bundle = get(server, "/napkin/bundle.bin", Accept_Encoding="gzip")
    assert bundle.headers["Content-Encoding"] is None


def test_a_hashed_name_is_kept_for_ever_and_the_page_is_asked_for_again(
    server: QuietServer,
) -> None:
    """An unchanged page costs no body."""
    assert "immutable" in get(server, "/napkin/core.0123456789.js").headers["Cache-Control"]
    page = get(server, "/napkin/")
    assert page.headers["Cache-Control"] == "no-cache"
    again = get(server, "/napkin/", If_None_Match=page.headers["ETag"])
    assert again.status == 304
    assert body(again) == b""


@pytest.mark.parametrize(
    "path",
    ["/", "/other/", "/napkin/gone.js", "/napkin/../secret.txt", "/napkin/%2e%2e/secret.txt"],
)
def test_what_is_not_in_the_folder_is_not_found(server: QuietServer, path: str) -> None:
    """Whatever way the path is written."""
    assert get(server, path).status == 404


def test_a_stopped_server_ends_the_connections_that_are_open(folder: Path) -> None:
    """A browser keeps some open; a page that is tested offline must not be served over one."""
    server = start_server(folder)
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request("GET", "/")
    connection.getresponse().read()
    server.stop()
    connection.sock.settimeout(10)
    assert connection.sock.recv(1) == b""
    connection.close()
