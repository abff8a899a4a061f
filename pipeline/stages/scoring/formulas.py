"""The formulas of the scores: functions of predictions that return a float, or NaN where a score is not defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import metrics

from bakeoff.pipeline.stages.scoring.predictions import Predictions
from bakeoff.pipeline.stages.scoring.probability_scores import compute_cross_entropy, compute_roc_area


def compute_accuracy(predictions: Predictions) -> float:
    """Return the fraction of rows whose class is predicted."""
    # scikit-learn's function spends more time on its checks than a small prediction takes.
    return float(np.average(predictions.truth == predictions.predicted, weights=predictions.weights))


def compute_error(predictions: Predictions) -> float:
    """Return the fraction of rows whose class is not predicted."""
    return 1 - compute_accuracy(predictions)


def compute_balanced_accuracy(predictions: Predictions) -> float:
    """Return the mean recall of the classes that occur."""
    return predictions.class_counts.compute_balanced_accuracy()


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
    probabilities = np.clip(predictions.probabilities, 0, 1)  # (m, c), where a sum may be rounded to above 1
    _require_finite(probabilities)
    return compute_cross_entropy(predictions.truth, probabilities, predictions.weights)


def compute_roc_auc(predictions: Predictions) -> float:
    """Return the area under the ROC curve; for more than two classes the mean over each class against the rest."""
    classes = predictions.classes
    assert classes is not None
    if len(np.unique(predictions.truth)) < len(classes):
        return float("nan")
    probabilities = predictions.probabilities
    truth = predictions.truth
    weights = predictions.weights
    if len(classes) == 2:
        ranking = predictions.decision if probabilities is None else probabilities[:, 1]  # (m,)
        assert ranking is not None
        _require_finite(ranking)
        return compute_roc_area(truth == classes[1], ranking, weights)
    if probabilities is None:
        return float("nan")
    _require_finite(probabilities)
    areas = [compute_roc_area(truth == label, probabilities[:, label], weights) for label in classes]
    return float(np.mean(areas))


def compute_mcc(predictions: Predictions) -> float:
    """Return the correlation of true and predicted classes; 0 if all rows are predicted as one, NaN if all are of one.

    References
    ----------
    Gorodkin, J. (2004). Comparing two K-category assignments by a K-category correlation coefficient. Computational
    Biology and Chemistry 28, 367-374.
    """
    # scikit-learn returns 0 here, so that the mean over folds of one row each would be 0 for any model.
    if not _has_two_classes(predictions):
        return float("nan")
    return predictions.class_counts.compute_mcc()


def compute_kappa(predictions: Predictions) -> float:
    """Return the agreement of true and predicted classes beyond chance; NaN if all rows are of one class.

    References
    ----------
    Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20,
    37-46.
    """
    if not _has_two_classes(predictions):
        return float("nan")
    return predictions.class_counts.compute_kappa()


def compute_average_precision(predictions: Predictions) -> float:
    """Return the area under the steps of precision against recall of the positive class, or the mean over classes.

    Without a positive class, it is that of the second of two classes, and for more classes the mean over each class
    against the rest; NaN if a class that counts does not occur.
    """
    classes = predictions.classes
    assert classes is not None
    ranking = _rank_rows(predictions)  # (m, c)
    counted = classes[-1:] if len(classes) == 2 else classes
    if predictions.positive is not None:
        counted = np.array([predictions.positive])
    if ranking is None or not np.isin(counted, predictions.truth).all():
        return float("nan")
    areas = [
        metrics.average_precision_score(
            predictions.truth == label, ranking[:, classes == label].ravel(), sample_weight=predictions.weights
        )
        for label in counted
    ]
    return float(np.mean(areas))


def compute_brier(predictions: Predictions) -> float:
    """Return the mean squared error of the probabilities: from 0 to 1 for two classes, and to 2 for more.

    References
    ----------
    Brier, G. W. (1950). Verification of forecasts expressed in terms of probability. Monthly Weather Review 78, 1-3.
    """
    assert predictions.probabilities is not None
    score = metrics.brier_score_loss(
        predictions.truth,
        np.clip(predictions.probabilities, 0, 1),  # (m, c), where a sum may be rounded to above 1
        sample_weight=predictions.weights,
        labels=predictions.classes,
    )
    return float(score)


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


def compute_mape(predictions: Predictions) -> float:
    """Return the mean of the absolute errors as fractions of the targets; NaN if a target is 0."""
    if (predictions.truth == 0).any():
        return float("nan")
    return _compare_values(metrics.mean_absolute_percentage_error, predictions)


def compute_median_error(predictions: Predictions) -> float:
    """Return the median of the absolute errors."""
    return _compare_values(metrics.median_absolute_error, predictions)


def compute_max_error(predictions: Predictions) -> float:
    """Return the largest absolute error of the rows that count, which no weight changes."""
    return float(metrics.max_error(predictions.truth, predictions.predicted))


def compute_pinball(predictions: Predictions) -> float:
    """Return the mean pinball loss of predictions of the median, which is half of the mean absolute error."""
    return _compare_values(metrics.mean_pinball_loss, predictions)


def _compare_values(formula: Callable[..., Any], predictions: Predictions) -> float:
    """Return the score of predicted values by one of scikit-learn's functions, each row with its weight."""
    return float(formula(predictions.truth, predictions.predicted, sample_weight=predictions.weights))


def _require_finite(values: np.ndarray) -> None:
    """Reject values of which a score would be no number either, which would look like one that is not defined."""
    if not np.isfinite(values).all():
        raise ValueError("an array of probabilities or decision values contains NaN or infinity")


def _rank_rows(predictions: Predictions) -> np.ndarray | None:
    """Return, for each class, values by which the rows are ranked, shape (m, c); None if there are none for each."""
    if predictions.probabilities is not None:
        return predictions.probabilities
    decision = predictions.decision
    if decision is None or decision.ndim > 1:
        return None
    return np.column_stack([-decision, decision])


def _has_two_classes(predictions: Predictions) -> bool:
    """Return whether there are rows of at least two classes; chance gets all rows right where there is one only."""
    return len(np.unique(predictions.truth)) > 1


def _select_positive(predictions: Predictions, scores: np.ndarray) -> float:
    """Return the score of the positive class, else the mean, of scores of shape (c,); NaN if one of them is 0/0."""
    if predictions.positive is None:
        return float(np.mean(scores))
    assert predictions.classes is not None
    return float(scores[predictions.classes == predictions.positive][0])
