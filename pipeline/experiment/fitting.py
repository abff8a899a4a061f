"""How the pipeline of preprocessing and learner is fitted on training rows, and pruned on validation rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bakeoff.pipeline import stage_log
from bakeoff.pipeline.experiment.experiment import Experiment
from bakeoff.pipeline.experiment.prediction import score_headline
from bakeoff.pipeline.seeds import derive_seed
from bakeoff.pipeline.stage_log import RowLog
from bakeoff.pipeline.stages.pruning import PruningPath
from bakeoff.pipeline.stages.splitting import Split
from bakeoff.pipeline.stages.tuning import TuningData


def make_pipeline(experiment: Experiment) -> Pipeline:
    """Return an unfitted copy of preprocessing and learner."""
    preprocessing = "passthrough" if experiment.preprocessing is None else experiment.preprocessing
    pipeline: Pipeline = clone(Pipeline([("preprocessing", preprocessing), ("learner", experiment.learner)]))
    return pipeline


def make_tuning_data(experiment: Experiment, split: Split) -> TuningData:
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


def fit_pipeline(pipeline: Pipeline, X: pd.DataFrame, y: np.ndarray, log: RowLog) -> None:
    """Fit preprocessing and learner on rows X (m, d) with y (m,), as ``Pipeline.fit`` does."""
    prepared = pipeline[:-1].fit_transform(log.note(stage_log.PREPROCESSING, X), y)
    pipeline[-1].fit(log.note(stage_log.LEARNER, prepared, X.index), y)


def prune_learner(experiment: Experiment, pipeline: Pipeline, split: Split, log: RowLog) -> PruningPath | None:
    """Prune the fitted learner in place, on the validation rows if the method needs any."""
    y = experiment.dataset.y[split.validation]  # (m,)
    if not experiment.pruning.needs_rows:
        return experiment.pruning.prune(pipeline[-1], None, y)
    X = experiment.dataset.X.iloc[split.validation]  # (m, d)
    prepared = pipeline[:-1].transform(X)
    return experiment.pruning.prune(pipeline[-1], log.note(stage_log.PRUNING, prepared, X.index), y)
