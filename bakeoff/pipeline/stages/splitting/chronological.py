"""Splits in the order of time: each part follows the rows that it is predicted from.

The unit is a point in time: a distinct value of ``dataset.time``, whose rows stay together, or, without that key, a row
in the order of the dataset.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn import model_selection

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.splits import SplitInput, TwoParts
from bakeoff.pipeline.stages.splitting.splitter import NO_ROWS, Splitter, count, fraction, refusing


@dataclass(frozen=True, kw_only=True)
class Chronological(Splitter):
    """Abstract: generate splits in the order of time.

    Parameters
    ----------
    gap : int
        The number of points in time left out before each predicted part, at least 0.
    max_train_size : int, optional
        The number of points in time, the latest ones, to train and validate on; all of them by default.

    References
    ----------
    Bergmeir, C. and Benítez, J. M. (2012). On the use of cross-validation for time series predictor evaluation.
    Information Sciences 191, 192-213.
    """

    stratify: bool = False
    gap: int = count(0, at_least=0)
    max_train_size: int | None = count(None, at_least=1)

    keeps_order: ClassVar[bool] = True
    is_fraction_of_all: ClassVar[bool] = False
    """Whether ``validation`` is a fraction of all rows rather than of those up to the test part."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stratify or self.target_bins is not None:
            raise UserError(
                "evaluation.stratify and evaluation.target_bins choose the rows of each part, but a chronological "
                "split fixes this; set evaluation.stratify=false, and remove evaluation.target_bins."
            )

    def make_inner_folds(self, data: SplitInput, rows: np.ndarray, folds: int, seed: int) -> list[TwoParts]:
        """Divide the training rows in the order of time: each fold follows, after the same gap, the rows to fit on."""
        codes = np.unique(data.time_codes[rows], return_inverse=True)[1]
        with refusing(f"use fewer than {folds} folds (tuning.folds, calibration.folds, threshold.folds)"):
            times = list(model_selection.TimeSeriesSplit(folds, gap=self.gap).split(np.arange(codes.max() + 1)))
        return [
            (np.flatnonzero(codes <= earlier[-1]), np.flatnonzero(np.isin(codes, held_out)))
            for earlier, held_out in times
        ]

    def _list_full_rows(self, data: SplitInput) -> np.ndarray:
        """Return all rows, or the latest ones if ``max_train_size`` limits them, in the order of time."""
        n_times = count_times(data)
        first = 0 if self.max_train_size is None else max(0, n_times - self.max_train_size)
        return list_rows_between(data, first, n_times)

    def _set_validation_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> TwoParts:
        if self.validation == 0:
            return rest, NO_ROWS
        n_rows = len(data.y) if self.is_fraction_of_all else len(rest)
        n_validation = round(self.validation * n_rows)
        times = data.time_codes[rest]  # (rest,), ascending
        first_time = times[max(0, len(rest) - n_validation)] if n_validation else np.inf
        # A training row must not lie in the gap before the validation part, nor share a time with it.
        train = rest[times < first_time - self.gap]
        if n_validation == 0 or len(train) == 0:
            raise UserError(
                f"evaluation.validation={self.validation} and evaluation.gap={self.gap} leave no rows for training or "
                "for validation; choose others."
            )
        return train, rest[times >= first_time]


@dataclass(frozen=True, kw_only=True)
class TimeSeries(Chronological):
    """Chronological splits: each tests on the rows that follow its training rows.

    Each validates on the latest of its training rows.

    Parameters
    ----------
    folds : int
        The number of splits, at least 2.
    test_size : int, optional
        The number of points in time of each test part; by default all of them divided by ``folds`` + 1.
    """

    folds: int = count(5, at_least=2)
    test_size: int | None = count(None, at_least=1)

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[TwoParts]:
        """Yield ``folds`` splits, the earliest first."""
        splitter = model_selection.TimeSeriesSplit(
            self.folds, max_train_size=self.max_train_size, test_size=self.test_size, gap=self.gap
        )
        for rest_times, test_times in splitter.split(np.arange(count_times(data))):
            rest = list_rows_between(data, rest_times[0], rest_times[-1] + 1)
            yield rest, list_rows_between(data, test_times[0], test_times[-1] + 1)


@dataclass(frozen=True, kw_only=True)
class TimeHoldout(Chronological):
    """One split by time: the latest rows are for testing, and the latest of the others for validation.

    Parameters
    ----------
    test : float
        The fraction of all rows that is tested; rows of the same time stay together.
    """

    test: float = fraction(0.2, allow_zero=False)
    validation: float = fraction(0.2, allow_zero=True)

    is_fraction_of_all: ClassVar[bool] = True

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[TwoParts]:
        """Yield the only split."""
        n = len(data.y)
        n_test = round(self.test * n)
        first_time = np.sort(data.time_codes)[n - n_test] if n_test else 0
        last = first_time - self.gap
        if last < 1:
            raise UserError(
                f"evaluation.test={self.test} and evaluation.gap={self.gap} leave no rows for training or for testing; "
                "choose others."
            )
        first = 0 if self.max_train_size is None else max(0, last - self.max_train_size)
        yield list_rows_between(data, first, last), list_rows_between(data, first_time, count_times(data))


def count_times(data: SplitInput) -> int:
    """Return the number of points in time."""
    return int(data.time_codes.max(initial=-1)) + 1


def list_rows_between(data: SplitInput, first: int, end: int) -> np.ndarray:
    """Return the rows from the ``first``-th to before the ``end``-th point in time, in the order of time."""
    rows = np.flatnonzero((data.time_codes >= first) & (data.time_codes < end))
    return rows[np.argsort(data.time_codes[rows], kind="stable")]
