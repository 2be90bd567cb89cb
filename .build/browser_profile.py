"""A real Chromium with a profile of its own on disk, where caches work as they do for a visitor.

A private window, which is what a mere context of a running browser is, keeps no compiled code.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from playwright.sync_api import BrowserContext, Playwright, sync_playwright

SETTLE_MILLISECONDS = 500
FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
Profiles = Callable[[], AbstractContextManager[BrowserContext]]


def flags() -> list[str]:
    """Return the flags; the sandbox is off only for root, who cannot have it."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return [*FLAGS, *(["--no-sandbox"] if is_root else [])]


@contextmanager
def fresh_profile(playwright: Playwright) -> Iterator[BrowserContext]:
    """Start a Chromium with an empty profile, and let it settle."""
    # A browser that is still closing may write into its profile once more.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        context = playwright.chromium.launch_persistent_context(
            folder, executable_path=os.environ["CHROMIUM"], args=flags()
        )
        context.pages[0].wait_for_timeout(SETTLE_MILLISECONDS)
        yield context
        context.close()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def fresh_profiles() -> Iterator[Profiles]:
    """Give a maker of fresh profiles."""
    with sync_playwright() as playwright:
        yield lambda: fresh_profile(playwright)
