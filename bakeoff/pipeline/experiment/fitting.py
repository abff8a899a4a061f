"""Fit the pipeline of preprocessing and learner on training rows, and prune it on validation rows."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.experiment import stage_log
from bakeoff.pipeline.experiment.experiment import Experiment, derive_seed
from bakeoff.pipeline.experiment.stage_log import RowLog
from bakeoff.pipeline.stages.balance import BalancedRows
from bakeoff.pipeline.stages.preprocessing import warn_of_small_branches
from bakeoff.pipeline.stages.pruning import PruningPath
from bakeoff.pipeline.stages.scoring.metrics import compute_score, needs_decision
from bakeoff.pipeline.stages.scoring.predictions import Predictions, predict_rows
from bakeoff.pipeline.stages.splitting import Split
from bakeoff.pipeline.stages.target import FittedTarget
from bakeoff.pipeline.stages.tuning import FitRows, TuningData


def predict_part(experiment: Experiment, model: Any, part: str, rows: np.ndarray, log: RowLog) -> Predictions:
    """Return the predictions of a fitted model for rows of the dataset, and record these rows.

    Parameters
    ----------
    experiment : Experiment
    model : estimator
    part : {"train", "validation", "test"}
    rows : ndarray of int
    log : RowLog
    """
    dataset = experiment.dataset
    X = log.note(f"{stage_log.SCORING}{part}", dataset.X.iloc[rows])  # (m, d)
    metrics = experiment.select_metrics(part).values()
    # Only the scores are kept for training rows; for other rows, the predictions are kept as well.
    labels_only = part == "train" and not any(metric.needs for metric in metrics)
    started = experiment.tables.read_clock()
    prepared, model = transform_rows(experiment, model, X)
    seconds = experiment.tables.read_clock() - started
    predictions = predict_rows(
        model,
        prepared,
        dataset.y[rows],
        dataset.classes if dataset.is_classification else None,
        dataset.positive,
        weights=select_weights(experiment, rows),
        labels_only=labels_only,
        with_decision=needs_decision(metrics),
        part=part,
    )
    return replace(predictions, seconds=seconds + predictions.seconds)


def transform_rows(experiment: Experiment, model: Any, X: pd.DataFrame) -> tuple[Any, Any]:
    """Return the prepared rows and the learner of a pipeline, or rows X (m, d) and any other model as they are."""
    if not isinstance(model, Pipeline):
        return X, model
    _, prepared = experiment.tables.prepare((model[0], experiment.dataset), model[:-1], X)
    return prepared, model[-1]


def score_headline(
    experiment: Experiment, model: Any, X: Any, y: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Return the headline score of a fitted model on rows X (m, d) with y (m,), with the metric's natural sign.

    Parameters
    ----------
    experiment : Experiment
    model : estimator
    X : table of shape (m, d)
    y : ndarray of shape (m,)
    weights : ndarray of shape (m,), optional
        The weights of the rows.
    """
    dataset = experiment.dataset
    metric = experiment.headline_metric
    predictions = predict_rows(
        model,
        X,
        y,
        dataset.classes if dataset.is_classification else None,
        dataset.positive,
        weights=weights,
        labels_only=not metric.needs,
        with_decision=needs_decision([metric]),
    )
    return compute_score(metric, predictions)


def make_pipeline(experiment: Experiment) -> Pipeline:
    """Return an unfitted copy of the learner after the preprocessing, which is copied when it is fitted."""
    preprocessing = "passthrough" if experiment.preprocessing is None else experiment.preprocessing
    return Pipeline([("preprocessing", preprocessing), ("learner", clone(experiment.learner))])


def make_tuning_data(experiment: Experiment, split: Split, number: int = -1) -> TuningData:
    """Return the rows available to tuning, and functions that fit and score candidates on them."""
    dataset = experiment.dataset
    # Validation rows are used for one choice only: for tuning if pruning does not need them.
    rows = np.concatenate([split.train, split.validation]) if experiment.tuning.needs_rows else split.train
    return TuningData(
        X=dataset.X.iloc[rows],
        y=dataset.y[rows],
        inner_splits=make_tuning_splits(experiment, split),
        score=partial(score_headline, experiment),
        greater_is_better=experiment.headline_metric.greater_is_better,
        seed=derive_seed(experiment.seed, "tuning"),
        weights=select_weights(experiment, rows),
        prepare=partial(prepare_rows, experiment),
        number=number,
        count_fit=experiment.count_fit,
        score_file=experiment.score_file,
    )


def make_tuning_splits(experiment: Experiment, split: Split) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the inner folds of tuning as positions of rows; without inner folds, the validation part is one."""
    seed = derive_seed(experiment.seed, "tuning")
    folds = experiment.tuning.folds
    if folds == 0:
        train = np.arange(len(split.train))
        return [(train, len(train) + np.arange(len(split.validation)))]
    return experiment.splitter.make_inner_folds(experiment.split_input, split.train, folds, seed)


def select_weights(experiment: Experiment, rows: np.ndarray) -> np.ndarray | None:
    """Return the weights of rows, or None if the dataset has no weights."""
    weights = experiment.dataset.weights
    return None if weights is None else weights[rows]


def prepare_rows(experiment: Experiment, X: Any, y: np.ndarray, weights: np.ndarray | None) -> FitRows:
    """Return the rows on which the learner is fitted, balanced and with a transformed target.

    Parameters
    ----------
    experiment : Experiment
    X : table of shape (m, d)
        Training rows after preprocessing.
    y : ndarray of shape (m,)
    weights : ndarray of shape (m,) or None
    """
    balanced = _balance_rows(experiment, X, y, weights, pd.RangeIndex(len(y)))
    target = experiment.target.fit(balanced.y)
    return FitRows(balanced.X, target.transform(balanced.y), balanced.weights, target.invert)


def fit_pipeline(experiment: Experiment, pipeline: Pipeline, rows: np.ndarray, log: RowLog) -> FittedTarget:
    """Fit preprocessing and learner on rows of the dataset, and return the fitted target.

    Parameters
    ----------
    experiment : Experiment
    pipeline : Pipeline
        The pipeline to fit in place.
    rows : ndarray of int
    log : RowLog
    """
    dataset = experiment.dataset
    X = dataset.X.iloc[rows]  # (m, d)
    y = dataset.y[rows]  # (m,)
    log.note(stage_log.PREPROCESSING, X)
    prepared = fit_preprocessing(experiment, pipeline, X, y)
    balanced = _balance_rows(experiment, prepared, y, select_weights(experiment, rows), X.index)
    target = experiment.target.fit(balanced.y)
    warn_of_small_branches(pipeline[-1], balanced.X)
    log.note(stage_log.LEARNER, None, balanced.index)
    weighting = {} if balanced.weights is None else {"sample_weight": balanced.weights}
    pipeline[-1].fit(balanced.X, target.transform(balanced.y), **weighting)
    return target


def fit_preprocessing(experiment: Experiment, pipeline: Pipeline, X: pd.DataFrame, y: np.ndarray) -> Any:
    """Put fitted steps before the learner, and return rows X (m, d) with targets y (m,) after these steps."""
    sources = (experiment.preprocessing, experiment.dataset)
    fitted, prepared = experiment.tables.prepare(sources, pipeline[:-1], X, y)
    pipeline.steps[:-1] = fitted.steps
    return prepared


def _balance_rows(
    experiment: Experiment, X: Any, y: np.ndarray, weights: np.ndarray | None, index: pd.Index
) -> BalancedRows:
    """Return the rows on which the learner is fitted; the index provides row numbers for a table without an index."""
    numbers = X.index if isinstance(X, pd.DataFrame) else index
    rows = BalancedRows(X, y, weights, numbers)
    return experiment.balance.balance(rows, derive_seed(experiment.seed, "balance"))


def prune_learner(
    experiment: Experiment, pipeline: Pipeline, target: FittedTarget, split: Split, log: RowLog
) -> PruningPath | None:
    """Prune the fitted learner in place, on the validation rows if the method needs any.

    The target is transformed as for the fit, so the same error is used to grow and prune the tree.
    """
    y = experiment.dataset.y[split.validation]  # (m,)
    if not experiment.pruning.needs_rows:
        return experiment.pruning.prune(pipeline[-1], None, y)
    X = experiment.dataset.X.iloc[split.validation]  # (m, d)
    prepared, learner = transform_rows(experiment, pipeline, X)
    weights = select_weights(experiment, split.validation)
    noted = log.note(stage_log.PRUNING, prepared, X.index)
    return experiment.pruning.prune(learner, noted, target.transform(y), weights)
