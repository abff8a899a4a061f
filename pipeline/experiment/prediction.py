"""Predictions for a part of the rows, and the headline score of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.pipeline.experiment import stage_log
from bakeoff.pipeline.experiment.experiment import Experiment
from bakeoff.pipeline.experiment.stage_log import RowLog
from bakeoff.pipeline.stages.scoring import Predictions, compute_score, needs_decision, predict_rows


def predict_part(experiment: Experiment, model: Any, part: str, rows: np.ndarray, log: RowLog) -> Predictions:
    """Return the predictions of a fitted model for some rows of the dataset, and record which rows these are.

    Parameters
    ----------
    experiment : Experiment
    model : estimator
    part : {"train", "validation", "test"}
    rows : ndarray of int
    log : RowLog
    """
    dataset = experiment.dataset
    classes = dataset.classes if dataset.is_classification else None
    X = log.note(f"{stage_log.SCORING}{part}", dataset.X.iloc[rows])  # (m, d)
    weights = None if dataset.weights is None else dataset.weights[rows]
    metrics = experiment.select_metrics(part).values()
    # Of training rows only the scores are kept, of others the predictions as well.
    labels_only = part == "train" and not any(metric.needs for metric in metrics)
    return predict_rows(
        model,
        X,
        dataset.y[rows],
        classes,
        dataset.positive,
        weights=weights,
        labels_only=labels_only,
        with_decision=needs_decision(metrics),
        part=part,
    )


def score_headline(
    experiment: Experiment, model: Any, X: Any, y: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Return the headline score of a fitted model on rows X (m, d) with y (m,), in the metric's natural sign.

    Parameters
    ----------
    experiment : Experiment
    model : estimator
    X : table of shape (m, d)
    y : ndarray of shape (m,)
    weights : ndarray of shape (m,), optional
        How much each row counts.
    """
    dataset = experiment.dataset
    metric = experiment.headline_metric
    classes = dataset.classes if dataset.is_classification else None
    predictions = predict_rows(
        model,
        X,
        y,
        classes,
        dataset.positive,
        weights=weights,
        labels_only=not metric.needs,
        with_decision=needs_decision([metric]),
    )
    return compute_score(metric, predictions)
