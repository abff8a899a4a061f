"""The loop over splits: preprocess, tune, fit, prune and score; each part of the data is read by one stage.

Holdout, k-fold and all other evaluations use the same code. A stage that is switched off is a null object, so that the
loop has no modes. It yields the result of each fold to its caller: a tracker, a progress display or a test.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed

from bakeoff.pipeline import stage_log
from bakeoff.pipeline.seeds import derive_seed
from bakeoff.pipeline.stage_log import RowLog, RowSet, Stopwatch, unique_messages
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.pruning import NoPruning, Pruning, PruningPath
from bakeoff.pipeline.stages.scoring import Metric, Predictions, compute_scores, encode_labels, predict_rows
from bakeoff.pipeline.stages.splitting import Split, SplitInput, Splits, Splitter
from bakeoff.pipeline.stages.tuning import GridTuning, NoTuning, TuningData


@dataclass(frozen=True)
class Experiment:
    """Everything that decides the result.

    Attributes
    ----------
    dataset : Dataset
    preprocessing : transformer or None
    learner : estimator
    tuning : NoTuning or GridTuning
    pruning : NoPruning or Pruning
    splitter : Splitter
    metrics : mapping of str to Metric
        The headline first.
    seed : int
    """

    dataset: Dataset
    preprocessing: BaseEstimator | None
    learner: BaseEstimator
    tuning: NoTuning | GridTuning
    pruning: NoPruning | Pruning
    splitter: Splitter
    metrics: Mapping[str, Metric]
    seed: int

    @property
    def headline(self) -> str:
        """The name of the first metric."""
        return next(iter(self.metrics))

    @property
    def headline_metric(self) -> Metric:
        """The first metric."""
        return self.metrics[self.headline]

    def make_splits(self) -> Splits:
        """Return all splits; their seed is derived from the experiment's, and is not the learner's.

        Raises
        ------
        UserError
            The dataset has too few rows for the parts, or the parts would separate rows of a group.
        """
        dataset = self.dataset
        split_input = SplitInput(dataset.y, dataset.is_classification, dataset.groups)
        return self.splitter.make_splits(split_input, derive_seed(self.seed, "split"))


@dataclass(frozen=True)
class FittedModel:
    """A fitted pipeline of preprocessing and learner, and how it was fitted.

    Attributes
    ----------
    pipeline : Pipeline
        Takes the dataset's columns as they are.
    split : Split
        The rows that it was fitted, tuned and pruned on.
    path : PruningPath or None
    candidates : DataFrame or None
        The candidates that tuning tried, one a row.
    scores_before_pruning : mapping of str to float
        The headline score on validation and test rows.
    n_fits : int
        How often the learner was fitted: the candidates of tuning on all inner folds, and the chosen one.
    seconds : mapping of str to float
        Wall time of ``tune``, ``fit`` (preprocessing and learner) and ``prune``.
    warnings : tuple of str
        Each warning of the learner once.
    seen : mapping of str to RowSet
        The name of a stage -> the rows that it was given.
    """

    pipeline: Pipeline
    split: Split
    path: PruningPath | None = None
    candidates: pd.DataFrame | None = None
    scores_before_pruning: Mapping[str, float] = field(default_factory=dict)
    n_fits: int = 1
    seconds: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seen: Mapping[str, RowSet] = field(default_factory=dict)


@dataclass(frozen=True)
class FoldResult:
    """One split, evaluated.

    Attributes
    ----------
    number : int
        From 0.
    split : Split
    model : FittedModel
    scores : mapping of str to float
        ``test_accuracy``, ``validation_accuracy``, ``train_accuracy`` … for each part that has rows.
    predictions : Predictions
        Of the test rows.
    seen : mapping of str to RowSet
        The name of a stage -> the rows that it was given, those that were scored included.
    """

    number: int
    split: Split
    model: FittedModel
    scores: Mapping[str, float]
    predictions: Predictions
    seen: Mapping[str, RowSet] = field(default_factory=dict)


def evaluate_splits(experiment: Experiment, splits: Sequence[Split], n_jobs: int = 1) -> Iterator[FoldResult]:
    """Evaluate each split.

    Parameters
    ----------
    experiment : Experiment
    splits : sequence of Split
    n_jobs : int
        The number of processes that share the splits, with one BLAS thread each; -1 for as many as there are cores.

    Yields
    ------
    FoldResult
        In order.
    """
    if n_jobs == 1 or len(splits) == 1:
        for number, split in enumerate(splits):
            yield evaluate_split(experiment, number, split)
        return
    # If there were more BLAS threads than cores, they would slow each other down.
    with parallel_config("loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
        calls = (delayed(evaluate_split)(experiment, number, split) for number, split in enumerate(splits))
        yield from parallel(calls)


def evaluate_split(experiment: Experiment, number: int, split: Split) -> FoldResult:
    """Fit on one split and score every part of it that has rows."""
    model = fit_model(experiment, split)
    parts = {"train": split.train, "validation": split.validation, "test": split.test}
    predictions: dict[str, Predictions] = {}
    log = RowLog(len(experiment.dataset.y), dict(model.seen))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for part, rows in parts.items():
            if len(rows):
                predictions[part] = _predict_part(experiment, model.pipeline, part, rows, log)
    # The scores of the test part come first wherever they are listed, and the headline first among them.
    scores: dict[str, float] = {}
    for part in ("test", "validation", "train"):
        if part in predictions:
            by_name = compute_scores(experiment.metrics, predictions[part])
            scores |= {f"{part}_{name}": value for name, value in by_name.items()}
    model = replace(model, warnings=unique_messages(caught, model.warnings))
    return FoldResult(number, split, model, scores, predictions["test"], log.seen)


def fit_final_model(experiment: Experiment, splits: Splits, last: FoldResult) -> FittedModel:
    """Return the run's model: under holdout the scored one, otherwise one fitted on all rows in the same way."""
    if splits.refit is None:
        return last.model
    return fit_model(experiment, splits.refit)


def fit_model(experiment: Experiment, split: Split) -> FittedModel:
    """Tune, fit and prune on the parts of one split; the test part is only scored, before pruning."""
    X = experiment.dataset.X  # (n, d)
    y = experiment.dataset.y  # (n,)
    log = RowLog(len(y))
    stopwatch = Stopwatch()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = _make_tuning_data(experiment, split)
        if not isinstance(experiment.tuning, NoTuning):
            log.note(stage_log.TUNING, data.X)
        pipeline, candidates = experiment.tuning.tune(_make_pipeline(experiment), data)
        stopwatch.lap("tune")
        # Tuning returns an unfitted pipeline: the best candidate is fitted on all training rows.
        _fit_pipeline(pipeline, X.iloc[split.train], y[split.train], log)
        stopwatch.lap("fit")
        # Pruning changes the learner in place, so the scores of the whole tree must be computed before.
        scores_before_pruning = _score_before_pruning(experiment, pipeline, split, log)
        stopwatch.lap("score")
        path = _prune(experiment, pipeline, split, log)
        stopwatch.lap("prune")
    seconds = {"fit": stopwatch.seconds["fit"]}
    if candidates is not None:
        seconds["tune"] = stopwatch.seconds["tune"]
    if path is not None:
        seconds["prune"] = stopwatch.seconds["prune"]
    return FittedModel(
        pipeline,
        split,
        path=path,
        candidates=candidates,
        scores_before_pruning=scores_before_pruning,
        n_fits=experiment.tuning.count_fits(),
        seconds=seconds,
        warnings=unique_messages(caught),
        seen=log.seen,
    )


def score_headline(experiment: Experiment, model: Any, X: Any, y: np.ndarray) -> float:
    """Return the headline score of a fitted model on rows X (m, d) with y (m,), in the metric's natural sign."""
    dataset = experiment.dataset
    metric = experiment.headline_metric
    classes = dataset.classes if dataset.is_classification else None
    predictions = predict_rows(model, X, y, classes, dataset.positive, labels_only=not metric.needs)
    return metric.formula(encode_labels(predictions))


def _make_pipeline(experiment: Experiment) -> Pipeline:
    """Return an unfitted copy of preprocessing and learner."""
    preprocessing = "passthrough" if experiment.preprocessing is None else experiment.preprocessing
    pipeline: Pipeline = clone(Pipeline([("preprocessing", preprocessing), ("learner", experiment.learner)]))
    return pipeline


def _make_tuning_data(experiment: Experiment, split: Split) -> TuningData:
    dataset = experiment.dataset
    # Validation rows are used for one choice only: tuning gets them if pruning does not need them.
    rows = np.concatenate([split.train, split.validation]) if experiment.tuning.needs_rows else split.train
    return TuningData(
        X=dataset.X.iloc[rows],
        y=dataset.y[rows],
        n_train=len(split.train),
        score=partial(score_headline, experiment),
        greater_is_better=experiment.headline_metric.greater_is_better,
        is_classification=dataset.is_classification,
        seed=derive_seed(experiment.seed, "tuning"),
    )


def _fit_pipeline(pipeline: Pipeline, X: pd.DataFrame, y: np.ndarray, log: RowLog) -> None:
    """Fit preprocessing and learner on rows X (m, d) with y (m,), as ``Pipeline.fit`` does."""
    prepared = pipeline[:-1].fit_transform(log.note(stage_log.PREPROCESSING, X), y)
    pipeline[-1].fit(log.note(stage_log.LEARNER, prepared, X.index), y)


def _prune(experiment: Experiment, pipeline: Pipeline, split: Split, log: RowLog) -> PruningPath | None:
    """Prune the fitted learner in place, on the validation rows if the method needs any."""
    y = experiment.dataset.y[split.validation]  # (m,)
    if not experiment.pruning.needs_rows:
        return experiment.pruning.prune(pipeline[-1], None, y)
    X = experiment.dataset.X.iloc[split.validation]  # (m, d)
    prepared = pipeline[:-1].transform(X)
    return experiment.pruning.prune(pipeline[-1], log.note(stage_log.PRUNING, prepared, X.index), y)


def _score_before_pruning(experiment: Experiment, pipeline: Pipeline, split: Split, log: RowLog) -> dict[str, float]:
    """Return the headline score on validation and test rows; nothing if the run does not prune."""
    if isinstance(experiment.pruning, NoPruning):
        return {}
    headline = experiment.headline
    scores = {}
    for part, rows in {"validation": split.validation, "test": split.test}.items():
        if len(rows):
            predictions = _predict_part(experiment, pipeline, part, rows, log)
            scores[part] = compute_scores({headline: experiment.headline_metric}, predictions)[headline]
    return scores


def _predict_part(experiment: Experiment, pipeline: Pipeline, part: str, rows: np.ndarray, log: RowLog) -> Predictions:
    dataset = experiment.dataset
    classes = dataset.classes if dataset.is_classification else None
    X = log.note(f"{stage_log.SCORING}{part}", dataset.X.iloc[rows])  # (m, d)
    return predict_rows(pipeline, X, dataset.y[rows], classes, dataset.positive)
