"""How many examples a property is tried on, and which: by default the same ones each time.

The profile ``random``, that of ``make fuzz``, draws others at each call, and twenty times as many.
"""

from __future__ import annotations

from hypothesis import settings

DEFAULT_EXAMPLES = 50
"""Those of a property without a number of its own, in the profile ``default``."""
RANDOM_EXAMPLES = 20 * DEFAULT_EXAMPLES


def register_profiles() -> None:
    """Register Hypothesis' profiles and load one; ``--hypothesis-profile`` takes another."""
    shared = settings(deadline=None, database=None, print_blob=True)
    settings.register_profile("default", shared, max_examples=DEFAULT_EXAMPLES, derandomize=True)
    settings.register_profile("random", shared, max_examples=RANDOM_EXAMPLES, derandomize=False)
    settings.load_profile("default")


def examples(count: int) -> settings:
    """Return the settings of a property that is tried on ``count`` examples for every hundred of the others."""
    return settings(max_examples=max(1, count * settings().max_examples // 100))
