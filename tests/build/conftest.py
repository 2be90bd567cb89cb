"""The built site, for the tests that look into it."""

from pathlib import Path

import pytest
from assemble import build_site
from places import DIST


@pytest.fixture(scope="session")
def site() -> Path:
    """Give the built site, brought up to date."""
    build_site()
    return DIST
