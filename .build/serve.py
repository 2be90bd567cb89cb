"""`build.py serve`: the site on this machine."""

import threading
import webbrowser

from assemble import build_site
from console import say
from local_server import QuietServer, start_server
from places import DIST


def serve(port: int, *, open_browser: bool) -> int:
    """Build, serve on 127.0.0.1 until interrupted, and open a browser."""
    build_site()
    server = serve_somewhere(port)
    url = f"http://127.0.0.1:{server.server_port}/"
    say(f"· Napkin is at {url} (Ctrl-C ends it)")
    if open_browser and not webbrowser.open(url):
        say("  no browser could be opened: open that address yourself")
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        say("")
    finally:
        server.stop()
    return 0


def serve_somewhere(port: int) -> QuietServer:
    """Take the port, or a free one if something else has it."""
    try:
        return start_server(DIST, port=port)
    except (OSError, OverflowError) as error:
        say(f"· port {port} cannot be used ({error}): taking a free one")
        return start_server(DIST)
