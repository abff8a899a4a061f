"""The experiment: the dataset, the stages and the seed, which determine the result of a run."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bakeoff.pipeline.stages.balance import Balance, NoBalance
from bakeoff.pipeline.stages.calibration import Calibration, NoCalibration
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.pruning import NoPruning, Pruning
from bakeoff.pipeline.stages.scoring import Metric, TrainMetrics
from bakeoff.pipeline.stages.splitting import DEFAULT_MAX_FOLDS, SplitInput, Splits, Splitter
from bakeoff.pipeline.stages.target import NoTarget, TransformedTarget
from bakeoff.pipeline.stages.threshold import GivenThreshold, NoThreshold, TunedThreshold
from bakeoff.pipeline.stages.tuning import GridTuning, NoTuning


def derive_seed(seed: int, axis: str) -> int:
    """Derive the seed of one axis (``split``, ``tuning``) from the experiment's, so that the axes are independent.

    Examples
    --------
    >>> derive_seed(0, "split") == derive_seed(0, "split") != derive_seed(0, "tuning")
    True
    """
    entropy = np.random.SeedSequence([seed, zlib.crc32(axis.encode())])
    return int(entropy.generate_state(1)[0] >> 1)  # seed + repeat must stay below 2**32


@dataclass(frozen=True)
class Experiment:
    """Everything that determines the result of a run.

    Attributes
    ----------
    dataset : Dataset
    preprocessing : transformer or None
    learner : estimator
    tuning : NoTuning or GridTuning
    pruning : NoPruning or Pruning
    splitter : Splitter
    metrics : mapping of str to Metric
        The metrics, with the headline first.
    seed : int
    preprocessing_summary : str
        The effect of ``preprocessing=auto`` on the columns of each kind; empty if the steps were given.
    balance : Balance
        The balancing of the training rows of each fit.
    target : NoTarget or TransformedTarget
    calibration : NoCalibration or Calibration
    threshold : NoThreshold, GivenThreshold or TunedThreshold
    threshold_metric : Metric or None
        The metric by which the threshold is chosen; None for the headline.
    train_metrics : {"headline", "all"}
        The metrics by which training rows are scored.
    max_folds : int
        The largest number of splits.
    """

    dataset: Dataset
    preprocessing: BaseEstimator | None
    learner: BaseEstimator
    tuning: NoTuning | GridTuning
    pruning: NoPruning | Pruning
    splitter: Splitter
    metrics: Mapping[str, Metric]
    seed: int
    preprocessing_summary: str = ""
    balance: Balance = field(default_factory=NoBalance)
    target: NoTarget | TransformedTarget = field(default_factory=NoTarget)
    calibration: NoCalibration | Calibration = field(default_factory=NoCalibration)
    threshold: NoThreshold | GivenThreshold | TunedThreshold = field(default_factory=NoThreshold)
    threshold_metric: Metric | None = None
    train_metrics: TrainMetrics = "headline"
    max_folds: int = DEFAULT_MAX_FOLDS

    @property
    def headline(self) -> str:
        """The name of the first metric."""
        return next(iter(self.metrics))

    @property
    def headline_metric(self) -> Metric:
        """The first metric."""
        return self.metrics[self.headline]

    def select_metrics(self, part: str) -> Mapping[str, Metric]:
        """Return the metrics by which the rows of a part are scored.

        Parameters
        ----------
        part : {"train", "validation", "test"}
        """
        if part == "train" and self.train_metrics == "headline":
            return {self.headline: self.headline_metric}
        return self.metrics

    @property
    def decision_folds(self) -> int | None:
        """The number of inner folds of calibration and threshold, 0 for the validation part, None if neither is on."""
        if self.calibration.is_on:
            return self.calibration.folds
        return self.threshold.folds if self.threshold.is_chosen else None

    @property
    def scored_learner(self) -> Any:
        """An unfitted estimator with the methods of the scored model, such as ``predict_proba``."""
        return self.calibration.add_methods(self.learner)

    @property
    def split_input(self) -> SplitInput:
        """The inputs on which the splits may depend."""
        dataset = self.dataset
        return SplitInput(
            y=dataset.y,
            is_classification=dataset.is_classification,
            groups=dataset.groups,
            parts=dataset.parts,
            folds=dataset.folds,
            times=dataset.times,
        )

    @property
    def has_validation_rows(self) -> bool:
        """Whether each split has a validation part."""
        return self.splitter.validation > 0 or self.split_input.names_validation_rows

    @property
    def rows_belong_together(self) -> bool:
        """Whether inner folds of shuffled rows would mix groups, given folds, past and future, or copies of a row."""
        has_units = self.dataset.groups is not None or self.dataset.folds is not None
        return has_units or self.splitter.keeps_order or self.splitter.repeats_rows

    def make_splits(self) -> Splits:
        """Return all splits; their seed is derived from the experiment's, and differs from the learner's.

        Raises
        ------
        UserError
            The dataset has too few rows for the parts, or the splits would ignore its groups, parts, folds or times.
        """
        return self.splitter.make_splits(self.split_input, derive_seed(self.seed, "split"), self.max_folds)
