"""The predictions of a model for some rows, their true values, and the rows of each class, counted for all scores."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bakeoff.pipeline.stages.scoring.outputs import (
    compute_decision,
    get_classes,
    locate_labels,
    name_learner,
    predict_probabilities,
    predict_values,
)


@dataclass(frozen=True)
class ClassCounts:
    """The rows of each class, or the sums of their weights.

    Attributes
    ----------
    pairs : ndarray of shape (c, c)
        By true class (rows) and predicted class (columns).
    true, predicted : ndarray of shape (c,)
        By true class, and by predicted class. They are not the sums of `pairs`: with weights, another order of the
        same additions has another last bit.
    """

    pairs: np.ndarray
    true: np.ndarray
    predicted: np.ndarray

    @classmethod
    def count(cls, truth: np.ndarray, predicted: np.ndarray, n_classes: int, weights: np.ndarray | None) -> ClassCounts:
        """Count the rows.

        Parameters
        ----------
        truth, predicted : ndarray of int of shape (m,)
            Positions of classes.
        n_classes : int
        weights : ndarray of shape (m,) or None
        """
        codes = truth * n_classes + predicted  # (m,)
        pairs = np.bincount(codes, weights, n_classes * n_classes)  # (c * c,)
        return cls(
            pairs.reshape(n_classes, n_classes),
            np.bincount(truth, weights, n_classes),
            np.bincount(predicted, weights, n_classes),
        )

    @property
    def correct(self) -> np.ndarray:
        """The rows of each class that are predicted as such, shape (c,)."""
        return np.diagonal(self.pairs)

    @property
    def occurring_pairs(self) -> np.ndarray:
        """`pairs` of the classes that are true or predicted for a row, shape (at most c, the same)."""
        occurs = np.flatnonzero((self.true > 0) | (self.predicted > 0))
        return np.ascontiguousarray(self.pairs[np.ix_(occurs, occurs)])

    def score_classes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return precision, recall and F1 of each class, each of shape (c,), NaN where one is 0/0."""
        correct = self.correct
        # As scikit-learn adds them: with weights, the differences are rounded.
        predicted = correct + (self.predicted - correct)  # (c,)
        true = correct + (self.true - correct)  # (c,)
        f1 = _divide(2.0 * correct, true + predicted)
        return _divide(correct, predicted), _divide(correct, true), f1

    def compute_balanced_accuracy(self) -> float:
        """Return the mean recall of the classes that occur in the truth."""
        pairs = self.occurring_pairs
        recall = _divide(np.diagonal(pairs), pairs.sum(axis=1))
        return float(np.mean(recall[~np.isnan(recall)]))

    def compute_mcc(self) -> float:
        """Return the correlation of true and predicted classes; 0 if all rows are of one class on either side."""
        pairs = self.occurring_pairs
        true = pairs.sum(axis=1, dtype=np.float64)
        predicted = pairs.sum(axis=0, dtype=np.float64)
        n_correct = np.trace(pairs, dtype=np.float64)
        n_rows = predicted.sum()
        covariance = n_correct * n_rows - np.dot(true, predicted)
        predicted_variance = n_rows**2 - np.dot(predicted, predicted)
        true_variance = n_rows**2 - np.dot(true, true)
        variances = predicted_variance * true_variance
        if variances == 0:
            return 0.0
        return float(covariance / np.sqrt(variances))

    def compute_kappa(self) -> float:
        """Return the agreement beyond chance; NaN if chance cannot disagree."""
        observed = self.pairs.astype(np.float64)
        predicted = observed.sum(axis=0)  # (c,)
        true = observed.sum(axis=1)  # (c,)
        expected = np.outer(predicted, true) / predicted.sum()  # (c, c)
        differs = 1 - np.eye(len(observed))
        disagreement_by_chance = np.sum(differs * expected)
        if disagreement_by_chance == 0:
            return float("nan")
        return float(1 - np.sum(differs * observed) / disagreement_by_chance)


def _divide(counts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the ratios, shape (c,), NaN where the total is 0."""
    ratios = np.full(len(counts), np.nan)
    np.divide(counts, totals, out=ratios, where=totals != 0)
    return ratios


@dataclass(frozen=True)
class Predictions:
    """The predictions of a model for m rows, and their true values.

    Attributes
    ----------
    truth, predicted : ndarray of shape (m,)
    probabilities : ndarray of shape (m, c) or None
        One column for each class of the dataset, in sorted order; 0 for a class that the training rows lacked.
    decision : ndarray of shape (m,) or (m, c) or None
        Decision values, if the model has no probabilities or a metric needs them.
    classes : ndarray of shape (c,) or None
        None for regression.
    positive : object or None
        The positive class, if there is one.
    seconds : float
        Wall time of ``predict``.
    weights : ndarray of shape (m,) or None
        How much each row counts in every score, at least 0; None if all count alike.
    """

    truth: np.ndarray
    predicted: np.ndarray
    probabilities: np.ndarray | None = None
    decision: np.ndarray | None = None
    classes: np.ndarray | None = None
    positive: object | None = None
    seconds: float = 0.0
    weights: np.ndarray | None = None

    @cached_property
    def class_counts(self) -> ClassCounts:
        """The rows of each class, counted once for all scores that depend on them; labels must be encoded."""
        assert self.classes is not None
        return ClassCounts.count(self.truth, self.predicted, len(self.classes), self.weights)

    @cached_property
    def class_scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Precision, recall and F1 of each class, each of shape (c,), computed once for the three metrics."""
        return self.class_counts.score_classes()


def predict_rows(
    model: Any,
    X: Any,
    truth: np.ndarray,
    classes: np.ndarray | None,
    positive: object | None,
    *,
    weights: np.ndarray | None = None,
    labels_only: bool = False,
    with_decision: bool = False,
    part: str = "",
) -> Predictions:
    """Return the predictions of a fitted model, with the time they took.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : table of shape (m, d)
    truth : ndarray of shape (m,)
    classes : ndarray of shape (c,) or None
        All classes of the dataset; the training rows may have had fewer.
    positive : object or None
    weights : ndarray of shape (m,), optional
        How much each row counts in the scores.
    labels_only : bool
        Whether to leave out probabilities and decision values, because no metric needs them.
    with_decision : bool
        Whether a metric needs decision values, even if the model has probabilities.
    part : str
        Of which rows these are, for messages.

    Raises
    ------
    InvalidPredictions
        A label that is no class, a number that is not finite, or an array of the wrong shape.
    """
    started = time.perf_counter()
    predicted = predict_values(model, X, classes, part)  # (m,)
    seconds = time.perf_counter() - started
    probabilities = None
    decision = None
    if classes is not None and not labels_only:
        if hasattr(model, "predict_proba"):
            probabilities = _place_columns(predict_probabilities(model, X, part), model, classes)
        if hasattr(model, "decision_function") and (with_decision or probabilities is None):
            decision = compute_decision(model, X, part)  # (m,) or (m, c)
    return Predictions(truth, predicted, probabilities, decision, classes, positive, seconds, weights)


def select_counted_rows(predictions: Predictions) -> Predictions:
    """Return the predictions of the rows that count: those whose weight is not 0."""
    weights = predictions.weights
    if weights is None or weights.all():
        return predictions
    counts = weights > 0  # (m,)
    probabilities = predictions.probabilities
    decision = predictions.decision
    return replace(
        predictions,
        truth=predictions.truth[counts],
        predicted=predictions.predicted[counts],
        probabilities=None if probabilities is None else probabilities[counts],
        decision=None if decision is None else decision[counts],
        weights=weights[counts],
    )


def encode_labels(predictions: Predictions) -> Predictions:
    """Return the predictions with each label replaced by its position among the classes.

    scikit-learn would sort text labels again for each score.

    Raises
    ------
    InvalidPredictions
        A label is no class.
    """
    classes = predictions.classes
    if classes is None:
        return predictions
    positive_code = None
    if predictions.positive is not None:
        positive_code = int(np.flatnonzero(classes == predictions.positive)[0])
    return replace(
        predictions,
        truth=locate_labels(predictions.truth, classes),
        predicted=locate_labels(predictions.predicted, classes),
        classes=np.arange(len(classes)),
        positive=positive_code,
    )


def count_confusions(truth: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Count the rows of each true class (rows) and predicted class (columns): shape (c, c).

    Raises
    ------
    InvalidPredictions
        A label is no class.
    """
    true_codes = locate_labels(truth, classes)  # (m,)
    predicted_codes = locate_labels(predicted, classes)  # (m,)
    return ClassCounts.count(true_codes, predicted_codes, len(classes), None).pairs


def _place_columns(by_training_class: np.ndarray, model: Any, classes: np.ndarray) -> np.ndarray:
    """Return probabilities for all classes of the dataset, shape (m, c), from those for the classes of a model."""
    columns = locate_labels(get_classes(model), classes, f"one of the classes_ of {name_learner(model)}")
    probabilities = np.zeros((len(by_training_class), len(classes)))
    probabilities[:, columns] = by_training_class
    return probabilities
