"""Permutation importance: the loss of score on test rows when the cells of a column are permuted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.experiment import Experiment, FoldResult

MAX_SCORED_ROWS = 2000
"""The number of rows drawn from a larger part."""
MIN_ROWS = 2
"""The minimum number of rows, because a single row cannot be permuted."""

Score = Callable[[Any, pd.DataFrame, np.ndarray, np.ndarray | None], float]
"""(model, rows, targets, weights) -> score."""


@dataclass(frozen=True)
class ScoredPart:
    """Rows on which a model is scored that was fitted on other rows.

    Attributes
    ----------
    model : estimator
    X : DataFrame of shape (m, d)
    y : ndarray of shape (m,)
    weights : ndarray of shape (m,) or None
    """

    model: Any
    X: pd.DataFrame
    y: np.ndarray
    weights: np.ndarray | None = None

    def draw(self, generator: np.random.Generator) -> ScoredPart:
        """Return the part with at most `MAX_SCORED_ROWS` rows; scikit-learn would draw other rows for each column."""
        if len(self.X) <= MAX_SCORED_ROWS:
            return self
        rows = np.sort(generator.choice(len(self.X), MAX_SCORED_ROWS, replace=False))
        weights = None if self.weights is None else self.weights[rows]
        return ScoredPart(self.model, self.X.iloc[rows], self.y[rows], weights)


def list_scored_parts(experiment: Experiment, folds: Sequence[FoldResult]) -> tuple[list[ScoredPart], str]:
    """Return the test rows of each fold of a run with the model fitted without them, and which rows these are."""
    dataset = experiment.dataset
    parts = []
    for fold in folds:
        rows = fold.split.test
        if len(rows) < MIN_ROWS:
            return [], "each fold tests a single row, so nothing can be permuted"
        weights = None if dataset.weights is None else dataset.weights[rows]
        parts.append(ScoredPart(fold.model.predictor, dataset.X.iloc[rows], dataset.y[rows], weights))
    n_rows = sum(len(part.X) for part in parts)
    if len(parts) == 1:
        return parts, f"the {n_rows:,} test rows of the run"
    return parts, f"the {n_rows:,} test rows of {len(parts)} folds, each predicted by a model fitted without it"


def permute_columns(part: ScoredPart, score: Score, greater_is_better: bool, repeats: int, seed: int) -> np.ndarray:
    """Return the loss of score for each permutation of each column, of shape (d, repeats).

    A permuted column keeps its values but loses its relation to the target and to the other columns. Losses are
    positive if the column helps, even if the score is an error.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45, 2001.
    """
    from sklearn.inspection import permutation_importance

    sign = 1.0 if greater_is_better else -1.0
    found: Any = permutation_importance(
        part.model,
        part.X,
        part.y,
        scoring=lambda model, X, y: sign * score(model, X, y, part.weights),
        n_repeats=repeats,
        random_state=seed,
    )
    losses: np.ndarray = found.importances
    return losses
