"""Scorers of scikit-learn, applied to stored predictions.

A scorer takes a model and rows. Here the model is one that answers with the predictions it was given, so that the same
scorer object gives the same number, and the model itself is asked once for all metrics.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.metaestimators import available_if

from bakeoff.pipeline.stages.scoring.predictions import Predictions


class StoredRegressor(RegressorMixin, BaseEstimator):
    """A regressor that answers with predictions that it was given."""

    def __init__(self, predictions: Predictions) -> None:
        self.predictions = predictions

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the predictions, shape (m,)."""
        return self.predictions.predicted


class StoredClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that answers with predictions that it was given."""

    def __init__(self, predictions: Predictions) -> None:
        self.predictions = predictions

    @property
    def classes_(self) -> np.ndarray | None:
        """The class labels, shape (c,)."""
        return self.predictions.classes

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the predicted labels, shape (m,)."""
        return self.predictions.predicted

    @available_if(lambda model: model.predictions.probabilities is not None)
    def predict_proba(self, X: np.ndarray) -> np.ndarray | None:
        """Return the probabilities, shape (m, c)."""
        return self.predictions.probabilities

    @available_if(lambda model: model.predictions.decision is not None)
    def decision_function(self, X: np.ndarray) -> np.ndarray | None:
        """Return the decision values, shape (m,) or (m, c)."""
        return self.predictions.decision


@dataclass(frozen=True, eq=False)
class ScorerFormula:
    """The formula of a metric that a scorer computes.

    Parameters
    ----------
    scorer : callable
        (model, X, y, sample_weight) -> float, as scikit-learn's ``make_scorer`` returns it.
    sign : int
        1, or -1 for the error of which the scorer is the negative.
    labels : ndarray of shape (c,) or None
        The labels of the dataset, for a scorer of the user. A scorer of scikit-learn gets positions among the classes
        instead, the positive one of two classes at 1, because it takes 1 for the positive label.
    hides_decision : bool
        Whether decision values are left out where there are probabilities, so that the score does not depend on which
        other metrics are computed.
    name : str
        Of a scorer of scikit-learn, whose error on some rows is an undefined score with a warning; empty for a scorer
        of the user, whose error is one of the run.
    """

    scorer: Callable[..., Any]
    sign: int = 1
    labels: np.ndarray | None = None
    hides_decision: bool = False
    name: str = ""

    def __call__(self, predictions: Predictions) -> float:
        """Return the score of predictions whose labels are positions among the classes; NaN if it is not defined."""
        # NaN in predictions is an error of the model and not of the score.
        for values in (predictions.predicted, predictions.probabilities, predictions.decision):
            if values is not None:
                assert_all_finite(values)
        if not self.name:
            return self.compute(predictions)
        try:
            return self.compute(predictions)
        except ValueError as error:
            reason = str(error).splitlines()[0]
            warnings.warn(f"{self.name} is not defined on some rows: {reason}", stacklevel=2)
            return float("nan")

    def compute(self, predictions: Predictions) -> float:
        """Return the score, with the errors of the scorer; NaN if scikit-learn warns that it is not defined."""
        if self.hides_decision and predictions.probabilities is not None:
            predictions = replace(predictions, decision=None)
        stored = self._label(predictions)
        model = StoredRegressor(stored) if stored.classes is None else StoredClassifier(stored)
        rows = np.arange(len(stored.truth)).reshape(-1, 1)  # (m, 1)
        arguments = {} if stored.weights is None else {"sample_weight": stored.weights}
        with warnings.catch_warnings():
            warnings.simplefilter("error", UndefinedMetricWarning)
            try:
                score = self.scorer(model, rows, stored.truth, **arguments)
            except UndefinedMetricWarning:
                return float("nan")
        return self.sign * float(score)

    def _label(self, predictions: Predictions) -> Predictions:
        """Return the predictions with the labels that the scorer reads."""
        if predictions.classes is None:
            return predictions
        if self.labels is not None:
            truth = self.labels[predictions.truth]
            return replace(predictions, truth=truth, predicted=self.labels[predictions.predicted], classes=self.labels)
        is_reversed = len(predictions.classes) == 2 and predictions.positive == 0
        return _swap_classes(predictions) if is_reversed else predictions


def _swap_classes(predictions: Predictions) -> Predictions:
    """Return predictions for two classes in the other order of the classes."""
    probabilities = predictions.probabilities
    decision = predictions.decision
    return replace(
        predictions,
        truth=1 - predictions.truth,
        predicted=1 - predictions.predicted,
        probabilities=None if probabilities is None else probabilities[:, ::-1],
        decision=None if decision is None else -decision,
        positive=1,
    )
