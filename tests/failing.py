"""Learners that end badly, for tests of what is kept of them."""

from __future__ import annotations

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
