"""What the loop returns: fitted models, and evaluated folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.stage_log import RowSet
from bakeoff.pipeline.stages.pruning import PruningPath
from bakeoff.pipeline.stages.scoring import Predictions
from bakeoff.pipeline.stages.splitting import Split


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
