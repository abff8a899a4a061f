"""The formulas of the scores: functions of predictions that return a float, or NaN where a score is not defined."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import metrics

from bakeoff.pipeline.stages.scoring.predictions import Predictions


def compute_accuracy(predictions: Predictions) -> float:
    """Return the fraction of rows whose class is predicted."""
    # scikit-learn's function spends more time on its checks than a small prediction takes.
    return float(np.average(predictions.truth == predictions.predicted, weights=predictions.weights))


def compute_error(predictions: Predictions) -> float:
    """Return the fraction of rows whose class is not predicted."""
    return 1 - compute_accuracy(predictions)


def compute_balanced_accuracy(predictions: Predictions) -> float:
    """Return the mean recall of the classes that occur."""
    return _compare_values(metrics.balanced_accuracy_score, predictions)


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
        return float(
            metrics.log_loss(
                predictions.truth, probabilities, labels=predictions.classes, sample_weight=predictions.weights
            )
        )


def compute_roc_auc(predictions: Predictions) -> float:
    """Return the area under the ROC curve; for more than two classes the mean over each class against the rest."""
    classes = predictions.classes
    assert classes is not None
    if len(np.unique(predictions.truth)) < len(classes):
        return float("nan")
    probabilities = predictions.probabilities
    if len(classes) == 2:
        ranking = predictions.decision if probabilities is None else probabilities[:, 1]  # (m,)
        return float(metrics.roc_auc_score(predictions.truth == classes[1], ranking, sample_weight=predictions.weights))
    if probabilities is None:
        return float("nan")
    is_class = predictions.truth[:, np.newaxis] == classes  # (m, c): one against the rest
    return float(metrics.roc_auc_score(is_class, probabilities, sample_weight=predictions.weights))


def compute_r2(predictions: Predictions) -> float:
    """Return the fraction of the variance explained; NaN if the targets do not vary."""
    if len(np.unique(predictions.truth)) < 2:
        return float("nan")
    return _compare_values(metrics.r2_score, predictions)


def compute_rmse(predictions: Predictions) -> float:
    """Return the root of the mean squared error."""
    return _compare_values(metrics.root_mean_squared_error, predictions)


def compute_mse(predictions: Predictions) -> float:
    """Return the mean squared error."""
    return _compare_values(metrics.mean_squared_error, predictions)


def compute_mae(predictions: Predictions) -> float:
    """Return the mean absolute error."""
    return _compare_values(metrics.mean_absolute_error, predictions)


def _compare_values(formula: Callable[..., Any], predictions: Predictions) -> float:
    """Return the score of predicted values by one of scikit-learn's functions, each row with its weight."""
    return float(formula(predictions.truth, predictions.predicted, sample_weight=predictions.weights))


def _select_positive(predictions: Predictions, scores: np.ndarray) -> float:
    """Return the score of the positive class, else the mean, of scores of shape (c,); NaN if one of them is 0/0."""
    if predictions.positive is None:
        return float(np.mean(scores))
    assert predictions.classes is not None
    return float(scores[predictions.classes == predictions.positive][0])
