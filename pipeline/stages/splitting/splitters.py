"""The splitters that disregard time: at random, by groups, or by user-defined parts or folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn import model_selection
from sklearn.utils import resample

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.partition import partition_rows
from bakeoff.pipeline.stages.splitting.splits import TEST, TRAIN, VALIDATION, Split, SplitInput
from bakeoff.pipeline.stages.splitting.splitter import (
    Splitter,
    require_count,
    require_fraction,
    require_rows_per_fold,
    require_whole_groups,
)


@dataclass(frozen=True, kw_only=True)
class Holdout(Splitter):
    """One split into three parts, or several such splits.

    Parameters
    ----------
    test : float
        The fraction of all rows that is tested.
    repeats : int
        The number of splits, each with a different shuffle; at least 1.
    """

    test: float = 0.2
    validation: float = 0.2
    repeats: int = 1

    keeps_groups: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_fraction("test", self.test, allow_zero=False)
        require_count("repeats", self.repeats, at_least=1)
        if self.test + self.validation >= 1:
            raise UserError(
                f"evaluation.test={self.test} and evaluation.validation={self.validation} leave no rows for training; "
                "their sum must be below 1."
            )

    def count_splits(self, data: SplitInput) -> int | None:
        """Return ``repeats``."""
        return self.repeats

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``repeats`` splits."""
        n = len(data.y)
        n_test = round(self.test * n)
        if not 0 < n_test < n:
            raise UserError(f"evaluation.test={self.test} is {n_test} of {n} rows; both parts need rows.")
        strata = self.make_strata(data)
        for repeat in range(self.repeats):
            yield partition_rows(np.arange(n), n_test, data, strata=strata, key="test", seed=seed + repeat)

    def _make_refit_split(self, data: SplitInput, seed: int) -> Split | None:
        """Return None for one split: the run's model is the one that was scored."""
        return None if self.repeats == 1 else super()._make_refit_split(data, seed)


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

    def count_splits(self, data: SplitInput) -> int | None:
        """Return ``folds`` × ``repeats``."""
        return self.folds * self.repeats

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``folds`` × ``repeats`` splits."""
        strata = self.make_strata(data)
        require_rows_per_fold(data, self.folds, strata)
        k_fold = model_selection.KFold if strata is None else model_selection.StratifiedKFold
        for repeat in range(self.repeats):
            splitter = k_fold(self.folds, shuffle=True, random_state=seed + repeat)
            yield from splitter.split(data.y, strata)


@dataclass(frozen=True, kw_only=True)
class LeaveOneOut(Splitter):
    """n splits: each row is tested with a model fitted on all others."""

    def count_splits(self, data: SplitInput) -> int | None:
        """Return the number of rows."""
        return len(data.y)

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield n splits."""
        if len(data.y) < 2:
            raise UserError("evaluation=leave_one_out needs at least 2 rows.")
        yield from model_selection.LeaveOneOut().split(data.y)


@dataclass(frozen=True, kw_only=True)
class Bootstrap(Splitter):
    """Bootstrap samples: n rows are drawn with replacement to train on, and the rows that were not drawn are tested.

    A sample holds about 63 % of the rows, some of them several times. Scores on the other rows are those of a model
    that was fitted on fewer rows, so they are a little too low; the .632 estimator adds .368 times the training score
    to .632 times the test score.

    Parameters
    ----------
    repeats : int
        The number of samples, at least 1.
    stratify : bool
        Draw from each class as many rows as it has.

    References
    ----------
    Efron, B. (1983). Estimating the error rate of a prediction rule: improvement on cross-validation. Journal of the
    American Statistical Association 78(382), 316-331.
    """

    repeats: int = 100
    stratify: bool = False

    repeats_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count("repeats", self.repeats, at_least=1)

    def count_splits(self, data: SplitInput) -> int | None:
        """Return ``repeats``."""
        return self.repeats

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``repeats`` samples, each with the rows that are not in it."""
        n = len(data.y)
        strata = self.make_strata(data)
        for repeat in range(self.repeats):
            sample = np.sort(resample(np.arange(n), random_state=seed + repeat, stratify=strata))  # (n,)
            left_out = np.setdiff1d(np.arange(n), sample)
            if len(left_out) == 0:
                raise UserError(
                    f"evaluation=bootstrap drew all {n} rows into training part {repeat}, so that none is left to "
                    "test; use evaluation=leave_one_out for so few rows."
                )
            yield sample, left_out

    def _set_validation_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> tuple[np.ndarray, np.ndarray]:
        # A row must not be in the training part and, as a copy, in the validation part.
        distinct = np.unique(rest)
        _, validation = super()._set_validation_aside(distinct, data, seed)
        is_validated = np.isin(rest, validation)
        return rest[~is_validated], validation


@dataclass(frozen=True, kw_only=True)
class GroupKFold(KFold):
    """k-fold cross-validation in which the rows of a group stay in one fold."""

    keeps_groups: ClassVar[bool] = True

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``folds`` × ``repeats`` splits."""
        if data.groups is None:
            raise UserError("evaluation=group_kfold needs groups; name their column with dataset.groups=COLUMN.")
        n_groups = len(np.unique(data.groups))
        if n_groups < self.folds:
            raise UserError(f"evaluation.folds={self.folds}, but there are {n_groups} groups; use fewer folds.")
        strata = self.make_strata(data)
        require_rows_per_fold(data, self.folds, strata)
        k_fold = model_selection.GroupKFold if strata is None else model_selection.StratifiedGroupKFold
        for repeat in range(self.repeats):
            splitter = k_fold(self.folds, shuffle=True, random_state=seed + repeat)
            yield from splitter.split(data.y, strata, data.groups)


@dataclass(frozen=True, kw_only=True)
class LeaveOneGroupOut(Splitter):
    """A split for each group, whose rows are tested with a model fitted on the rows of all others."""

    keeps_groups: ClassVar[bool] = True

    def count_splits(self, data: SplitInput) -> int | None:
        """Return the number of groups."""
        return None if data.groups is None else len(np.unique(data.groups))

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield as many splits as there are groups."""
        if data.groups is None:
            raise UserError(
                "evaluation=leave_one_group_out needs groups; name their column with dataset.groups=COLUMN."
            )
        if len(np.unique(data.groups)) < 2:
            raise UserError("evaluation=leave_one_group_out needs at least 2 groups, but dataset.groups has one value.")
        yield from model_selection.LeaveOneGroupOut().split(data.y, groups=data.groups)


@dataclass(frozen=True, kw_only=True)
class FixedSplit(Splitter):
    """The one split of a column or of two files.

    If the user names validation rows, these are the validation part, whatever ``validation`` is; otherwise that
    fraction of all rows is set aside from the training rows.
    """

    keeps_groups: ClassVar[bool] = True
    keeps_parts: ClassVar[bool] = True

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the one split."""
        if data.parts is None:
            raise UserError(
                "evaluation=fixed needs to know which rows are tested; name a column with dataset.split=COLUMN, or a "
                "second file with dataset.test_path=FILE."
            )
        for part in (TRAIN, TEST):
            if not (data.parts == part).any():
                raise UserError(f"evaluation=fixed needs rows of the part {part!r}, but dataset.split has none.")
        require_whole_groups(data.groups, data.parts, "dataset.split or dataset.test_path")
        is_tested = data.parts == TEST  # (n,)
        yield np.flatnonzero(~is_tested), np.flatnonzero(is_tested)

    def _make_refit_split(self, data: SplitInput, seed: int) -> Split | None:
        """Return None: the run's model is the one that was scored."""
        return None

    def _set_validation_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if not data.names_validation_rows:
            return super()._set_validation_aside(rest, data, seed)
        assert data.parts is not None
        is_validated = data.parts[rest] == VALIDATION
        return rest[~is_validated], rest[is_validated]


@dataclass(frozen=True, kw_only=True)
class FixedFolds(Splitter):
    """The folds of a column: the rows of each value are tested once, with a model fitted on all others.

    As in scikit-learn's ``PredefinedSplit``, rows of a negative fold are never tested.
    """

    keeps_groups: ClassVar[bool] = True
    keeps_folds: ClassVar[bool] = True

    def count_splits(self, data: SplitInput) -> int | None:
        """Return the number of folds that are tested."""
        return None if data.folds is None else len(np.unique(data.folds[data.folds >= 0]))

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield a split for each fold, in the order of their numbers."""
        if data.folds is None:
            raise UserError("evaluation=fixed_folds needs the folds; name their column with dataset.folds=COLUMN.")
        numbers = np.unique(data.folds)
        if len(numbers) < 2 or numbers[-1] < 0:
            raise UserError(
                "evaluation=fixed_folds needs a fold to test and other rows to train on, but dataset.folds has "
                f"{'one value' if len(numbers) < 2 else 'negative values'} only."
            )
        require_whole_groups(data.groups, data.folds, "dataset.folds")
        yield from model_selection.PredefinedSplit(data.folds).split()
