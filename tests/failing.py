"""Learners that end badly, for tests of what is kept of them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Self

from learners import MajorityClassifier


class Failing(MajorityClassifier):
    """Raises."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Raise."""
        raise RuntimeError("the cure is unknown")


class Interrupting(MajorityClassifier):
    """Behaves as if Ctrl-C was pressed."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Interrupt."""
        raise KeyboardInterrupt


class Sleeping(MajorityClassifier):
    """Says that it began, and sleeps."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sleep for a minute."""
        Path("asleep").touch()
        time.sleep(60)
        return self
