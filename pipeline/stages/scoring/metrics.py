"""The metrics by name, and their computation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sklearn import config_context
from sklearn.exceptions import UndefinedMetricWarning

from bakeoff.pipeline.stages.scoring import formulas
from bakeoff.pipeline.stages.scoring.predictions import Predictions, encode_labels, select_counted_rows

RESPONSES = ("predict_proba", "decision_function")
"""Methods of a classifier besides ``predict`` whose values metrics read."""
PROBABILITIES = RESPONSES[:1]


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
    is_bounded : bool
        Whether the values are on a fixed scale, such as that of fractions, and not in units of the target, so that a
        difference means the same on each dataset.
    sentence : str
        Shown by ``bakeoff list metrics``.
    """

    formula: Callable[[Predictions], float]
    greater_is_better: bool = True
    needs: tuple[str, ...] = ()
    is_bounded: bool = True
    sentence: str = ""


CLASSIFICATION: Mapping[str, Metric] = {
    "accuracy": Metric(formulas.compute_accuracy, sentence="Fraction of rows whose class is predicted."),
    "error": Metric(
        formulas.compute_error, greater_is_better=False, sentence="Fraction of rows whose class is not predicted."
    ),
    "balanced_accuracy": Metric(formulas.compute_balanced_accuracy, sentence="Mean recall of the classes that occur."),
    "precision": Metric(
        formulas.compute_precision, sentence="Precision of the positive class, or the mean over classes."
    ),
    "recall": Metric(formulas.compute_recall, sentence="Recall of the positive class, or the mean over classes."),
    "f1": Metric(formulas.compute_f1, sentence="F1 of the positive class, or the mean over classes."),
    "mcc": Metric(formulas.compute_mcc, sentence="Matthews's correlation of true and predicted classes, from -1 to 1."),
    "kappa": Metric(formulas.compute_kappa, sentence="Cohen's kappa: agreement beyond chance, at most 1."),
    "log_loss": Metric(
        formulas.compute_log_loss,
        greater_is_better=False,
        needs=PROBABILITIES,
        is_bounded=False,
        sentence="Mean negative log-probability of the true class, in nats.",
    ),
    "brier": Metric(
        formulas.compute_brier,
        greater_is_better=False,
        needs=PROBABILITIES,
        sentence="Mean squared error of the probabilities: at most 1 for two classes, and 2 for more.",
    ),
    "roc_auc": Metric(
        formulas.compute_roc_auc, needs=RESPONSES, sentence="Area under the ROC curve, or the mean over classes."
    ),
    "average_precision": Metric(
        formulas.compute_average_precision,
        needs=RESPONSES,
        sentence="Area under precision against recall of the positive class, or the mean over classes.",
    ),
}
REGRESSION: Mapping[str, Metric] = {
    "r2": Metric(formulas.compute_r2, sentence="Fraction of the variance explained, at most 1."),
    "rmse": Metric(
        formulas.compute_rmse, greater_is_better=False, is_bounded=False, sentence="Root of the mean squared error."
    ),
    "mse": Metric(formulas.compute_mse, greater_is_better=False, is_bounded=False, sentence="Mean squared error."),
    "mae": Metric(formulas.compute_mae, greater_is_better=False, is_bounded=False, sentence="Mean absolute error."),
    "mape": Metric(
        formulas.compute_mape,
        greater_is_better=False,
        is_bounded=False,
        sentence="Mean of the absolute errors as fractions of the targets, none of which may be 0.",
    ),
    "median_error": Metric(
        formulas.compute_median_error, greater_is_better=False, is_bounded=False, sentence="Median absolute error."
    ),
    "max_error": Metric(
        formulas.compute_max_error, greater_is_better=False, is_bounded=False, sentence="Largest absolute error."
    ),
    "pinball": Metric(
        formulas.compute_pinball,
        greater_is_better=False,
        is_bounded=False,
        sentence="Pinball loss of the median: half of the mean absolute error.",
    ),
}
DEFAULTS = {
    "classification": ("accuracy", "error", "precision", "recall", "f1", "log_loss", "roc_auc"),
    "regression": ("r2", "rmse", "mse", "mae"),
}
"""The metrics of each task, the headline first, if the configuration names none."""


def get_task_metrics(task: str) -> Mapping[str, Metric]:
    """Return bakeoff's own metrics of a task by name."""
    return CLASSIFICATION if task == "classification" else REGRESSION


def is_available(metric: Metric, learner: object) -> bool:
    """Return whether a learner has one of the methods that a metric needs."""
    return not metric.needs or any(hasattr(learner, method) for method in metric.needs)


def needs_decision(chosen: Iterable[Metric]) -> bool:
    """Return whether one of the metrics reads decision values even where there are probabilities."""
    return any(metric.needs == RESPONSES[1:] for metric in chosen)


def compute_score(metric: Metric, predictions: Predictions) -> float:
    """Compute one metric of predictions, NaN if it is not defined."""
    return compute_scores({"score": metric}, predictions)["score"]


def compute_scores(chosen: Mapping[str, Metric], predictions: Predictions) -> dict[str, float]:
    """Compute each metric: name -> value, NaN if it is not defined.

    Each row counts by its weight, so that one of weight 2 counts like two rows, and one of weight 0 like none.
    """
    encoded = encode_labels(select_counted_rows(predictions))
    if not len(encoded.truth):
        return dict.fromkeys(chosen, float("nan"))
    with warnings.catch_warnings(), config_context(skip_parameter_validation=True):
        warnings.filterwarnings("ignore", module="sklearn.metrics")
        # Such a score is NaN already, and the warning may be attributed to the module that calls scikit-learn.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return {name: float(metric.formula(encoded)) for name, metric in chosen.items()}
