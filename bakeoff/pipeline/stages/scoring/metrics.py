"""The metrics by name, their formulas and their computation.

A formula is a function of predictions that returns a float, or NaN where the score is not defined.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn import config_context, metrics
from sklearn.exceptions import UndefinedMetricWarning

from bakeoff.pipeline.stages.scoring.names import LOWER_IS_BETTER, SENTENCES
from bakeoff.pipeline.stages.scoring.predictions import (
    Predictions,
    encode_labels,
    select_counted_rows,
)


def compute_roc_area(is_positive: np.ndarray, ranking: np.ndarray, sample_weight: np.ndarray | None) -> float:
    """Return the area under the ROC curve of positive and negative rows, by the trapezoidal rule.

    Parameters
    ----------
    is_positive : ndarray of bool of shape (m,)
    ranking : ndarray of shape (m,)
        Greater for rows that are more likely to be positive.
    sample_weight : ndarray of shape (m,) or None
        The weights of the rows, above 0.

    References
    ----------
    Fawcett, T. (2006). An introduction to ROC analysis. Pattern Recognition Letters 27, 861-874.
    """
    order = np.argsort(-ranking, kind="stable")  # (m,)
    ranking = ranking[order]
    positive = is_positive[order].astype(np.float64)  # (m,)
    # A point of the curve represents all rows with the same rank.
    last_of_rank = np.append(np.flatnonzero(np.diff(ranking)), len(ranking) - 1)
    row_weights = np.ones(len(order)) if sample_weight is None else sample_weight[order]  # (m,)
    hits = np.cumsum(positive * row_weights)[last_of_rank]
    false_alarms = np.cumsum((1 - positive) * row_weights)[last_of_rank]
    if len(hits) > 2:
        is_corner = (np.diff(false_alarms, 2) != 0) | (np.diff(hits, 2) != 0)
        corners = np.flatnonzero(np.concatenate([[True], is_corner, [True]]))
        hits = hits[corners]
        false_alarms = false_alarms[corners]
    hit_rate = np.append(0.0, hits) / hits[-1]
    false_alarm_rate = np.append(0.0, false_alarms) / false_alarms[-1]
    return float(np.trapezoid(hit_rate, false_alarm_rate))


def compute_accuracy(predictions: Predictions) -> float:
    """Return the fraction of rows whose class is predicted correctly."""
    # The checks of scikit-learn's function take longer than a small prediction.
    return float(np.average(predictions.truth == predictions.predicted, weights=predictions.weights))


def compute_error(predictions: Predictions) -> float:
    """Return the fraction of rows whose class is predicted incorrectly."""
    return 1 - compute_accuracy(predictions)


def compute_class_score(position: int, predictions: Predictions) -> float:
    """Return precision (position 0), recall (1) or F1 (2) of the positive class, else the mean; NaN if one is 0/0."""
    scores = predictions.class_scores[position]  # (c,)
    if predictions.positive is None:
        return float(np.mean(scores))
    return float(scores[predictions.classes == predictions.positive][0])


def compute_log_loss(predictions: Predictions) -> float:
    """Return the mean negative log-probability of the true class, in nats (scikit-learn's clipping keeps it finite)."""
    assert predictions.probabilities is not None
    probabilities = np.clip(predictions.probabilities, 0, 1)  # (m, c), where a sum may be rounded to above 1
    resolution = np.finfo(probabilities.dtype).eps
    of_true_class = probabilities[np.arange(len(predictions.truth)), predictions.truth]  # (m,)
    loss = -np.log(np.clip(of_true_class, resolution, 1 - resolution))  # (m,)
    return float(np.average(loss, weights=predictions.weights))


def compute_roc_auc(predictions: Predictions) -> float:
    """Return the area under the ROC curve; for more than two classes the mean over each class against the rest."""
    classes = predictions.classes
    assert classes is not None
    return _average_areas(compute_roc_area, predictions, classes[-1:] if len(classes) == 2 else classes)


def compute_kappa(predictions: Predictions) -> float:
    """Return the agreement of true and predicted classes beyond chance.

    References
    ----------
    Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20,
    37-46.
    """
    return _compare_values(metrics.cohen_kappa_score, predictions, labels=predictions.classes)


def compute_average_precision(predictions: Predictions) -> float:
    """Return the area under the steps of precision against recall of the positive class, or the mean over classes.

    Without a positive class, the second of two classes is used, or the mean over each class against the rest if there
    are more; NaN if a required class does not occur.
    """
    classes = predictions.classes
    assert classes is not None
    counted = classes[-1:] if len(classes) == 2 else classes
    if predictions.positive is not None:
        counted = np.array([predictions.positive])
    return _average_areas(metrics.average_precision_score, predictions, counted)


def compute_brier(predictions: Predictions) -> float:
    """Return the mean squared error of the probabilities: from 0 to 1 for two classes, and from 0 to 2 for more.

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


def compute_mape(predictions: Predictions) -> float:
    """Return the mean of the absolute errors as fractions of the targets; NaN if a target is 0."""
    if (predictions.truth == 0).any():
        return float("nan")
    return _compare_values(metrics.mean_absolute_percentage_error, predictions)


def compute_max_error(predictions: Predictions) -> float:
    """Return the largest absolute error of the rows with a weight other than 0, regardless of the weights."""
    return float(metrics.max_error(predictions.truth, predictions.predicted))


def _compare_values(formula: Callable[..., Any], predictions: Predictions, **options: Any) -> float:
    """Return the score of predicted values by one of scikit-learn's functions, each row with its weight."""
    return float(formula(predictions.truth, predictions.predicted, sample_weight=predictions.weights, **options))


def _average_areas(compute_area: Callable[..., float], predictions: Predictions, counted: np.ndarray) -> float:
    """Return the mean area over some classes, each against the rest; NaN if one does not occur or has no ranks."""
    ranking = predictions.probabilities  # (m, c)
    if ranking is None:
        decision, classes = predictions.decision, predictions.classes
        # A single column ranks the second of two classes; models that have not seen all of several classes also have
        # one.
        if decision is None or decision.ndim > 1 or classes is None or len(classes) > 2:
            return float("nan")
        ranking = np.column_stack([-decision, decision])
    if not np.isin(counted, predictions.truth).all():
        return float("nan")
    weights = predictions.weights
    areas = [compute_area(predictions.truth == code, ranking[:, code], sample_weight=weights) for code in counted]
    return float(np.mean(areas))


RESPONSES = ("predict_proba", "decision_function")
"""Methods of a classifier besides ``predict`` whose values metrics read."""
PROBABILITIES = RESPONSES[:1]


Bounds = tuple[float, float]
ANY_NUMBER = (-math.inf, math.inf)
FRACTION = (0.0, 1.0)
ERROR = (0.0, math.inf)
CORRELATION = (-1.0, 1.0)
SKILL = (-math.inf, 1.0)
"""Bounds of a score that compares a model with a constant prediction."""


@dataclass(frozen=True)
class Metric:
    """A score.

    Attributes
    ----------
    formula : callable
        (predictions) -> float; the labels are positions among the classes, as `encode_labels` returns them.
    greater_is_better : bool
    needs : tuple of str
        The learner must have at least one of these methods.
    bounds : tuple of float
        The least and the greatest value that the score can have.
    sentence : str
        Shown by ``bakeoff list metrics``.
    needs_spread : bool
        Whether the score is not defined if all rows have the same target, because it is relative to the spread of the
        targets, to guessing, or to other classes. scikit-learn returns a number there, such as 1 for any predictions.
    """

    formula: Callable[[Predictions], float]
    greater_is_better: bool = True
    needs: tuple[str, ...] = ()
    bounds: Bounds = FRACTION
    sentence: str = ""
    needs_spread: bool = False

    def compute(self, predictions: Predictions) -> float:
        """Return the score of predictions with encoded labels, NaN if it is not defined."""
        truth = predictions.truth  # (m,)
        if self.needs_spread and (truth == truth[0]).all():
            return float("nan")
        return float(self.formula(predictions))


def _name_metrics(task: str, formulas: Mapping[str, Metric]) -> Mapping[str, Metric]:
    """Return the metrics of a task with the facts that are listed by name."""
    return {
        name: replace(metric, greater_is_better=name not in LOWER_IS_BETTER, sentence=SENTENCES[task][name])
        for name, metric in formulas.items()
    }


CLASSIFICATION = _name_metrics(
    "classification",
    {
        "accuracy": Metric(compute_accuracy),
        "error": Metric(compute_error),
        "balanced_accuracy": Metric(partial(_compare_values, metrics.balanced_accuracy_score)),
        "precision": Metric(partial(compute_class_score, 0)),
        "recall": Metric(partial(compute_class_score, 1)),
        "f1": Metric(partial(compute_class_score, 2)),
        # Gorodkin, J. (2004). Comparing two K-category assignments by a K-category correlation coefficient.
        # Computational Biology and Chemistry 28, 367-374. It is 0 if only one class is predicted.
        "mcc": Metric(partial(_compare_values, metrics.matthews_corrcoef), bounds=CORRELATION, needs_spread=True),
        "kappa": Metric(compute_kappa, bounds=CORRELATION, needs_spread=True),
        "log_loss": Metric(compute_log_loss, needs=PROBABILITIES, bounds=ERROR),
        "brier": Metric(compute_brier, needs=PROBABILITIES, bounds=(0.0, 2.0)),
        "roc_auc": Metric(compute_roc_auc, needs=RESPONSES, needs_spread=True),
        "average_precision": Metric(compute_average_precision, needs=RESPONSES, needs_spread=True),
    },
)
REGRESSION = _name_metrics(
    "regression",
    {
        "r2": Metric(partial(_compare_values, metrics.r2_score), bounds=SKILL, needs_spread=True),
        "rmse": Metric(partial(_compare_values, metrics.root_mean_squared_error), bounds=ERROR),
        "mse": Metric(partial(_compare_values, metrics.mean_squared_error), bounds=ERROR),
        "mae": Metric(partial(_compare_values, metrics.mean_absolute_error), bounds=ERROR),
        "mape": Metric(compute_mape, bounds=ERROR),
        "median_error": Metric(partial(_compare_values, metrics.median_absolute_error), bounds=ERROR),
        "max_error": Metric(compute_max_error, bounds=ERROR),
        "pinball": Metric(partial(_compare_values, metrics.mean_pinball_loss), bounds=ERROR),
    },
)


def get_task_metrics(task: str) -> Mapping[str, Metric]:
    """Return bakeoff's metrics for a task, by name."""
    return CLASSIFICATION if task == "classification" else REGRESSION


def is_available(metric: Metric, learner: object) -> bool:
    """Return whether a learner has a method that a metric needs."""
    return not metric.needs or any(hasattr(learner, method) for method in metric.needs)


def needs_decision(chosen: Iterable[Metric]) -> bool:
    """Return whether any of the metrics needs decision values even if there are probabilities."""
    return any(metric.needs == RESPONSES[1:] for metric in chosen)


def compute_score(metric: Metric, predictions: Predictions) -> float:
    """Compute one metric of predictions, NaN if it is not defined."""
    return compute_scores({"score": metric}, predictions)["score"]


def compute_scores(chosen: Mapping[str, Metric], predictions: Predictions) -> dict[str, float]:
    """Compute each metric: name -> value, NaN if it is not defined.

    Rows are weighted: a row of weight 2 counts like two rows, and one of weight 0 is ignored.
    """
    encoded = encode_labels(select_counted_rows(predictions))
    if not len(encoded.truth):
        return dict.fromkeys(chosen, float("nan"))
    with warnings.catch_warnings(), config_context(skip_parameter_validation=True):
        warnings.filterwarnings("ignore", module="sklearn.metrics")
        # Such a score is NaN already, and the warning may be attributed to the module that calls scikit-learn.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return {name: metric.compute(encoded) for name, metric in chosen.items()}
