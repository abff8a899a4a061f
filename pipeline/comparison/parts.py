"""What a comparison is made of: metrics, datasets, configurations, and the cells of scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ComparedMetric:
    """A metric that the comparison is made by.

    Attributes
    ----------
    name : str
        As it is stored: ``test_accuracy``, ``time/fit``.
    label : str
        In words: ``accuracy``, ``fit time in seconds``.
    greater_is_better : bool
    rope : float
        The half width of the region of practical equivalence: in the unit of the metric, or as a fraction.
    is_rope_relative : bool
        Whether the rope is a fraction of the mean of the base on each dataset, as for errors and times, whose size
        depends on the dataset; scores from 0 to 1 have an absolute one.
    """

    name: str
    label: str
    greater_is_better: bool
    rope: float
    is_rope_relative: bool = False

    @property
    def direction(self) -> str:
        """Whether a higher or a lower value is better."""
        return "higher" if self.greater_is_better else "lower"


@dataclass(frozen=True)
class ComparedDataset:
    """A dataset.

    Attributes
    ----------
    name : str
        Unique in the comparison.
    digest : str
        Of the rows, as the runs store it.
    evaluation : str
        How the folds were made, in words: ``repeated_kfold folds=10 repeats=10``.
    n_folds : int
        The scores of each cell: folds × repeats × seeds. 0 if no cell is complete.
    n_train, n_test : float
        Mean rows per fold that were fitted on and scored; NaN if they are unknown.
    folds_per_repeat : int
        The folds after which the rows were split anew: k of k folds, 1 for holdout.
    splits_digests : tuple of str
        One per seed; equal for all runs on this dataset.
    n_looks : int
        How many configurations of the store have been scored on these test rows, those of the comparison included; each
        look makes the best score a little too good.
    description : str
        Rows, columns and task in words, as the runs store it; may be empty.
    """

    name: str
    digest: str
    evaluation: str
    n_folds: int
    n_train: float
    n_test: float
    folds_per_repeat: int = 1
    splits_digests: tuple[str, ...] = ()
    n_looks: int = 0
    description: str = ""


@dataclass(frozen=True)
class Configuration:
    """A row of the comparison: everything of a job but dataset, seed and evaluation.

    Attributes
    ----------
    name : str
        Unique: the learner and what varies, ``knn n_neighbors=5``.
    learner : str
    params : mapping of str to str
        As the runs store them, without those of dataset, seed and evaluation.
    is_tuned : bool
        Whether inner folds or validation rows chose hyperparameters inside each outer fold.
    members : tuple of str
        Names of the configurations that this row chooses among, fold by fold, by their validation scores; empty for a
        plain configuration.
    """

    name: str
    learner: str
    params: Mapping[str, str] = field(default_factory=dict)
    is_tuned: bool = False
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """One configuration on one dataset.

    Attributes
    ----------
    configuration, dataset : str
        Names.
    scores : mapping of str to tuple of float
        Metric -> one score per fold, in the order of the folds (of the first seed, then of the second …). All cells of
        a dataset have the same folds. Empty if the cell is empty.
    reason : str
        Why the cell is empty: ``failed: ValueError: …``, ``no run``. Empty if it has scores.
    run_ids : tuple of str
        One per seed, in the order of `seeds`.
    seeds : tuple of str
    fit_seconds, predict_seconds : float
        Mean per fold; tuning and pruning count as fitting. NaN if they are not stored.
    n_fits : int
        Fits of the learner that the scores have cost, those of tuning included; 0 if unknown.
    n_train, n_test : float
        Mean rows per fold; NaN if they are not stored.
    chosen : mapping of str to int
        For a row with members: in how many folds each was chosen.
    """

    configuration: str
    dataset: str
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    reason: str = ""
    run_ids: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    fit_seconds: float = float("nan")
    predict_seconds: float = float("nan")
    n_fits: int = 0
    n_train: float = float("nan")
    n_test: float = float("nan")
    chosen: Mapping[str, int] = field(default_factory=dict)
