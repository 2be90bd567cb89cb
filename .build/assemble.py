"""`build.py`: put dist/ together."""

from console import say
from toolbox import node, node_modules, virtual_environment


def build_site() -> None:
    """Build dist/ from what is here."""
    virtual_environment("build-requirements.txt")
    node()
    node_modules()
    say("· nothing to assemble yet")
