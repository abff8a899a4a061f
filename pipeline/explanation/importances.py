"""How much each column matters for the score: what is lost on test rows if its cells are permuted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.experiment import Experiment, FoldResult

REPEATS_OF_FOLDS = 5
"""Permutations of each column in each of several folds."""
REPEATS_OF_ONE_PART = 20
MAX_ROWS = 2000
"""Of a larger part, as many rows are drawn."""
MIN_ROWS = 2
"""Nothing can be permuted in a single row."""

Score = Callable[[Any, pd.DataFrame, np.ndarray, np.ndarray | None], float]
"""(model, rows, targets, weights) -> score."""


@dataclass(frozen=True)
class ScoredPart:
    """Rows that a model is scored on, which was fitted on other rows.

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
        """Return the part with at most `MAX_ROWS` rows; scikit-learn would draw other rows for each column."""
        if len(self.X) <= MAX_ROWS:
            return self
        rows = np.sort(generator.choice(len(self.X), MAX_ROWS, replace=False))
        weights = None if self.weights is None else self.weights[rows]
        return ScoredPart(self.model, self.X.iloc[rows], self.y[rows], weights)


def list_scored_parts(experiment: Experiment, folds: Sequence[FoldResult]) -> tuple[list[ScoredPart], str]:
    """Return the test rows of each fold of a run with the model fitted without them, and which rows these are."""
    dataset = experiment.dataset
    parts = []
    for fold in folds:
        rows = fold.split.test
        if len(rows) < MIN_ROWS:
            return [], "the folds of the run test a single row, in which no cells can be permuted"
        weights = None if dataset.weights is None else dataset.weights[rows]
        parts.append(ScoredPart(fold.model.predictor, dataset.X.iloc[rows], dataset.y[rows], weights))
    n_rows = sum(len(part.X) for part in parts)
    if len(parts) == 1:
        return parts, f"the {n_rows:,} test rows of the run"
    return parts, f"the {n_rows:,} test rows of {len(parts)} folds, each with the model that was fitted without them"


@dataclass(frozen=True)
class Importances:
    """The importance of every column for one score.

    Attributes
    ----------
    metric : str
        In words.
    change : str
        What happens to the score if a column is permuted that helps.
    score : float
        The mean of the parts before anything is permuted.
    columns : DataFrame of shape (d, 2)
        ``mean`` of what the score loses, positive where a column helps, and ``deviation``; the most important first.
    spread : str
        What the standard deviations are over.
    """

    metric: str
    change: str
    score: float
    columns: pd.DataFrame
    spread: str


def measure_importances(
    parts: Sequence[ScoredPart], score: Score, metric: str, greater_is_better: bool, seed: int
) -> Importances:
    """Return the permutation importance of every column.

    A column that is permuted keeps its values and loses its relation to the target and to the other columns.

    Parameters
    ----------
    parts : sequence of ScoredPart
        The test rows of each fold with its model.
    score : callable
    metric : str
    greater_is_better : bool
    seed : int

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45, 2001.
    """
    from sklearn.inspection import permutation_importance

    generator = np.random.default_rng(seed)
    drawn = [part.draw(generator) for part in parts]
    repeats = REPEATS_OF_FOLDS if len(drawn) > 1 else REPEATS_OF_ONE_PART
    sign = 1.0 if greater_is_better else -1.0

    def score_rows(model: Any, X: pd.DataFrame, y: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
        return sign * score(model, X, y, sample_weight)

    losses = []
    for number, part in enumerate(drawn):
        found: Any = permutation_importance(
            part.model,
            part.X,
            part.y,
            scoring=score_rows,
            n_repeats=repeats,
            sample_weight=part.weights,
            random_state=seed + number,
        )
        losses.append(found.importances)  # (d, repeats)
    values = np.stack([part.mean(axis=1) for part in losses], axis=1) if len(losses) > 1 else losses[0]
    columns = pd.DataFrame(
        {"mean": values.mean(axis=1), "deviation": values.std(axis=1, ddof=1)}, index=drawn[0].X.columns
    )
    words = metric.replace("_", " ")
    return Importances(
        metric=words,
        change=f"{'fall' if greater_is_better else 'rise'} of {words}",
        score=float(np.mean([score(part.model, part.X, part.y, part.weights) for part in drawn])),
        columns=columns.sort_values("mean", ascending=False, kind="stable"),
        spread=f"{len(drawn)} folds" if len(drawn) > 1 else f"{repeats} permutations",
    )
