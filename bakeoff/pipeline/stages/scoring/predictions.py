"""The predictions of a model for some rows, their true values, and the counts of rows of each class."""

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

ROW_FIELDS = ("truth", "predicted", "probabilities", "decision", "weights")
"""The attributes of predictions that contain one or more values for each row."""


def count_pairs(truth: np.ndarray, predicted: np.ndarray, n_classes: int, weights: np.ndarray | None) -> np.ndarray:
    """Count the rows of each pair of a true class (rows) and a predicted class (columns), or add up their weights.

    Parameters
    ----------
    truth, predicted : ndarray of int of shape (m,)
        Positions of classes.
    n_classes : int
    weights : ndarray of shape (m,) or None

    Returns
    -------
    ndarray of shape (c, c)
    """
    codes = truth * n_classes + predicted  # (m,)
    return np.bincount(codes, weights, n_classes * n_classes).reshape(n_classes, n_classes)


def divide_counts(counts: np.ndarray, totals: np.ndarray) -> np.ndarray:
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
        One column for each class of the dataset, in sorted order; 0 for a class absent from the training rows.
    decision : ndarray of shape (m,) or (m, c) or None
        Decision values, if the model has no probabilities or a metric needs them.
    classes : ndarray of shape (c,) or None
        None for regression.
    positive : object or None
        The positive class, if there is one.
    seconds : float
        Wall time of ``predict``.
    weights : ndarray of shape (m,) or None
        The weight of each row in every score, at least 0; None if all count equally.
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
    def class_scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Precision, recall and F1 of each class, each of shape (c,), NaN where one is 0/0; labels must be encoded."""
        assert self.classes is not None
        n_classes = len(self.classes)
        correct = np.diagonal(count_pairs(self.truth, self.predicted, n_classes, self.weights))  # (c,)
        # The sums match scikit-learn's: with weights, another order of summation and differences would be rounded.
        true = correct + (np.bincount(self.truth, self.weights, n_classes) - correct)  # (c,)
        predicted = correct + (np.bincount(self.predicted, self.weights, n_classes) - correct)  # (c,)
        f1 = divide_counts(2.0 * correct, true + predicted)
        return divide_counts(correct, predicted), divide_counts(correct, true), f1


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
        The weight of each row in the scores.
    labels_only : bool
        Whether to leave out probabilities and decision values, because no metric needs them.
    with_decision : bool
        Whether a metric needs decision values, even if the model has probabilities.
    part : str
        Which rows these are, for messages.

    Raises
    ------
    InvalidPredictions
        The model returns a label that is not a class, a number that is not finite, or an array of the wrong shape.
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
    """Return the predictions of the rows whose weight is not 0."""
    weights = predictions.weights
    if weights is None or weights.all():
        return predictions
    of_rows = {name: getattr(predictions, name) for name in ROW_FIELDS}
    counted = {name: values[weights > 0] for name, values in of_rows.items() if values is not None}
    return replace(predictions, **counted)


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


def _place_columns(by_training_class: np.ndarray, model: Any, classes: np.ndarray) -> np.ndarray:
    """Return probabilities for all classes of the dataset, shape (m, c), from those for the classes of a model."""
    columns = locate_labels(get_classes(model), classes, f"one of the classes_ of {name_learner(model)}")
    probabilities = np.zeros((len(by_training_class), len(classes)))
    probabilities[:, columns] = by_training_class
    return probabilities
