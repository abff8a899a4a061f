"""Splits at random: holdout, k-fold, leave-one-out and bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn import model_selection
from sklearn.utils import resample

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.checks import require_count, require_fraction, require_rows_per_fold
from bakeoff.pipeline.stages.splitting.partition import partition_rows
from bakeoff.pipeline.stages.splitting.splits import Split, SplitInput
from bakeoff.pipeline.stages.splitting.splitter import Splitter


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
