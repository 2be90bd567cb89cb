"""Will this deployment start, how long, how many: arithmetic on a config.json and a GPU's sheet."""

__version__ = "0.1.0"
