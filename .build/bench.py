"""`build.py bench`: the figures that the project promises, measured on this machine."""

import os

from assemble import build_site
from chromium import find_chromium
from console import say, watch
from places import BUILD, ROOT
from toolbox import node_modules, virtual_environment


def bench() -> int:
    """Set up as for the tests, then measure in the virtual environment, where Playwright is."""
    python = virtual_environment("build-requirements.txt", "test-requirements.txt")
    node_modules()
    build_site()
    environment = os.environ | {"CHROMIUM": str(find_chromium(python)), "PYTHONUNBUFFERED": "1"}
    say("· measuring; this takes about five minutes, and a quiet machine gives better figures")
    code, _ = watch([str(python), str(BUILD / "measure.py")], cwd=ROOT, env=environment, echo=True)
    return code
