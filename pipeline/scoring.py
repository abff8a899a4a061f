"""Scores under plain names with their natural sign: an error is small when it is good, an accuracy large."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pipeline.formulas import (
    Outcome,
    accuracy,
    balanced_accuracy,
    counts,
    log_loss,
    mae,
    mse,
    of_classes,
    r2,
    roc_auc,
)
from pipeline.refusal import Refusal, did_you_mean


@dataclass(frozen=True)
class Metric:
    """A score: its formula, whether more is better, and what it needs of the learner."""

    formula: Callable[[Outcome], float]
    more_is_better: bool = True
    needs: tuple[str, ...] = ()


CLASSIFICATION: Mapping[str, Metric] = {
    "accuracy": Metric(accuracy),
    "error": Metric(lambda o: 1 - accuracy(o), more_is_better=False),
    "balanced_accuracy": Metric(balanced_accuracy),
    "precision": Metric(lambda o: of_classes(o, 0)),
    "recall": Metric(lambda o: of_classes(o, 1)),
    "f1": Metric(lambda o: of_classes(o, 2)),
    "log_loss": Metric(log_loss, more_is_better=False, needs=("predict_proba",)),
    "roc_auc": Metric(roc_auc, needs=("predict_proba", "decision_function")),
}
REGRESSION: Mapping[str, Metric] = {
    "r2": Metric(r2),
    "rmse": Metric(lambda o: mse(o) ** 0.5, more_is_better=False),
    "mse": Metric(mse, more_is_better=False),
    "mae": Metric(mae, more_is_better=False),
}
DEFAULTS = {
    "classification": ("accuracy", "error", "precision", "recall", "f1", "log_loss", "roc_auc"),
    "regression": ("r2", "rmse", "mse", "mae"),
}


def metrics_of(task: str) -> Mapping[str, Metric]:
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
    Refusal
        An unknown name, a metric of the other task, or one that the learner cannot give.
    """
    known = metrics_of(task)
    if names is None:
        return {name: known[name] for name in DEFAULTS[task] if _can_give(known[name], learner)}
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise Refusal(f"evaluation.metrics={names!r} must be a list of names, such as [{DEFAULTS[task][0]}].")
    for name in names:
        if name not in known:
            raise Refusal(f"evaluation.metrics names {name!r}, no metric of {task}. {did_you_mean(str(name), known)}")
        if not _can_give(known[name], learner):
            raise Refusal(
                f"evaluation.metrics names {name!r}, which needs {' or '.join(known[name].needs)}, and "
                f"{type(learner).__name__} has none; take it out of the list."
            )
    return {name: known[name] for name in names}


def _can_give(metric: Metric, learner: object) -> bool:
    return not metric.needs or any(hasattr(learner, method) for method in metric.needs)


def observe(
    model: Any,
    X: Any,
    truth: np.ndarray,
    classes: np.ndarray | None,
    positive: object | None,
    *,
    labels_only: bool = False,
) -> Outcome:
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
    predicted = np.asarray(model.predict(X)).reshape(len(truth))  # some give a column
    seconds = time.perf_counter() - started
    if classes is None or labels_only:
        return Outcome(truth, predicted, classes=classes, positive=positive, seconds=seconds)
    probabilities = decision = None
    if hasattr(model, "predict_proba"):
        columns = np.searchsorted(classes, model.classes_)
        probabilities = np.zeros((len(truth), len(classes)))
        probabilities[:, columns] = model.predict_proba(X)
    elif hasattr(model, "decision_function"):
        decision = np.asarray(model.decision_function(X))
    return Outcome(truth, predicted, probabilities, decision, classes, positive, seconds)


def coded(outcome: Outcome) -> Outcome:
    """Return the outcome with positions among the classes for labels: numbers are counted and compared at once."""
    classes = outcome.classes
    if classes is None:
        return outcome
    return replace(
        outcome,
        truth=np.searchsorted(classes, outcome.truth),
        predicted=np.searchsorted(classes, outcome.predicted),
        classes=np.arange(len(classes)),
        positive=None if outcome.positive is None else int(np.flatnonzero(classes == outcome.positive)[0]),
    )


def score(chosen: Mapping[str, Metric], outcome: Outcome) -> dict[str, float]:
    """Compute each metric: name -> value, NaN where it is not defined."""
    outcome = coded(outcome)
    return {name: metric.formula(outcome) for name, metric in chosen.items()}


def confusion(truth: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Count rows by true class (rows) and predicted class (columns): shape (c, c)."""
    return counts(np.searchsorted(classes, truth), np.searchsorted(classes, predicted), len(classes))
