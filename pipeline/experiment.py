"""The one loop: for each split fit, tune, prune and score; each part of the data is read by one stage.

Holdout, k-fold and all others run through the same lines; what is not wanted is a null object, so there is no mode.
The loop yields folds; whoever wants them (a tracker, a screen, a test) consumes them.
"""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed

from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.pruning import NoPruning, Pruning, PruningPath
from bakeoff.pipeline.stages.scoring import Metric, Predictions, compute_scores, encode_labels, predict_rows
from bakeoff.pipeline.stages.splitting import Split, SplitInput, Splitter
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
    def split_input(self) -> SplitInput:
        """What the splitter may know of the rows."""
        return SplitInput(self.dataset.y, self.dataset.task == "classification", self.dataset.groups)

    def splits(self) -> list[Split]:
        """Return all splits; the seed of the splits is not the learner's."""
        return list(self.splitter.splits(self.split_input, derive_seed(self.seed, "split")))


@dataclass(frozen=True)
class FittedModel:
    """A fitted pipeline of preprocessing and learner, and how it came to be.

    Attributes
    ----------
    pipeline : Pipeline
        Takes the dataset's columns as they are.
    path : PruningPath or None
    candidates : DataFrame or None
        What tuning tried.
    unpruned : mapping of str to float
        The headline score on validation and test rows before pruning.
    seconds : mapping of str to float
        Wall time of ``tune``, ``fit`` (preprocessing and learner) and ``prune``.
    warnings : tuple of str
        What the learner had to say.
    """

    pipeline: Pipeline
    path: PruningPath | None = None
    candidates: pd.DataFrame | None = None
    unpruned: Mapping[str, float] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


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
        ``train_accuracy``, ``validation_accuracy``, ``test_accuracy`` … for each part that has rows.
    predictions : Predictions
        Of the test rows.
    """

    number: int
    split: Split
    model: FittedModel
    scores: Mapping[str, float]
    predictions: Predictions


def derive_seed(seed: int, axis: str) -> int:
    """Derive one axis's seed (``split``, ``tuning``) from the one seed, so that no axis disturbs another.

    Examples
    --------
    >>> derive_seed(0, "split") == derive_seed(0, "split") != derive_seed(0, "tuning")
    True
    """
    entropy = np.random.SeedSequence([seed, zlib.crc32(axis.encode())])
    return int(entropy.generate_state(1)[0] >> 1)  # room below 2**32 for seed + repeat


def evaluate_splits(experiment: Experiment, splits: list[Split], n_jobs: int = 1) -> Iterator[FoldResult]:
    """Evaluate each split.

    Parameters
    ----------
    experiment : Experiment
    splits : list of Split
    n_jobs : int
        Processes that share the splits, with one BLAS thread each; -1 for as many as there are cores.

    Yields
    ------
    FoldResult
        In order.
    """
    if n_jobs == 1 or len(splits) == 1:
        yield from (evaluate_split(experiment, number, split) for number, split in enumerate(splits))
        return
    with parallel_config("loky", inner_max_num_threads=1):
        shared = Parallel(n_jobs=n_jobs, return_as="generator")
        yield from shared(delayed(evaluate_split)(experiment, number, split) for number, split in enumerate(splits))


def evaluate_split(experiment: Experiment, number: int, split: Split) -> FoldResult:
    """Fit on one split and score every part of it that has rows."""
    model = fit_model(experiment, split)
    parts = {"train": split.train, "validation": split.validation, "test": split.test}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        predictions = {
            part: _predict_part(experiment, model.pipeline, rows) for part, rows in parts.items() if len(rows)
        }
    model = replace(model, warnings=_once((*model.warnings, *(str(warning.message) for warning in said))))
    scores = {
        f"{part}_{name}": value
        for part in ("test", "validation", "train")
        if part in predictions
        for name, value in compute_scores(experiment.metrics, predictions[part]).items()
    }
    return FoldResult(number, split, model, scores, predictions["test"])


def fit_final_model(experiment: Experiment, last: FoldResult) -> FittedModel:
    """Return the run's model: under holdout the one that was scored, else the whole procedure once more on all rows."""
    split = experiment.splitter.all_rows(experiment.split_input, derive_seed(experiment.seed, "split"))
    return last.model if split is None else fit_model(experiment, split)


def fit_model(experiment: Experiment, split: Split) -> FittedModel:
    """Tune, fit and prune on the parts of one split; the test part is only scored, before and after pruning."""
    X, y = experiment.dataset.X, experiment.dataset.y
    clock = _Clock()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = Pipeline([
            ("preprocessing", "passthrough" if experiment.preprocessing is None else experiment.preprocessing),
            ("learner", experiment.learner),
        ])  # fmt: skip
        model, candidates = experiment.tuning.tune(clone(model), _make_tuning_data(experiment, split))
        clock.lap("tune")
        model.fit(X.iloc[split.train], y[split.train])
        clock.lap("fit")
        unpruned = _unpruned_scores(experiment, model, split)
        clock.lap("unpruned")
        prepared = model[:-1].transform(X.iloc[split.validation]) if experiment.pruning.needs_rows else None
        path = experiment.pruning.prune(model[-1], prepared, y[split.validation])
        clock.lap("prune")
    seconds = {"fit": clock.laps["fit"]}
    seconds |= {"tune": clock.laps["tune"]} if candidates is not None else {}
    seconds |= {"prune": clock.laps["prune"]} if path is not None else {}
    return FittedModel(model, path, candidates, unpruned, seconds, _once(str(warning.message) for warning in said))


def score_headline(experiment: Experiment, model: Any, X: Any, y: np.ndarray) -> float:
    """Return the headline score of a fitted model on rows X (m, d) with y (m,), in the metric's natural sign."""
    dataset, metric = experiment.dataset, experiment.metrics[experiment.headline]
    classes = dataset.classes if dataset.task == "classification" else None
    predictions = predict_rows(model, X, y, classes, dataset.positive, labels_only=not metric.needs)
    return metric.formula(encode_labels(predictions))


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _make_tuning_data(experiment: Experiment, split: Split) -> TuningData:
    """One validation row serves one choice: tuning sees the validation part only where it is tuning's."""
    dataset, metric = experiment.dataset, experiment.metrics[experiment.headline]
    rows = np.concatenate([split.train, split.validation]) if experiment.tuning.needs_rows else split.train
    return TuningData(
        X=dataset.X.iloc[rows],
        y=dataset.y[rows],
        n_train=len(split.train),
        score=partial(score_headline, experiment),
        greater_is_better=metric.greater_is_better,
        is_classification=dataset.task == "classification",
        seed=derive_seed(experiment.seed, "tuning"),
    )


def _unpruned_scores(experiment: Experiment, model: Pipeline, split: Split) -> dict[str, float]:
    if isinstance(experiment.pruning, NoPruning):
        return {}
    headline = {experiment.headline: experiment.metrics[experiment.headline]}
    parts = {"validation": split.validation, "test": split.test}
    return {
        part: compute_scores(headline, _predict_part(experiment, model, rows))[experiment.headline]
        for part, rows in parts.items()
        if len(rows)
    }


def _predict_part(experiment: Experiment, model: Pipeline, rows: np.ndarray) -> Predictions:
    dataset = experiment.dataset
    classes = dataset.classes if dataset.task == "classification" else None
    return predict_rows(model, dataset.X.iloc[rows], dataset.y[rows], classes, dataset.positive)


class _Clock:
    """Wall time of consecutive stages."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.laps[stage] = now - self._last
        self._last = now
