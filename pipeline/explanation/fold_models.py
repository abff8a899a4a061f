"""The models of all folds as one, which predicts each row by the model that was not fitted on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from bakeoff.pipeline.stages.scoring import (
    compute_decision,
    get_classes,
    locate_labels,
    predict_probabilities,
    predict_values,
)


def _all_have(method: str) -> Callable[[Any], bool]:
    """Return a condition of several models: whether each of them has a method."""
    return lambda models: all(hasattr(model, method) for model in models.models)


class FoldModels(BaseEstimator):
    """A predictor for f folds that test one row or a few: row i is predicted by the model of the fold that tests it.

    Permuting a column over the rows of a fold that tests a single one would change nothing.

    Parameters
    ----------
    models : sequence of f estimators
        Fitted.
    sizes : sequence of int
        How many rows each fold tests; the rows come in the order of the folds.
    classes : ndarray of shape (c,) or None
        All classes of the dataset; None for regression.
    """

    def __init__(self, models: Sequence[Any], sizes: Sequence[int], classes: np.ndarray | None) -> None:
        self.models = models
        self.sizes = sizes
        self.classes = classes
        if classes is not None:
            self.classes_ = classes

    def fit(self, X: Any = None, y: Any = None) -> FoldModels:
        """Do nothing: the models are fitted."""
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return the predictions for rows X (m, d), shape (m,)."""
        return np.concatenate([predict_values(model, rows, self.classes) for model, rows in self._divide(X)])

    @available_if(_all_have("predict_proba"))
    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return a probability for each class of the dataset, shape (m, c)."""
        assert self.classes is not None
        parts = []
        for model, rows in self._divide(X):
            probabilities = np.zeros((len(rows), len(self.classes)))
            columns = locate_labels(get_classes(model), self.classes)
            probabilities[:, columns] = predict_probabilities(model, rows)
            parts.append(probabilities)
        return np.concatenate(parts)

    @available_if(_all_have("decision_function"))
    def decision_function(self, X: pd.DataFrame) -> np.ndarray:
        """Return the decision values, shape (m,) or (m, c)."""
        return np.concatenate([compute_decision(model, rows) for model, rows in self._divide(X)])

    def _divide(self, X: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
        """Return each model with its rows."""
        ends = np.cumsum(self.sizes)
        return [
            (model, X.iloc[end - size : end])
            for model, size, end in zip(self.models, self.sizes, ends.tolist(), strict=True)
        ]
