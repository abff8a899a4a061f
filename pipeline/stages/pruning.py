"""Pruning on validation rows: chooses rows and method, and reports; the mathematics is the learner's own.

A learner that can be pruned has ``prune(X, y, method=...)``, which cuts it back in place, and ``pruning_path_`` with
``leaves``, ``depth`` and ``score`` at each step, the unpruned tree first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

METHODS = ("bottom_up", "best_first", "pessimistic")


class Prunable(Protocol):
    """What pruning asks of a learner."""

    pruning_path_: dict[str, np.ndarray]

    def prune(self, X: Any, y: Any, method: str) -> Any:
        """Cut back in place."""


@dataclass(frozen=True)
class PruningPath:
    """Sizes and validation scores of a tree as it was cut back, the unpruned tree first.

    Attributes
    ----------
    leaves, depth : ndarray of shape (s,), int
    score : ndarray of shape (s,)
        On the validation rows that chose the cuts: not an estimate of anything.
    """

    leaves: np.ndarray
    depth: np.ndarray
    score: np.ndarray


@dataclass(frozen=True)
class NoPruning:
    """Leave the learner as it was fitted."""

    needs_rows: bool = False
    method: str = "none"

    def prune(self, learner: Any, X: Any, y: np.ndarray) -> PruningPath | None:
        """Do nothing."""
        return None


@dataclass(frozen=True)
class Pruning:
    """Cut a fitted learner back by one method.

    Parameters
    ----------
    method : {"bottom_up", "best_first", "pessimistic"}
        The first two need validation rows; the last judges by training counts alone.
    """

    method: str

    @property
    def needs_rows(self) -> bool:
        """Whether the method looks at validation rows."""
        return self.method != "pessimistic"

    def prune(self, learner: Prunable, X: Any, y: np.ndarray) -> PruningPath | None:
        """Cut back on rows X (m, d) with y (m,), in place, and return the path."""
        learner.prune(X, y, method=self.method)
        path = learner.pruning_path_
        return PruningPath(np.asarray(path["leaves"]), np.asarray(path["depth"]), np.asarray(path["score"]))
