"""The pruning stage, which chooses rows and method and reports the result; the learner implements the algorithm.

A learner that can be pruned has ``prune(X, y, method=...)``, which prunes it in place, and ``pruning_path_`` with
``leaves``, ``depth`` and ``score`` at each step, the unpruned tree first.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

METHODS = ("bottom_up", "best_first", "pessimistic")
"""Reduced-error pruning (Quinlan 1987), bottom-up and best-first, and pessimistic pruning."""

MAX_CONFIDENCE = 0.5
"""The largest confidence of pessimistic pruning, at which the bound on the errors is about their number."""


@dataclass(frozen=True)
class PruningPath:
    """Sizes and validation scores of a tree at each of the s steps of its pruning, the unpruned tree first.

    Attributes
    ----------
    leaves, depth : ndarray of shape (s,), int
    score : ndarray of shape (s,)
        The score on the validation rows used to choose the cuts, so it is a biased estimate of the score on new rows.
    """

    leaves: np.ndarray
    depth: np.ndarray
    score: np.ndarray


@dataclass(frozen=True)
class NoPruning:
    """Leave the fitted learner unchanged."""

    needs_rows: bool = False
    method: str = "none"

    def prune(self, learner: Any, X: Any, y: np.ndarray, weights: np.ndarray | None = None) -> PruningPath | None:
        """Return None."""
        return None


@dataclass(frozen=True)
class Pruning:
    """Prune a fitted learner by one method.

    Parameters
    ----------
    method : {"bottom_up", "best_first", "pessimistic"}
        The first two need validation rows; the last uses the counts of the training rows.
    confidence : float in (0, 0.5], optional
        The confidence of pessimistic pruning; a smaller value prunes more.
    """

    method: str
    confidence: float | None = None

    @property
    def needs_rows(self) -> bool:
        """Whether the method uses validation rows."""
        return self.method != "pessimistic"

    def prune(self, learner: Any, X: Any, y: np.ndarray, weights: np.ndarray | None = None) -> PruningPath | None:
        """Prune a learner in place, on rows X (m, d) with y (m,) and weights (m,), and return its path."""
        options: dict[str, Any] = {}
        if weights is not None:
            options["sample_weight"] = weights
        if self.confidence is not None:
            options["confidence"] = self.confidence
        learner.prune(X, y, method=self.method, **options)
        path = learner.pruning_path_
        return PruningPath(
            leaves=np.asarray(path["leaves"]),
            depth=np.asarray(path["depth"]),
            score=np.asarray(path["score"]),
        )
