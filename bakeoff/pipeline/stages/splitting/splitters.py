"""The splitters: random, by groups, by user-defined parts or folds, and in the order of time.

In the order of time, each part follows the rows from which it is predicted. The unit is a point in time: a distinct
value of ``dataset.time``, whose rows stay together, or, without that key, a row in the order of the dataset.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn import model_selection
from sklearn.utils import resample

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.splitting.splitter import (
    NO_ROWS,
    TEST,
    TRAIN,
    VALIDATION,
    SplitInput,
    Splitter,
    TwoParts,
    count,
    fraction,
    partition_rows,
    refusing,
)

GROUP_RULES = ("seen", "new")
NEW_PARTS = 5
"""One of this many parts of the groups is held out from the earlier rows."""


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

    test: float = fraction(0.2, allow_zero=False)
    validation: float = fraction(0.2)
    repeats: int = count(1)

    keeps_groups: ClassVar[bool] = True

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[TwoParts]:
        """Yield ``repeats`` splits."""
        n = len(data.y)
        strata = self.make_strata(data)
        for repeat in range(self.repeats):
            yield partition_rows(np.arange(n), round(self.test * n), data, strata, seed + repeat)


@dataclass(frozen=True, kw_only=True)
class KFold(Splitter):
    """k-fold cross-validation: each row is tested once in each repeat.

    Parameters
    ----------
    folds : int
        k, at least 2.
    repeats : int
        The number of repeats, each with a different shuffle; at least 1.
    first_repeat : int
        The number of the first repeat, from 0: the folds of repeat r are the same in every run that contains it.
    """

    folds: int = count(5, at_least=2)
    repeats: int = count(1)
    first_repeat: int = count(0, at_least=0)

    plain: ClassVar[Any] = model_selection.KFold
    stratified: ClassVar[Any] = model_selection.StratifiedKFold

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[TwoParts]:
        """Yield ``folds`` × ``repeats`` splits."""
        strata = self.make_strata(data)
        if strata is not None and np.unique(strata, return_counts=True)[1].max() < self.folds:
            # scikit-learn needs a stratum with a row for each fold: rows of the same or neighbouring strata are one.
            strata = np.argsort(np.argsort(strata, kind="stable")) // self.folds
        k_fold = self.plain if strata is None else self.stratified
        for repeat in range(self.first_repeat, self.first_repeat + self.repeats):
            splitter = k_fold(self.folds, shuffle=True, random_state=seed + repeat)
            yield from splitter.split(data.y, strata, data.groups)


@dataclass(frozen=True, kw_only=True)
class LeaveOneOut(Splitter):
    """Leave-one-out: each row is tested with a model fitted on all others."""

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[TwoParts]:
        """Yield n splits."""
        yield from model_selection.LeaveOneOut().split(data.y)


@dataclass(frozen=True, kw_only=True)
class Bootstrap(Splitter):
    """Bootstrap samples: n rows are drawn with replacement for training, and the rows not drawn are tested.

    A sample holds about 63 % of the rows, some of them several times. Scores on the other rows come from a
    model that was fitted on fewer rows, so they are a little too low.

    Parameters
    ----------
    repeats : int
        The number of samples, at least 1.
    stratify : bool
        Whether to draw as many rows from each class as it has.

    References
    ----------
    Efron, B. (1983). Estimating the error rate of a prediction rule: improvement on cross-validation. Journal of the
    American Statistical Association 78(382), 316-331.
    """

    repeats: int = count(100)
    stratify: bool = False

    repeats_rows: ClassVar[bool] = True

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[TwoParts]:
        """Yield ``repeats`` samples, each with the rows that are not in it."""
        n = len(data.y)
        strata = self.make_strata(data)
        for repeat in range(self.repeats):
            sample = np.sort(resample(np.arange(n), random_state=seed + repeat, stratify=strata))  # (n,)
            left_out = np.setdiff1d(np.arange(n), sample)
            if len(left_out) == 0:
                raise UserError(
                    f"evaluation=bootstrap drew all {n} rows into training part {repeat}, leaving none for "
                    "testing; use evaluation=leave_one_out for so few rows."
                )
            yield sample, left_out

    def _set_validation_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> TwoParts:
        # Copies of a row must not be in both the training and the validation part.
        distinct = np.unique(rest)
        _, validation = super()._set_validation_aside(distinct, data, seed)
        is_validated = np.isin(rest, validation)
        return rest[~is_validated], validation


@dataclass(frozen=True, kw_only=True)
class GroupKFold(KFold):
    """k-fold cross-validation in which the rows of a group stay in one fold."""

    keeps_groups: ClassVar[bool] = True
    plain: ClassVar[Any] = model_selection.GroupKFold
    stratified: ClassVar[Any] = model_selection.StratifiedGroupKFold

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[TwoParts]:
        """Yield ``folds`` × ``repeats`` splits."""
        n_groups = len(np.unique(_require_column(data.groups, "group_kfold", "groups")))
        if n_groups < self.folds:
            cure = f"use evaluation.folds={n_groups}" if n_groups > 1 else "name another column with dataset.groups"
            raise UserError(f"evaluation.folds={self.folds}, but dataset.groups has {n_groups} groups; {cure}.")
        yield from super().iter_outer_splits(data, seed)


@dataclass(frozen=True, kw_only=True)
class LeaveOneGroupOut(Splitter):
    """A split for each group, whose rows are tested with a model fitted on the rows of all others."""

    keeps_groups: ClassVar[bool] = True

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[TwoParts]:
        """Yield as many splits as there are groups."""
        groups = _require_column(data.groups, "leave_one_group_out", "groups")
        yield from model_selection.LeaveOneGroupOut().split(data.y, groups=groups)


@dataclass(frozen=True, kw_only=True)
class FixedSplit(Splitter):
    """The single split defined by a column or by two files.

    If the user assigns validation rows, they are the validation part regardless of ``validation``; otherwise that
    fraction of all rows is set aside from the training rows.
    """

    keeps_groups: ClassVar[bool] = True
    keeps_parts: ClassVar[bool] = True

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[TwoParts]:
        """Yield the only split."""
        parts = _require_column(data.parts, "fixed", "split")
        for part in (TRAIN, TEST):
            if part not in parts:
                raise UserError(f"evaluation=fixed needs rows of the part {part!r}, but dataset.split has none.")
        is_tested = parts == TEST  # (n,)
        yield np.flatnonzero(~is_tested), np.flatnonzero(is_tested)

    def _set_validation_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> TwoParts:
        if not data.names_validation_rows:
            return super()._set_validation_aside(rest, data, seed)
        assert data.parts is not None
        is_validated = data.parts[rest] == VALIDATION
        return rest[~is_validated], rest[is_validated]


@dataclass(frozen=True, kw_only=True)
class FixedFolds(Splitter):
    """Folds defined by a column: the rows with each value are tested once, with a model fitted on all others.

    As in scikit-learn's ``PredefinedSplit``, rows with a negative fold are never tested.
    """

    keeps_groups: ClassVar[bool] = True
    keeps_folds: ClassVar[bool] = True

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[TwoParts]:
        """Yield a split for each fold, in the order of their numbers."""
        folds = _require_column(data.folds, "fixed_folds", "folds")
        if folds.min() == folds.max() or folds.max() < 0:
            raise UserError(
                "evaluation=fixed_folds needs a fold to test and other rows to train on, but dataset.folds has one "
                "value, or negative values only."
            )
        yield from model_selection.PredefinedSplit(folds).split()


def _require_column(values: np.ndarray | None, evaluation: str, key: str) -> np.ndarray:
    """Return the values of a column (n,) that an evaluation needs."""
    if values is None:
        raise UserError(f"evaluation={evaluation} needs dataset.{key}; name the column with dataset.{key}=COLUMN.")
    return values


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
    max_train_size: int | None = count(None)

    keeps_order: ClassVar[bool] = True
    is_fraction_of_all: ClassVar[bool] = False
    """Whether ``validation`` is a fraction of all rows rather than of those up to the test part."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stratify or self.target_bins is not None or self.reserve_seed:
            raise UserError(
                "evaluation.stratify, evaluation.target_bins and evaluation.reserve_seed choose the rows of each part, "
                "but a chronological split fixes this; set evaluation.stratify=false, and remove the others."
            )

    def make_inner_folds(self, data: SplitInput, rows: np.ndarray, folds: int, seed: int) -> list[TwoParts]:
        """Divide the training rows in the order of time: each fold follows, after the same gap, the rows to fit on."""
        data = data.select(rows)
        codes = data.time_codes
        with refusing(f"use fewer than {folds} folds (tuning.folds, calibration.folds, threshold.folds)"):
            times = list(model_selection.TimeSeriesSplit(folds, gap=self.gap).split(np.arange(count_times(data))))
        return [
            self._relate(data, np.flatnonzero(codes <= before[-1]), np.flatnonzero(np.isin(codes, after)), number, seed)
            for number, (before, after) in enumerate(times)
        ]

    def _relate(self, data: SplitInput, earlier: np.ndarray, later: np.ndarray, number: int, seed: int) -> TwoParts:
        """Return the rows to fit on and the later rows of a part that is predicted from them, the ``number``-th."""
        return earlier, later

    def _set_reserve_aside(self, data: SplitInput) -> TwoParts:
        # Rows in the gap before the reserve are in no part: their targets are not known when the reserve begins.
        if not self.reserve:
            return super()._set_reserve_aside(data)
        return self._relate(data, *self._divide_latest(data, data.time_order, "reserve", len(data.y)), 0, 0)

    def _divide_latest(self, data: SplitInput, rows: np.ndarray, key: str, n_rows: int) -> TwoParts:
        """Divide rows, in the order of time, into those before the gap and the latest: a field's fraction of n_rows."""
        n_latest = round(getattr(self, key) * n_rows)
        times = data.time_codes[rows]
        first_time = times[max(0, len(rows) - n_latest)] if n_latest else 0
        # An earlier row must not lie in the gap before the latest ones, nor share a time with them.
        earlier = rows[times < first_time - self.gap]
        if not len(earlier):
            raise UserError(
                f"evaluation.{key}={getattr(self, key)} and evaluation.gap={self.gap} leave no rows for training or "
                f"for the {key} part; choose others."
            )
        return earlier, rows[times >= first_time]

    def _list_full_rows(self, data: SplitInput) -> np.ndarray:
        """Return all rows, or the latest ones if ``max_train_size`` limits them, in the order of time."""
        return self._limit(data, data.time_order)

    def _limit(self, data: SplitInput, rows: np.ndarray) -> np.ndarray:
        """Return the latest rows, by ``max_train_size``, of all rows up to a point in time, in the order of time."""
        times = data.time_codes[rows]
        return rows if self.max_train_size is None else rows[times > times[-1] - self.max_train_size]

    def _set_validation_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> TwoParts:
        if self.validation == 0:
            return rest, NO_ROWS
        n_rows = len(data.y) if self.is_fraction_of_all else len(rest)
        return self._divide_latest(data, rest, "validation", n_rows)


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
    test_size: int | None = count(None)

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[TwoParts]:
        """Yield ``folds`` splits, the earliest first."""
        splitter = model_selection.TimeSeriesSplit(
            self.folds, max_train_size=self.max_train_size, test_size=self.test_size, gap=self.gap
        )
        for number, (rest_times, test_times) in enumerate(splitter.split(np.arange(count_times(data)))):
            yield self._relate(data, list_rows_at(data, rest_times), list_rows_at(data, test_times), number, seed)


@dataclass(frozen=True, kw_only=True)
class TimeHoldout(Chronological):
    """One split by time: the latest rows are for testing, and the latest of the others for validation.

    Parameters
    ----------
    test : float
        The fraction of all rows that is tested; rows of the same time stay together.
    """

    test: float = fraction(0.2, allow_zero=False)
    validation: float = fraction(0.2)

    is_fraction_of_all: ClassVar[bool] = True

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[TwoParts]:
        """Yield the only split."""
        earlier, test = self._divide_latest(data, data.time_order, "test", len(data.y))
        yield self._relate(data, self._limit(data, earlier), test, 0, seed)


@dataclass(frozen=True, kw_only=True)
class GroupChronological(Chronological):
    """Abstract: generate splits in the order of time that say of each later row whether its group is known.

    Parameters
    ----------
    groups : {"seen", "new"}
        Whether each predicted part has the later rows of groups with rows to fit on, or the later rows of groups
        without. A fifth of the groups with rows on both sides, another one for each split, count as new: their earlier
        rows are left out. All other later rows are left out.

    References
    ----------
    Roberts, D. R. et al. (2017). Cross-validation strategies for data with temporal, spatial, hierarchical, or
    phylogenetic structure. Ecography 40(8), 913-929.
    """

    groups: Literal["seen", "new"] = "seen"

    keeps_groups: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups not in GROUP_RULES:
            raise UserError(f"evaluation.groups={self.groups} is not a rule. {did_you_mean(self.groups, GROUP_RULES)}")

    def _set_validation_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> TwoParts:
        train, validation = super()._set_validation_aside(rest, data, seed)
        # Test rows of a group whose first rows are validation rows are still rows of a group with earlier rows.
        is_any = self.groups == "seen" or not len(validation)
        return (train, validation) if is_any else self._relate(data, train, validation, 0, seed)

    def _relate(self, data: SplitInput, earlier: np.ndarray, later: np.ndarray, number: int, seed: int) -> TwoParts:
        groups = _require_column(data.groups, "group_time_series or group_time_holdout", "groups")
        known = later[np.isin(groups[later], groups[earlier])]
        n_parts = min(NEW_PARTS, len(np.unique(groups[known])))
        predicted = known
        if self.groups == "new":
            if n_parts > 1:
                # Folds of whole groups, with the proportions of the classes if these have enough rows.
                _, held_out = Splitter.make_inner_folds(self, data, known, n_parts, seed)[number % n_parts]
                earlier = earlier[~np.isin(groups[earlier], groups[known[held_out]])]
            predicted = later[~np.isin(groups[later], groups[earlier])]
        if not len(earlier) or not len(predicted):
            other = "new" if self.groups == "seen" else "seen"
            raise UserError(
                f"evaluation.groups={self.groups} leaves no rows to fit on or to predict in one of the parts; use "
                f"evaluation.groups={other}, or larger or fewer parts."
            )
        return earlier, predicted


@dataclass(frozen=True, kw_only=True)
class GroupTimeSeries(TimeSeries, GroupChronological):
    """The splits of `TimeSeries`, of which each tests seen or new groups."""


@dataclass(frozen=True, kw_only=True)
class GroupTimeHoldout(TimeHoldout, GroupChronological):
    """The split of `TimeHoldout`, which tests seen or new groups."""


def count_times(data: SplitInput) -> int:
    """Return the number of points in time."""
    return int(data.time_codes.max(initial=-1)) + 1


def list_rows_at(data: SplitInput, times: np.ndarray) -> np.ndarray:
    """Return the rows at points in time (t,), in the order of time."""
    return data.time_order[np.isin(data.time_codes[data.time_order], times)]
