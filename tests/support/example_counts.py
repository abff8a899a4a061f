"""How many examples a property is tried on: the test's own number, or ten times as many in the profile ``thorough``."""

from __future__ import annotations

import os

from hypothesis import settings

DEFAULT_EXAMPLES = 100
THOROUGH_EXAMPLES = 1000


def register_profiles() -> None:
    """Register Hypothesis' profiles and load one; ``--hypothesis-profile`` takes another."""
    settings.register_profile("default", deadline=None, max_examples=DEFAULT_EXAMPLES)
    settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None, print_blob=True)
    settings.register_profile("thorough", settings.get_profile("default"), max_examples=THOROUGH_EXAMPLES)
    settings.load_profile("ci" if "CI" in os.environ else "default")


def examples(count: int) -> settings:
    """Return the settings of a property that is tried on ``count`` examples in the profile ``default``."""
    return settings(max_examples=count * settings().max_examples // DEFAULT_EXAMPLES)
