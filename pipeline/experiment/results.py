"""The results of the loop: fitted models and evaluated folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.experiment.stage_log import RowSet
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.pruning import PruningPath
from bakeoff.pipeline.stages.scoring import Predictions
from bakeoff.pipeline.stages.splitting import Split
from bakeoff.pipeline.stages.threshold import ChosenThreshold


@dataclass(frozen=True)
class UnseenValues:
    """Numbers of test rows with values of nominal columns that are missing in the training rows.

    Attributes
    ----------
    n_rows : int
        The rows with such a value in any column.
    n_rows_by_column : mapping of str to int
        Only columns with such values.
    """

    n_rows: int
    n_rows_by_column: Mapping[str, int]


def find_unseen_values(dataset: Dataset, split: Split) -> UnseenValues:
    """Count the test rows of a split with nominal values that no training row has; missing cells do not count."""
    is_affected = np.zeros(len(split.test), dtype=bool)  # (m,)
    counts: dict[str, int] = {}
    for name in dataset.nominal:
        column = dataset.X[name].cat
        is_known = np.zeros(len(column.categories) + 1, dtype=bool)
        # The code of a missing cell is -1, which is the last position.
        codes = column.codes.to_numpy()
        is_known[codes[split.train]] = True
        is_known[-1] = True
        is_unseen = ~is_known[codes[split.test]]  # (m,)
        if is_unseen.any():
            counts[name] = int(is_unseen.sum())
            is_affected |= is_unseen
    return UnseenValues(int(is_affected.sum()), counts)


@dataclass(frozen=True)
class FittedModel:
    """A fitted pipeline of preprocessing and learner, with a record of its fit.

    Attributes
    ----------
    pipeline : Pipeline
        The pipeline, which accepts the raw columns of the dataset.
    split : Split
        The rows on which it was fitted, tuned and pruned.
    path : PruningPath or None
    candidates : DataFrame or None
        The candidates that tuning tried, one per row.
    scores_before_pruning : mapping of str to float
        The headline score on validation and test rows.
    n_fits : int
        The number of fits of the learner: the candidates of tuning on all inner folds, and the chosen one.
    seconds : mapping of str to float
        Wall time of ``tune``, ``fit`` (preprocessing and learner) and ``prune``.
    warnings : tuple of str
        Each warning of the learner once.
    seen : mapping of str to RowSet
        The name of a stage -> the rows passed to it.
    predictor : estimator
        The predictor: the pipeline, or an estimator around it that inverts the transformation of the target, calibrates
        probabilities, or applies a threshold.
    threshold : ChosenThreshold or None
        The threshold that the predictor applies; None for the learner's default.
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
    predictor: Any = None
    threshold: ChosenThreshold | None = None

    def __post_init__(self) -> None:
        if self.predictor is None:
            object.__setattr__(self, "predictor", self.pipeline)


@dataclass(frozen=True)
class FoldResult:
    """The evaluation of one split.

    Attributes
    ----------
    number : int
        The number of the fold, from 0.
    split : Split
    model : FittedModel
    scores : mapping of str to float
        ``test_accuracy``, ``validation_accuracy``, ``train_accuracy`` … for each part that has rows.
    predictions : Predictions
        The predictions for the test rows.
    seen : mapping of str to RowSet
        The name of a stage -> the rows passed to it, including the scored ones.
    unseen : mapping of str to int
        Each nominal column with values missing in the training rows -> the number of affected test rows.
    n_unseen_rows : int
        The number of test rows with such a value in any column.
    """

    number: int
    split: Split
    model: FittedModel
    scores: Mapping[str, float]
    predictions: Predictions
    seen: Mapping[str, RowSet] = field(default_factory=dict)
    unseen: Mapping[str, int] = field(default_factory=dict)
    n_unseen_rows: int = 0


ShowProgress = Callable[[Iterator[FoldResult], int, str], Iterator[FoldResult]]
"""Yields folds unchanged, and displays their progress towards a total under a title."""
