"""Errors that were pasted: what each means, and what cures it."""
