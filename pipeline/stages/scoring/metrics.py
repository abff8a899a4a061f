"""The metrics by name, the choice among them, and their computation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sklearn import config_context

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.scoring.formulas import (
    compute_accuracy,
    compute_balanced_accuracy,
    compute_error,
    compute_f1,
    compute_log_loss,
    compute_mae,
    compute_mse,
    compute_precision,
    compute_r2,
    compute_recall,
    compute_rmse,
    compute_roc_auc,
)
from bakeoff.pipeline.stages.scoring.predictions import Predictions, encode_labels, select_counted_rows


@dataclass(frozen=True)
class Metric:
    """A score.

    Attributes
    ----------
    formula : callable
        (predictions) -> float.
    greater_is_better : bool
    needs : tuple of str
        The learner must have at least one of these methods.
    """

    formula: Callable[[Predictions], float]
    greater_is_better: bool = True
    needs: tuple[str, ...] = ()


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
            raise UserError(
                f"evaluation.metrics names {name!r}, which is not a metric of {task}. {did_you_mean(str(name), known)}"
            )
        if not _is_available(known[name], learner):
            raise UserError(
                f"evaluation.metrics names {name!r}, which needs {' or '.join(known[name].needs)}, and "
                f"{type(learner).__name__} has none; remove it from the list."
            )
    return {name: known[name] for name in names}


def compute_scores(chosen: Mapping[str, Metric], predictions: Predictions) -> dict[str, float]:
    """Compute each metric: name -> value, NaN if it is not defined.

    Each row counts by its weight, so that one of weight 2 counts like two rows, and one of weight 0 like none.
    """
    encoded = encode_labels(select_counted_rows(predictions))
    if not len(encoded.truth):
        return dict.fromkeys(chosen, float("nan"))
    with warnings.catch_warnings(), config_context(skip_parameter_validation=True):
        warnings.filterwarnings("ignore", module="sklearn.metrics")
        return {name: float(metric.formula(encoded)) for name, metric in chosen.items()}


def _is_available(metric: Metric, learner: object) -> bool:
    return not metric.needs or any(hasattr(learner, method) for method in metric.needs)
