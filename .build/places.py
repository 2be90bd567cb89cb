"""Where things are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build"
CACHE = ROOT / ".cache"
DIST = ROOT / "dist"
STATIC = ROOT / "static"
NODE_MODULES = ROOT / "node_modules"
VENV = CACHE / "venv"
