"""Scores under plain names with their natural sign: an error is small when it is good, an accuracy large.

The formulas are scikit-learn's.  A score that is not defined on some rows (ROC AUC where one class is absent) is NaN,
never a silent 0.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn import config_context, metrics

from bakeoff.pipeline.errors import UserError, did_you_mean


@dataclass(frozen=True)
class Predictions:
    """What a model said of m rows, beside the truth.

    Attributes
    ----------
    truth, predicted : ndarray of shape (m,)
    probabilities : ndarray of shape (m, c) or None
        Columns in the order of all the dataset's classes; 0 for a class that training did not have.
    decision : ndarray of shape (m,) or (m, c) or None
        Decision values, where there are no probabilities.
    classes : ndarray of shape (c,) or None
        None for regression.
    positive : object or None
    seconds : float
        Wall time of the prediction.
    """

    truth: np.ndarray
    predicted: np.ndarray
    probabilities: np.ndarray | None = None
    decision: np.ndarray | None = None
    classes: np.ndarray | None = None
    positive: object | None = None
    seconds: float = 0.0

    @cached_property
    def class_scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Precision, recall and F1 of each class, each of shape (c,), counted once for all three."""
        truth, predicted, labels = self.truth, self.predicted, self.classes
        scores = metrics.precision_recall_fscore_support(truth, predicted, labels=labels, zero_division=np.nan)
        return scores[:3]


@dataclass(frozen=True)
class Metric:
    """A score: its formula, whether more is better, and what it needs of the learner."""

    formula: Callable[[Predictions], float]
    greater_is_better: bool = True
    needs: tuple[str, ...] = ()


def accuracy(predictions: Predictions) -> float:
    """Fraction of the rows whose class is predicted; scikit-learn's checks would take longer than small predictions."""
    return float(np.mean(predictions.truth == predictions.predicted))


def score_classes(predictions: Predictions, place: int) -> float:
    """Return precision (0), recall (1) or F1 (2) of the positive class, else the mean; NaN where one is 0/0."""
    each = predictions.class_scores[place]
    if predictions.positive is None:
        return float(np.mean(each))
    assert predictions.classes is not None
    return float(each[predictions.classes == predictions.positive][0])


def log_loss(predictions: Predictions) -> float:
    """Mean negative log-probability of the true class, in nats (scikit-learn's clipping keeps it finite)."""
    assert predictions.probabilities is not None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The y_prob values do not sum to one", UserWarning)
        certain = np.clip(predictions.probabilities, 0, 1)  # a sum of votes may round to just above 1
        return float(metrics.log_loss(predictions.truth, certain, labels=predictions.classes))


def roc_auc(predictions: Predictions) -> float:
    """Area under the ROC curve; for more classes the mean over each class against the rest."""
    classes = predictions.classes
    assert classes is not None
    if len(np.unique(predictions.truth)) < len(classes):
        return float("nan")
    if len(classes) == 2:
        ranking = predictions.decision if predictions.probabilities is None else predictions.probabilities[:, 1]
        return float(metrics.roc_auc_score(predictions.truth == classes[1], ranking))
    if predictions.probabilities is None:
        return float("nan")
    each = predictions.truth[:, np.newaxis] == classes  # (m, c): one against the rest
    return float(metrics.roc_auc_score(each, predictions.probabilities))


def r2(predictions: Predictions) -> float:
    """Fraction of the variance explained; NaN where the targets do not vary."""
    varies = len(np.unique(predictions.truth)) > 1
    return float(metrics.r2_score(predictions.truth, predictions.predicted)) if varies else float("nan")


CLASSIFICATION: Mapping[str, Metric] = {
    "accuracy": Metric(accuracy),
    "error": Metric(lambda o: 1 - accuracy(o), greater_is_better=False),
    "balanced_accuracy": Metric(lambda o: metrics.balanced_accuracy_score(o.truth, o.predicted)),
    "precision": Metric(lambda o: score_classes(o, 0)),
    "recall": Metric(lambda o: score_classes(o, 1)),
    "f1": Metric(lambda o: score_classes(o, 2)),
    "log_loss": Metric(log_loss, greater_is_better=False, needs=("predict_proba",)),
    "roc_auc": Metric(roc_auc, needs=("predict_proba", "decision_function")),
}
REGRESSION: Mapping[str, Metric] = {
    "r2": Metric(r2),
    "rmse": Metric(lambda o: metrics.root_mean_squared_error(o.truth, o.predicted), greater_is_better=False),
    "mse": Metric(lambda o: metrics.mean_squared_error(o.truth, o.predicted), greater_is_better=False),
    "mae": Metric(lambda o: metrics.mean_absolute_error(o.truth, o.predicted), greater_is_better=False),
}
DEFAULTS = {
    "classification": ("accuracy", "error", "precision", "recall", "f1", "log_loss", "roc_auc"),
    "regression": ("r2", "rmse", "mse", "mae"),
}


def get_task_metrics(task: str) -> Mapping[str, Metric]:
    """Return the metrics of a task by name."""
    return CLASSIFICATION if task == "classification" else REGRESSION


def choose_metrics(names: Sequence[str] | None, task: str, learner: object) -> dict[str, Metric]:
    """Return the metrics to compute, the headline first.

    Parameters
    ----------
    names : sequence of str or None
        None takes all defaults of the task that the learner can give.
    task : {"classification", "regression"}
    learner : estimator
        Must have what the metrics need: probabilities, or decision values.

    Raises
    ------
    UserError
        An unknown name, a metric of the other task, or one that the learner cannot give.
    """
    known = get_task_metrics(task)
    if names is None:
        return {name: known[name] for name in DEFAULTS[task] if _can_give(known[name], learner)}
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise UserError(f"evaluation.metrics={names!r} must be a list of names, such as [{DEFAULTS[task][0]}].")
    for name in names:
        if name not in known:
            raise UserError(f"evaluation.metrics names {name!r}, no metric of {task}. {did_you_mean(str(name), known)}")
        if not _can_give(known[name], learner):
            raise UserError(
                f"evaluation.metrics names {name!r}, which needs {' or '.join(known[name].needs)}, and "
                f"{type(learner).__name__} has none; take it out of the list."
            )
    return {name: known[name] for name in names}


def _can_give(metric: Metric, learner: object) -> bool:
    return not metric.needs or any(hasattr(learner, method) for method in metric.needs)


def predict_rows(
    model: Any,
    X: Any,
    truth: np.ndarray,
    classes: np.ndarray | None,
    positive: object | None,
    *,
    labels_only: bool = False,
) -> Predictions:
    """Let a fitted model predict, and take the time.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : table of shape (m, d)
    truth : ndarray of shape (m,)
    classes : ndarray of shape (c,) or None
        All classes of the dataset; training may have had fewer.
    positive : object or None
    labels_only : bool
        Ask for no probabilities or decision values: no metric wants them.
    """
    started = time.perf_counter()
    predicted = np.asarray(model.predict(X))
    seconds = time.perf_counter() - started
    if classes is None or labels_only:
        return Predictions(truth, predicted, classes=classes, positive=positive, seconds=seconds)
    probabilities = decision = None
    if hasattr(model, "predict_proba"):
        columns = np.searchsorted(classes, model.classes_)
        probabilities = np.zeros((len(truth), len(classes)))
        probabilities[:, columns] = model.predict_proba(X)
    elif hasattr(model, "decision_function"):
        decision = np.asarray(model.decision_function(X))
    return Predictions(truth, predicted, probabilities, decision, classes, positive, seconds)


def encode_labels(predictions: Predictions) -> Predictions:
    """Return the predictions with each label replaced by its position among the classes.

    scikit-learn would sort text labels again for each score.
    """
    classes = predictions.classes
    if classes is None:
        return predictions
    return replace(
        predictions,
        truth=np.searchsorted(classes, predictions.truth),
        predicted=np.searchsorted(classes, predictions.predicted),
        classes=np.arange(len(classes)),
        positive=None if predictions.positive is None else int(np.flatnonzero(classes == predictions.positive)[0]),
    )


def compute_scores(chosen: Mapping[str, Metric], predictions: Predictions) -> dict[str, float]:
    """Compute each metric: name -> value, NaN where it is not defined."""
    predictions = encode_labels(predictions)
    with warnings.catch_warnings(), config_context(skip_parameter_validation=True):
        warnings.filterwarnings("ignore", module="sklearn.metrics")
        return {name: float(metric.formula(predictions)) for name, metric in chosen.items()}


def count_confusions(truth: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Count rows by true class (rows) and predicted class (columns): shape (c, c)."""
    codes = np.searchsorted(classes, truth), np.searchsorted(classes, predicted)
    table: np.ndarray = metrics.confusion_matrix(*codes, labels=np.arange(len(classes)))
    return table
