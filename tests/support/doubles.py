"""Test doubles for the stages: numbered rows, a learner that records its rows, and composed configurations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Self

import numpy as np
import pandas as pd
from hydra import __version__, compose, initialize_config_dir
from omegaconf import DictConfig
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin

from bakeoff.pipeline.checks import check_experiment, check_splits
from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.config.compose_job import resolve_config
from bakeoff.pipeline.config.engine import accept_all_letters, register_schema
from bakeoff.pipeline.config.options import CONF
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.pruning import NoPruning
from bakeoff.pipeline.stages.scoring.choice import choose_metrics
from bakeoff.pipeline.stages.splitting import Holdout, Splits
from bakeoff.pipeline.stages.tuning import NoTuning

HYDRAS_DEFAULTS: Mapping[str, Any] = {"version_base": "1.3"} if __version__.startswith("1.3") else {}
"""The argument that chooses the behaviour of Hydra 1.3, which later versions have without it."""


class Log(list[tuple[str, list[int]]]):
    """Pairs of an event and the numbers of its rows. Cloning a learner copies its parameters, except this one."""

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def of(self, event: str) -> list[list[int]]:
        """Return the rows of each such event."""
        return [rows for recorded, rows in self if recorded == event]


class Recorder(ClassifierMixin, BaseEstimator):
    """Predicts the first class in sorted order; once pruned, the majority class of the training rows.

    Parameters
    ----------
    log : Log
    mark : int
        Recorded on each fit, to distinguish the candidates of a space.
    """

    def __init__(self, log: Log | None = None, mark: int = 0, random_state: int | None = None) -> None:
        self.log = log
        self.mark = mark
        self.random_state = random_state

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Self:
        self._record(f"fit {self.mark}" if self.mark else "fit", X)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.answer_ = self.classes_[0]
        self.majority_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        self._record("predict", X)
        return np.full(len(X), self.answer_)

    def prune(self, X: pd.DataFrame | None, y: np.ndarray, method: str) -> Self:
        self._record(f"prune {method}", X)
        self.pruned_on_ = None if X is None else (X["row"].astype(int).tolist(), y.tolist())
        self.answer_ = self.majority_
        self.pruning_path_ = {"leaves": [3, 2, 1], "depth": [2, 1, 0], "score": [0.25, 0.5, 0.75]}
        return self

    def _record(self, event: str, X: pd.DataFrame | np.ndarray | None) -> None:
        if self.log is not None:
            self.log.append((event, [] if X is None else np.asarray(X)[:, 0].astype(int).tolist()))


class RecordingStep(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Changes nothing, and records the rows that it was fitted on."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        self.log.append(("prepare", X["row"].astype(int).tolist()))
        self.n_features_in_ = X.shape[1]
        self.feature_names_in_ = X.columns.to_numpy(dtype=object)
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        return X


def numbered(n: int = 40, labels: str = "abbb") -> Dataset:
    """Return n rows whose first column is their number; the labels repeat."""
    y = np.array([labels[row % len(labels)] for row in range(n)])
    X = pd.DataFrame({"row": np.arange(float(n)), "x": np.sin(np.arange(float(n)))})
    return Dataset("numbered", X, y, "classification", "y", positive="b" if set(labels) == {"a", "b"} else None)


def experiment(dataset: Dataset | None = None, learner: Any = None, **parts: Any) -> Experiment:
    """Return an experiment of a recorder on numbered rows, held out; the given parts replace the defaults."""
    dataset = numbered() if dataset is None else dataset
    learner = Recorder() if learner is None else learner
    names = parts.pop("metrics", None)
    stages: dict[str, Any] = {
        "preprocessing": None,
        "tuning": NoTuning(),
        "pruning": NoPruning(),
        "splitter": Holdout(),
        "seed": 0,
    }
    return Experiment(
        dataset=dataset, learner=learner, metrics=choose_metrics(names, dataset.task, learner), **(stages | parts)
    )


def check_and_split(experiment: Experiment) -> Splits:
    """Check an experiment as a job does, and return its splits."""
    check_experiment(experiment)
    splits = experiment.make_splits()
    check_splits(experiment, splits)
    return splits


@cache
def composed(*words: str) -> DictConfig:
    """Return the configuration that Hydra composes with these overrides, which must not be changed."""
    register_schema()
    with initialize_config_dir(config_dir=str(CONF), **HYDRAS_DEFAULTS), accept_all_letters():
        return compose("config", overrides=list(words))


def preset(name: str) -> Any:
    """Return the transformer of conf/preprocessing/NAME.yaml."""
    spec = resolve_config(composed("learner=majority", f"preprocessing={name}"))
    return build_object(spec["preprocessing"], "preprocessing", [])
