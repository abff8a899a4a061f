"""Scores under plain names with their natural sign: a good error is small, and a good accuracy is large.

The formulas are scikit-learn's.  A score that is not defined on some rows (ROC AUC if a class is absent) is NaN and not
0.
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
    """The predictions of a model for m rows, beside the truth.

    Attributes
    ----------
    truth, predicted : ndarray of shape (m,)
    probabilities : ndarray of shape (m, c) or None
        One column for each class of the dataset, in sorted order; 0 for a class that the training rows lacked.
    decision : ndarray of shape (m,) or (m, c) or None
        Decision values, if the model has no probabilities.
    classes : ndarray of shape (c,) or None
        None for regression.
    positive : object or None
        The positive class, if there is one.
    seconds : float
        Wall time of ``predict``.
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
        """Precision, recall and F1 of each class, each of shape (c,), computed once for the three metrics."""
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(
            self.truth, self.predicted, labels=self.classes, zero_division=np.nan
        )
        return precision, recall, f1


@dataclass(frozen=True)
class Metric:
    """A score.

    Attributes
    ----------
    formula : callable
        (predictions) -> float.
    greater_is_better : bool
    needs : tuple of str
        Methods of which the learner must have one.
    """

    formula: Callable[[Predictions], float]
    greater_is_better: bool = True
    needs: tuple[str, ...] = ()


def compute_accuracy(predictions: Predictions) -> float:
    """Return the fraction of rows whose class is predicted."""
    # scikit-learn's function spends more time on its checks than a small prediction takes.
    return float(np.mean(predictions.truth == predictions.predicted))


def compute_error(predictions: Predictions) -> float:
    """Return the fraction of rows whose class is not predicted."""
    return 1 - compute_accuracy(predictions)


def compute_balanced_accuracy(predictions: Predictions) -> float:
    """Return the mean recall of the classes that occur."""
    return float(metrics.balanced_accuracy_score(predictions.truth, predictions.predicted))


def compute_precision(predictions: Predictions) -> float:
    """Return the precision of the positive class, or the mean over classes."""
    precision, _, _ = predictions.class_scores
    return _select_positive(predictions, precision)


def compute_recall(predictions: Predictions) -> float:
    """Return the recall of the positive class, or the mean over classes."""
    _, recall, _ = predictions.class_scores
    return _select_positive(predictions, recall)


def compute_f1(predictions: Predictions) -> float:
    """Return F1 of the positive class, or the mean over classes."""
    _, _, f1 = predictions.class_scores
    return _select_positive(predictions, f1)


def compute_log_loss(predictions: Predictions) -> float:
    """Return the mean negative log-probability of the true class, in nats (scikit-learn's clipping keeps it finite)."""
    assert predictions.probabilities is not None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The y_prob values do not sum to one", UserWarning)
        probabilities = np.clip(predictions.probabilities, 0, 1)  # (m, c), where a sum may be rounded to above 1
        return float(metrics.log_loss(predictions.truth, probabilities, labels=predictions.classes))


def compute_roc_auc(predictions: Predictions) -> float:
    """Return the area under the ROC curve; for more than two classes the mean over each class against the rest."""
    classes = predictions.classes
    assert classes is not None
    if len(np.unique(predictions.truth)) < len(classes):
        return float("nan")
    probabilities = predictions.probabilities
    if len(classes) == 2:
        ranking = predictions.decision if probabilities is None else probabilities[:, 1]  # (m,)
        return float(metrics.roc_auc_score(predictions.truth == classes[1], ranking))
    if probabilities is None:
        return float("nan")
    is_class = predictions.truth[:, np.newaxis] == classes  # (m, c): one against the rest
    return float(metrics.roc_auc_score(is_class, probabilities))


def compute_r2(predictions: Predictions) -> float:
    """Return the fraction of the variance explained; NaN if the targets do not vary."""
    if len(np.unique(predictions.truth)) < 2:
        return float("nan")
    return float(metrics.r2_score(predictions.truth, predictions.predicted))


def compute_rmse(predictions: Predictions) -> float:
    """Return the root of the mean squared error."""
    return float(metrics.root_mean_squared_error(predictions.truth, predictions.predicted))


def compute_mse(predictions: Predictions) -> float:
    """Return the mean squared error."""
    return float(metrics.mean_squared_error(predictions.truth, predictions.predicted))


def compute_mae(predictions: Predictions) -> float:
    """Return the mean absolute error."""
    return float(metrics.mean_absolute_error(predictions.truth, predictions.predicted))


CLASSIFICATION: Mapping[str, Metric] = {
    "accuracy": Metric(compute_accuracy),
    "error": Metric(compute_error, greater_is_better=False),
    "balanced_accuracy": Metric(compute_balanced_accuracy),
    "precision": Metric(compute_precision),
    "recall": Metric(compute_recall),
    "f1": Metric(compute_f1),
    "log_loss": Metric(compute_log_loss, greater_is_better=False, needs=("predict_proba",)),
    "roc_auc": Metric(compute_roc_auc, needs=("predict_proba", "decision_function")),
}
REGRESSION: Mapping[str, Metric] = {
    "r2": Metric(compute_r2),
    "rmse": Metric(compute_rmse, greater_is_better=False),
    "mse": Metric(compute_mse, greater_is_better=False),
    "mae": Metric(compute_mae, greater_is_better=False),
}
DEFAULTS = {
    "classification": ("accuracy", "error", "precision", "recall", "f1", "log_loss", "roc_auc"),
    "regression": ("r2", "rmse", "mse", "mae"),
}
"""The metrics of each task, the headline first, if the configuration names none."""


def get_task_metrics(task: str) -> Mapping[str, Metric]:
    """Return the metrics of a task by name."""
    return CLASSIFICATION if task == "classification" else REGRESSION


def choose_metrics(names: Sequence[str] | None, task: str, learner: object) -> dict[str, Metric]:
    """Return the metrics to compute, the headline first.

    Parameters
    ----------
    names : sequence of str or None
        None selects the defaults of the task for which the learner has the methods.
    task : {"classification", "regression"}
    learner : estimator
        Must have the methods that the metrics need: probabilities, or decision values.

    Raises
    ------
    UserError
        An unknown name, a metric of the other task, or one for which the learner lacks the method.
    """
    known = get_task_metrics(task)
    if names is None:
        return {name: known[name] for name in DEFAULTS[task] if _is_available(known[name], learner)}
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise UserError(f"evaluation.metrics={names!r} must be a list of names, such as [{DEFAULTS[task][0]}].")
    for name in names:
        if name not in known:
            raise UserError(f"evaluation.metrics names {name!r}, no metric of {task}. {did_you_mean(str(name), known)}")
        if not _is_available(known[name], learner):
            raise UserError(
                f"evaluation.metrics names {name!r}, which needs {' or '.join(known[name].needs)}, and "
                f"{type(learner).__name__} has none; take it out of the list."
            )
    return {name: known[name] for name in names}


def predict_rows(
    model: Any,
    X: Any,
    truth: np.ndarray,
    classes: np.ndarray | None,
    positive: object | None,
    *,
    labels_only: bool = False,
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
    labels_only : bool
        Whether to leave out probabilities and decision values, because no metric needs them.
    """
    started = time.perf_counter()
    predicted = np.asarray(model.predict(X))  # (m,)
    seconds = time.perf_counter() - started
    probabilities = None
    decision = None
    if classes is not None and not labels_only:
        if hasattr(model, "predict_proba"):
            probabilities = _predict_probabilities(model, X, classes)
        elif hasattr(model, "decision_function"):
            decision = np.asarray(model.decision_function(X))  # (m,) or (m, c)
    return Predictions(truth, predicted, probabilities, decision, classes, positive, seconds)


def encode_labels(predictions: Predictions) -> Predictions:
    """Return the predictions with each label replaced by its position among the classes.

    scikit-learn would sort text labels again for each score.
    """
    classes = predictions.classes
    if classes is None:
        return predictions
    positive_code = None
    if predictions.positive is not None:
        positive_code = int(np.flatnonzero(classes == predictions.positive)[0])
    return replace(
        predictions,
        truth=np.searchsorted(classes, predictions.truth),
        predicted=np.searchsorted(classes, predictions.predicted),
        classes=np.arange(len(classes)),
        positive=positive_code,
    )


def compute_scores(chosen: Mapping[str, Metric], predictions: Predictions) -> dict[str, float]:
    """Compute each metric: name -> value, NaN if it is not defined."""
    encoded = encode_labels(predictions)
    with warnings.catch_warnings(), config_context(skip_parameter_validation=True):
        warnings.filterwarnings("ignore", module="sklearn.metrics")
        return {name: float(metric.formula(encoded)) for name, metric in chosen.items()}


def count_confusions(truth: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Count the rows of each true class (rows) and predicted class (columns): shape (c, c)."""
    true_codes = np.searchsorted(classes, truth)  # (m,)
    predicted_codes = np.searchsorted(classes, predicted)  # (m,)
    counts: np.ndarray = metrics.confusion_matrix(true_codes, predicted_codes, labels=np.arange(len(classes)))
    return counts


def _select_positive(predictions: Predictions, scores: np.ndarray) -> float:
    """Return the score of the positive class, else the mean, of scores of shape (c,); NaN if one of them is 0/0."""
    if predictions.positive is None:
        return float(np.mean(scores))
    assert predictions.classes is not None
    return float(scores[predictions.classes == predictions.positive][0])


def _is_available(metric: Metric, learner: object) -> bool:
    return not metric.needs or any(hasattr(learner, method) for method in metric.needs)


def _predict_probabilities(model: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """Return probabilities for all classes of the dataset, shape (m, c)."""
    by_training_class = model.predict_proba(X)
    probabilities = np.zeros((len(by_training_class), len(classes)))
    probabilities[:, np.searchsorted(classes, model.classes_)] = by_training_class
    return probabilities
