"""The rows that tuning may see, and their preprocessing, which is done once for all candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.stages.tuning.candidates import FitRows, PathEstimator


@dataclass(frozen=True)
class TuningData:
    """The rows that tuning may see, and the score to optimize.

    Attributes
    ----------
    X : DataFrame of shape (n, d)
        Training rows, then validation rows if tuning may use them.
    y : ndarray of shape (n,)
    n_train : int
        The number of training rows.
    score : callable
        (fitted learner, prepared X, y, weights of the rows or None) -> float, in the metric's natural sign.
    greater_is_better : bool
    is_classification : bool
        Whether y holds labels, whose proportions the inner folds keep.
    seed : int
        Of the inner folds.
    weights : ndarray of shape (n,) or None
        How much each row counts, in fits and scores.
    prepare : callable
        (prepared X, y, weights) of the rows to fit on -> what the learner is fitted on.
    inner_splits : sequence of (ndarray, ndarray), optional
        Positions of the rows to fit on and to score on, for each inner fold; by default the rows are shuffled.
    """

    X: pd.DataFrame
    y: np.ndarray
    n_train: int
    score: Callable[[BaseEstimator, pd.DataFrame, np.ndarray, np.ndarray | None], float]
    greater_is_better: bool
    is_classification: bool
    seed: int
    weights: np.ndarray | None = None
    prepare: Callable[[Any, np.ndarray, np.ndarray | None], FitRows] = FitRows
    inner_splits: Sequence[tuple[np.ndarray, np.ndarray]] | None = None

    def select_weights(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the weights of some rows, given by their positions; None if all count alike."""
        return None if self.weights is None else self.weights[rows]


def preprocess_tables(model: Pipeline, X: pd.DataFrame, y: np.ndarray, *others: pd.DataFrame) -> list[Any]:
    """Fit copies of the steps before the learner, and return the transformed tables, X first.

    Parameters
    ----------
    model : Pipeline
        It does not change.
    X : DataFrame of shape (n, d)
    y : ndarray of shape (n,)
    *others : DataFrame
        Of the same columns; only transformed.
    """
    steps = clone(Pipeline([("table", "passthrough"), *model.steps[:-1]]))
    tables = [steps.fit_transform(X, y)]
    tables += [steps.transform(other) for other in others]
    return [_drop_column_names(model[-1], table) for table in tables]


def _drop_column_names(learner: Any, table: Any) -> Any:
    """Return a numeric table as an array if column names are not needed: checking them costs time per candidate."""
    names_columns = getattr(learner, "categorical_features", "from_dtype") != "from_dtype"
    if not isinstance(learner, PathEstimator) or not isinstance(table, pd.DataFrame) or names_columns:
        return table
    is_numeric = all(dtype == np.float64 for dtype in table.dtypes)
    return table.to_numpy() if is_numeric else table
