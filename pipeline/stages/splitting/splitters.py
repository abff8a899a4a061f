"""The ways of evaluation: holdout, k-fold, grouped, leave-one-out and time-ordered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn import model_selection

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.checks import require_count, require_fraction, require_rows_per_fold
from bakeoff.pipeline.stages.splitting.partition import partition_rows
from bakeoff.pipeline.stages.splitting.splits import Split, SplitInput
from bakeoff.pipeline.stages.splitting.splitter import Splitter


@dataclass(frozen=True, kw_only=True)
class Holdout(Splitter):
    """One split into three parts.

    Parameters
    ----------
    test : float
        The fraction of all rows that is tested.
    """

    test: float = 0.2
    validation: float = 0.2

    keeps_groups: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_fraction("test", self.test, allow_zero=False)
        if self.test + self.validation >= 1:
            raise UserError(
                f"evaluation.test={self.test} and evaluation.validation={self.validation} leave no rows for training; "
                "their sum must be below 1."
            )

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the one split."""
        n = len(data.y)
        n_test = round(self.test * n)
        if not 0 < n_test < n:
            raise UserError(f"evaluation.test={self.test} is {n_test} of {n} rows; both parts need rows.")
        yield partition_rows(np.arange(n), n_test, data, stratify=self.stratify, key="test", seed=seed)

    def _make_refit_split(self, data: SplitInput, seed: int) -> Split | None:
        """Return None: the run's model is the one that was scored."""
        return None


@dataclass(frozen=True, kw_only=True)
class KFold(Splitter):
    """k-fold cross-validation: each row is tested once in each repeat.

    Parameters
    ----------
    folds : int
        k, at least 2.
    repeats : int
        The number of repeats, each with a different shuffle; at least 1.
    """

    folds: int = 5
    repeats: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count("folds", self.folds, at_least=2)
        require_count("repeats", self.repeats, at_least=1)

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``folds`` × ``repeats`` splits."""
        stratified = self.stratify and data.is_classification
        require_rows_per_fold(data, self.folds, stratified=stratified)
        k_fold = model_selection.StratifiedKFold if stratified else model_selection.KFold
        for repeat in range(self.repeats):
            splitter = k_fold(self.folds, shuffle=True, random_state=seed + repeat)
            yield from splitter.split(data.y, data.y)


@dataclass(frozen=True, kw_only=True)
class GroupKFold(Splitter):
    """k-fold cross-validation in which the rows of a group stay in one fold.

    Parameters
    ----------
    folds : int
        k, at least 2.
    """

    folds: int = 5

    keeps_groups: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count("folds", self.folds, at_least=2)

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``folds`` splits."""
        if data.groups is None:
            raise UserError("evaluation=group_kfold needs groups; name their column with dataset.groups=COLUMN.")
        n_groups = len(np.unique(data.groups))
        if n_groups < self.folds:
            raise UserError(f"evaluation.folds={self.folds}, but there are {n_groups} groups; use fewer folds.")
        stratified = self.stratify and data.is_classification
        require_rows_per_fold(data, self.folds, stratified=stratified)
        k_fold = model_selection.StratifiedGroupKFold if stratified else model_selection.GroupKFold
        splitter = k_fold(self.folds, shuffle=True, random_state=seed)
        yield from splitter.split(data.y, data.y, data.groups)


@dataclass(frozen=True, kw_only=True)
class LeaveOneOut(Splitter):
    """n splits: each row is tested with a model fitted on all others."""

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield n splits."""
        if len(data.y) < 2:
            raise UserError("evaluation=leave_one_out needs at least 2 rows.")
        yield from model_selection.LeaveOneOut().split(data.y)


@dataclass(frozen=True, kw_only=True)
class TimeSeries(Splitter):
    """Chronological splits: each tests the rows that follow its training rows, and validates on the latest of these.

    Parameters
    ----------
    folds : int
        The number of splits, at least 2.
    """

    folds: int = 5

    keeps_order: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count("folds", self.folds, at_least=2)

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``folds`` splits, the earliest first."""
        n = len(data.y)
        if n <= self.folds:
            raise UserError(f"evaluation.folds={self.folds} needs more than {n} rows; use fewer folds.")
        yield from model_selection.TimeSeriesSplit(self.folds).split(data.y)

    def _set_validation_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> tuple[np.ndarray, np.ndarray]:
        # The fraction is of the rows up to now: later rows are not known yet.
        n_rest = len(rest)
        n_validation = self._count_validation_rows(n_rest, n_rest) if self.validation else 0
        n_train = n_rest - n_validation
        return rest[:n_train], rest[n_train:]
