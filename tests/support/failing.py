"""Learners that fail, for tests of what is recorded of them."""

from __future__ import annotations

import builtins
import os
import signal
import time
from pathlib import Path
from typing import Any, Self

from bakeoff.learners import MajorityClassifier

ERRORS: dict[str, type[BaseException]] = {
    "SystemExit": SystemExit,
    "MemoryError": MemoryError,
    "RecursionError": RecursionError,
}


class Failing(MajorityClassifier):
    """Raises."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Raise."""
        raise RuntimeError("the cure is unknown")


class Interrupting(MajorityClassifier):
    """Behaves as if Ctrl-C had been pressed."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Interrupt."""
        raise KeyboardInterrupt


class Unprepared(MajorityClassifier):
    """Raises the error that the file ``what`` names before anything is fitted, when its properties are read."""

    def __sklearn_tags__(self) -> Any:
        """Raise."""
        name = Path("what").read_text()
        error = getattr(builtins, name)
        raise error("it cannot be prepared")


class Sleeping(MajorityClassifier):
    """Creates the file ``asleep`` and sleeps."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sleep for a minute."""
        Path("asleep").touch()
        time.sleep(60)
        return self


class Overdue(MajorityClassifier):
    """Takes so long that the alarm of its time limit rings."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Ring."""
        signal.raise_signal(signal.SIGALRM)
        return self


class Raising(MajorityClassifier):
    """Raises the error that its parameter names, or kills its process.

    Parameters
    ----------
    what : str
        ``nothing``, ``SystemExit``, ``MemoryError``, ``RecursionError``, or ``SIGKILL``.
    """

    def __init__(
        self, what: str = "nothing", categorical_features: Any = "from_dtype", class_order: Any = None
    ) -> None:
        super().__init__(categorical_features=categorical_features, class_order=class_order)
        self.what = what

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Raise, or fit."""
        if self.what == "SIGKILL":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.what != "nothing":
            raise ERRORS[self.what]
        return super().fit(X, y)


class FailingUntilRepaired(MajorityClassifier):
    """Raises as long as there is no file ``repaired``."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Raise, or fit."""
        if not Path("repaired").exists():
            raise RuntimeError("the cure is unknown")
        return super().fit(X, y)


class Slow(MajorityClassifier):
    """Takes a fifth of a second."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sleep, and fit."""
        time.sleep(0.2)
        return super().fit(X, y)


class IgnoringSignals(MajorityClassifier):
    """Blocks all signals, like a long computation in C."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Block all signals, and sleep for a minute."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGTERM, signal.SIGINT})
        time.sleep(60)
        return self
