"""One Hypothesis profile for everyone: no deadline, since two busy cores prove nothing by time."""

from hypothesis import settings

settings.register_profile("napkin", deadline=None, derandomize=True)
settings.load_profile("napkin")
