"""Looking at pages: what went wrong on one, when it is ready, where a server is."""

from dataclasses import dataclass, field

from local_server import QuietServer
from playwright.sync_api import BrowserContext, Page

START_MILLISECONDS = 60_000


@dataclass
class Watch:
    """What a page said and asked for that it should not have."""

    origin: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def follow(self, context: BrowserContext) -> None:
        """Listen to every page of a context."""
        context.on("request", lambda request: self.note_request(request.url))
        context.on("page", self.follow_page)

    def follow_page(self, page: Page) -> None:
        """Listen to one page."""
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console",
            lambda message: self.errors.append(message.text) if message.type == "error" else None,
        )

    def note_request(self, url: str) -> None:
        """Remember a request that leaves the site."""
        if not url.startswith((self.origin, "data:", "blob:")):
            self.foreign.append(url)


def address(server: QuietServer, prefix: str = "/") -> str:
    """Return the URL of a server's site."""
    return f"http://127.0.0.1:{server.server_port}{prefix}"


def wait_until_ready(page: Page) -> None:
    """Wait until the core answers; the page says so on its root element."""
    page.locator('html[data-core="ready"]').wait_for(state="attached", timeout=START_MILLISECONDS)
