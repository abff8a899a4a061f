"""The experiment, which determines the result of a run by its dataset, stages and seed; its models and folds.

Experiments may share tables after preprocessing, which are kept for the next learners evaluated on the same folds.
"""

import time
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.experiment.stage_log import RowSet
from bakeoff.pipeline.stages.balance import Balance, NoBalance
from bakeoff.pipeline.stages.calibration import Calibration, NoCalibration
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.pruning import NoPruning, Pruning, PruningPath
from bakeoff.pipeline.stages.scoring.choice import TrainMetrics
from bakeoff.pipeline.stages.scoring.metrics import Metric
from bakeoff.pipeline.stages.scoring.predictions import Predictions
from bakeoff.pipeline.stages.splitting import DEFAULT_MAX_FOLDS, Split, SplitInput, Splits, Splitter
from bakeoff.pipeline.stages.target import NoTarget, TransformedTarget
from bakeoff.pipeline.stages.threshold import ChosenThreshold, GivenThreshold, NoThreshold, TunedThreshold
from bakeoff.pipeline.stages.tuning import GridTuning, NoTuning, ScoreFile

MAX_CELLS = 1 << 23
"""The number of cells that are kept, 64 megabytes."""
HAS_LAZY_COPIES = pd.__version__ >= "3"


@dataclass(frozen=True)
class Prepared:
    """What preprocessing returned for some rows.

    Attributes
    ----------
    sources : tuple
        The objects whose ids are in the key of the table: while they are kept, no other object has these ids.
    steps : Pipeline
        The fitted steps.
    table : DataFrame or array of m rows
    caught : list of WarningMessage
    seconds : float
        The time that it took.
    """

    sources: tuple[Any, ...]
    steps: Pipeline
    table: Any
    caught: list[warnings.WarningMessage]
    seconds: float


class PreparedTables:
    """Prepares the same rows of a dataset in the same way only once."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], Prepared] = {}
        self._n_free = MAX_CELLS
        self._saved_seconds = 0.0

    def read_clock(self) -> float:
        """Return the time in seconds as if nothing had been kept, so that times do not depend on earlier learners."""
        return time.perf_counter() + self._saved_seconds

    def prepare(
        self, sources: tuple[Any, ...], steps: Pipeline, X: pd.DataFrame, *y: np.ndarray
    ) -> tuple[Pipeline, Any]:
        """Return fitted steps and their table, either new or as for the same sources and rows before.

        Parameters
        ----------
        sources : tuple
            The objects that determine the result, together with the numbers of the rows.
        steps : Pipeline
            Steps of which a copy is fitted if there are targets; otherwise they are fitted already.
        X : DataFrame of shape (m, d)
            Rows of a dataset.
        *y : ndarray of shape (m,)
            Their targets.
        """
        key = (*map(id, sources), X.index.to_numpy().tobytes())
        kept = self._kept.get(key)
        if kept is None:
            started = time.perf_counter()
            with warnings.catch_warnings(record=True, action="always") as caught:
                steps = clone(steps) if y else steps
                table = steps.fit_transform(X, *y) if y else steps.transform(X)
            kept = Prepared(sources, steps, table, caught, time.perf_counter() - started)
            self._keep(key, kept)
        else:
            self._saved_seconds += kept.seconds
        for warning in kept.caught:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        table = kept.table
        # A learner that changes its table must not change the tables of other learners.
        return kept.steps, table.copy(deep=not HAS_LAZY_COPIES) if isinstance(table, pd.DataFrame) else table

    def _keep(self, key: tuple[Any, ...], new: Prepared) -> None:
        """Keep a table, instead of all earlier ones if there would be too many cells."""
        if not isinstance(new.table, pd.DataFrame) or new.table.size > MAX_CELLS:
            return
        if new.table.size > self._n_free:
            self._kept.clear()
            self._n_free = MAX_CELLS
        self._kept[key] = new
        self._n_free -= new.table.size


def derive_seed(seed: int, axis: str) -> int:
    """Derive the seed of one axis (``split``, ``tuning``) from the experiment's seed, so the axes are independent.

    Examples
    --------
    >>> derive_seed(0, "split") == derive_seed(0, "split") != derive_seed(0, "tuning")
    True
    """
    entropy = np.random.SeedSequence([seed, zlib.crc32(axis.encode())])
    return int(entropy.generate_state(1)[0] >> 1)  # seed + repeat must stay below 2**32


@dataclass(frozen=True)
class Experiment:
    """Everything that determines the result of a run, and a function that is called after each fit.

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
    score_file : ScoreFile
        Keeps the scores of tuning until the run has finished; it does not affect the result.
    count_fit : callable
        Called after each fit of the learner; it does not affect the result. `object` ignores the call.
    tables : PreparedTables
        The tables after preprocessing, which experiments may share; they do not affect the result.
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
    score_file: ScoreFile = field(default_factory=ScoreFile)
    count_fit: Callable[[], object] = object
    tables: PreparedTables = field(default_factory=PreparedTables)

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
        """The number of inner folds for calibration and threshold: 0 for the validation part, None if neither is on."""
        if self.calibration.is_on:
            return self.calibration.folds
        return self.threshold.folds if self.threshold.is_chosen else None

    @property
    def fits_per_split(self) -> int:
        """The number of fits of the learner on each split: the fits for tuning and decisions, and the scored fit."""
        return self.tuning.count_fits() + (self.decision_folds or 0)

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
        """Return all splits; their seed is derived from the experiment's and differs from the learner's.

        Raises
        ------
        UserError
            The dataset has too few rows for the parts, or the splits would ignore its groups, parts, folds or times.
        """
        return self.splitter.make_splits(self.split_input, derive_seed(self.seed, "split"), self.max_folds)


def find_unseen_values(dataset: Dataset, split: Split) -> tuple[dict[str, int], int]:
    """Count the test rows of a split with nominal values that no training row has; missing cells do not count.

    Returns
    -------
    n_rows_by_column : dict of str to int
        Only columns with such values.
    n_rows : int
        The rows with such a value in any column.
    """
    is_affected = np.zeros(len(split.test), dtype=bool)  # (m,)
    counts: dict[str, int] = {}
    for name, codes in dataset.nominal_codes.items():
        is_known = np.zeros(int(codes.max()) + 2, dtype=bool)  # codes may be of eight bits
        is_known[codes[split.train]] = True
        is_known[-1] = True  # the code of a missing cell is -1
        is_unseen = ~is_known[codes[split.test]]  # (m,)
        if is_unseen.any():
            counts[name] = int(is_unseen.sum())
            is_affected |= is_unseen
    return counts, int(is_affected.sum())


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
        The number of fits of the learner: the candidates of tuning on their inner folds, and the chosen one.
    n_fits_saved : int or None
        The number of further fits that a race of the candidates did not need; None without a race.
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
    path: PruningPath | None
    candidates: pd.DataFrame | None
    scores_before_pruning: Mapping[str, float]
    n_fits: int
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]
    seen: Mapping[str, RowSet]
    predictor: Any
    threshold: ChosenThreshold | None
    n_fits_saved: int | None = None


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
    seen: Mapping[str, RowSet]
    unseen: Mapping[str, int]
    n_unseen_rows: int
