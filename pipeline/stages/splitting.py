"""Splits: every way of evaluation is a generator of (train, validation, test) rows, so that there is one loop.

scikit-learn's splitters choose the test rows; here a validation part is set aside from what they leave for training.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn import model_selection

from bakeoff.pipeline.errors import UserError


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts; they never overlap.

    Attributes
    ----------
    train, validation, test : ndarray of int
        ``validation`` may be empty; ``test`` is empty only for the fit on all rows.
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class SplitInput:
    """What a splitter may know of the rows: labels or values y (n,), whether they are classes, and groups (n,)."""

    y: np.ndarray
    is_classification: bool
    groups: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Splitter(ABC):
    """Abstract: generate splits.

    Parameters
    ----------
    validation : float
        The fraction of all rows set aside, from the training rows of each split, for pruning or tuning.
    stratify : bool
        Keep each class's proportion in every part.
    """

    validation: float = 0.0
    stratify: bool = True

    keeps_groups: ClassVar[bool] = False
    """Whether rows of one group stay in one part."""

    def __post_init__(self) -> None:
        require_fraction("validation", self.validation, zero=True)

    @abstractmethod
    def outer(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (rows for training and validation, rows for testing)."""

    def splits(self, data: SplitInput, seed: int) -> Iterator[Split]:
        """Yield each split.

        Parameters
        ----------
        data : SplitInput
            Of n rows.
        seed : int
            The same seed gives the same splits.

        Raises
        ------
        UserError
            The rows do not suffice for the parts that are asked for, or their groups would be torn apart.
        """
        if data.groups is not None and not self.keeps_groups:
            raise UserError(
                "dataset.groups is given, and this evaluation would tear groups apart; "
                "use evaluation=group_kfold or holdout, or take dataset.groups out."
            )
        for rest, test in self.outer(data, seed):
            train, validation = self._set_aside(rest, data, seed)
            yield Split(train, validation, test)

    def all_rows(self, data: SplitInput, seed: int) -> Split | None:
        """Return the split whose training part is everything but a validation part; None if no refit is due."""
        train, validation = self._set_aside(np.arange(len(data.y)), data, seed)
        return Split(train, validation, np.empty(0, dtype=np.intp))

    def _set_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Take the validation part from the rows that are not tested."""
        if self.validation == 0:
            return rest, np.empty(0, dtype=np.intp)
        size = self._validation_size(len(data.y), len(rest))
        return split_rows(rest, size, data, stratify=self.stratify, key="validation", seed=seed)

    def _validation_size(self, whole: int, rest: int) -> int:
        size = round(self.validation * whole)
        if not 0 < size < rest:
            raise UserError(
                f"evaluation.validation={self.validation} is {size} of {whole} rows, and {rest} remain "
                "beside the test part; choose a fraction that leaves rows for both parts."
            )
        return size


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
        require_fraction("test", self.test, zero=False)
        if self.test + self.validation >= 1:
            raise UserError(
                f"evaluation.test={self.test} and evaluation.validation={self.validation} leave no rows for training; "
                "their sum must be below 1."
            )

    def outer(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the one split."""
        rows = np.arange(len(data.y))
        size = round(self.test * len(rows))
        if not 0 < size < len(rows):
            raise UserError(f"evaluation.test={self.test} is {size} of {len(rows)} rows; both parts need rows.")
        yield split_rows(rows, size, data, stratify=self.stratify, key="test", seed=seed)

    def all_rows(self, data: SplitInput, seed: int) -> Split | None:
        """Return None: the run's model is the one that was scored."""
        return None


@dataclass(frozen=True, kw_only=True)
class KFold(Splitter):
    """k-fold cross-validation: each row is tested once; repeated with fresh shuffles if asked.

    Parameters
    ----------
    folds : int
        k, at least 2.
    repeats : int
        How often, at least 1.
    """

    folds: int = 5
    repeats: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count("folds", self.folds, least=2)
        require_count("repeats", self.repeats, least=1)

    def outer(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``folds`` × ``repeats`` splits."""
        stratified = self.stratify and data.is_classification
        require_rows_per_fold(data, self.folds, stratified)
        kind = model_selection.StratifiedKFold if stratified else model_selection.KFold
        for repeat in range(self.repeats):
            cut = kind(self.folds, shuffle=True, random_state=seed + repeat)
            yield from cut.split(data.y, data.y)


@dataclass(frozen=True, kw_only=True)
class GroupKFold(Splitter):
    """k folds that never tear a group of rows apart."""

    folds: int = 5

    keeps_groups: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count("folds", self.folds, least=2)

    def outer(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``folds`` splits."""
        if data.groups is None:
            raise UserError("evaluation=group_kfold needs groups; name their column with dataset.groups=COLUMN.")
        if len(np.unique(data.groups)) < self.folds:
            raise UserError(
                f"evaluation.folds={self.folds}, but there are {len(np.unique(data.groups))} groups; use fewer folds."
            )
        stratified = self.stratify and data.is_classification
        require_rows_per_fold(data, self.folds, stratified)
        kind = model_selection.StratifiedGroupKFold if stratified else model_selection.GroupKFold
        yield from kind(self.folds, shuffle=True, random_state=seed).split(data.y, data.y, data.groups)


@dataclass(frozen=True, kw_only=True)
class LeaveOneOut(Splitter):
    """n splits: each row is tested by a model of all others."""

    def outer(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield n splits."""
        if len(data.y) < 2:
            raise UserError("evaluation=leave_one_out needs at least 2 rows.")
        yield from model_selection.LeaveOneOut().split(data.y)


@dataclass(frozen=True, kw_only=True)
class TimeSeries(Splitter):
    """Rows in order of time: each split tests the rows that follow its training rows, and validates on the latest."""

    folds: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count("folds", self.folds, least=2)

    def outer(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``folds`` splits, earliest first."""
        if len(data.y) <= self.folds:
            raise UserError(f"evaluation.folds={self.folds} needs more than {len(data.y)} rows; use fewer folds.")
        yield from model_selection.TimeSeriesSplit(self.folds).split(data.y)

    def _set_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> tuple[np.ndarray, np.ndarray]:
        size = self._validation_size(len(rest), len(rest)) if self.validation else 0
        return rest[: len(rest) - size], rest[len(rest) - size :]


def split_rows(
    rows: np.ndarray, size: int, data: SplitInput, *, stratify: bool, key: str, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Shuffle rows and cut off ``size`` of them: whole groups where there are groups, else classes in proportion."""
    if data.groups is not None:
        return split_groups(rows, size, data.groups[rows], key=key, seed=seed)
    labels = data.y[rows] if stratify and data.is_classification else None
    try:
        first, second = model_selection.train_test_split(rows, test_size=size, stratify=labels, random_state=seed)
    except ValueError as error:
        counted = dict(zip(*np.unique(data.y[rows].astype(str), return_counts=True), strict=True))
        rarest = str(min(counted, key=counted.__getitem__))
        raise UserError(
            f"evaluation.{key} ({size} of {len(rows)} rows) cannot hold every class in proportion: there are "
            f"{len(counted)}, and {rarest!r} has {counted[rarest]} of the rows. Change its size, or set "
            "evaluation.stratify=false."
        ) from error
    return np.sort(first), np.sort(second)


def split_groups(
    rows: np.ndarray, size: int, groups: np.ndarray, *, key: str, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Shuffle groups and cut off about as many as hold ``size`` rows."""
    cut = model_selection.GroupShuffleSplit(1, test_size=size / len(rows), random_state=seed)
    try:
        first, second = next(cut.split(rows, groups=groups))
    except ValueError as error:
        raise UserError(
            f"evaluation.{key} is {size} of {len(rows)} rows, but they form too few groups "
            f"({len(np.unique(groups))}) to leave some for both parts; choose another fraction."
        ) from error
    return rows[first], rows[second]


def require_rows_per_fold(data: SplitInput, folds: int, stratified: bool) -> None:
    """Refuse more folds than rows or, if each class is to be in each fold, than members of a class."""
    if len(data.y) < folds:
        raise UserError(f"evaluation.folds={folds}, but there are {len(data.y)} rows; use fewer folds.")
    if not stratified:
        return
    labels, counts = np.unique(data.y, return_counts=True)
    fewest, label = counts.min(), str(labels[counts.argmin()])
    if fewest < folds:
        cure = f"has {fewest} rows; use at most {fewest} folds, or" if fewest > 1 else "has 1 row; drop it, or set"
        raise UserError(f"evaluation.folds={folds}, but class {label!r} {cure} evaluation.stratify=false.")


def require_fraction(key: str, value: float, *, zero: bool) -> None:
    """Refuse what is not a fraction in (0, 1), or [0, 1) where zero is allowed."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not (0 < value < 1 or (zero and value == 0)):
        least = "at least 0" if zero else "above 0"
        raise UserError(f"evaluation.{key}={value!r} must be a fraction {least} and below 1.")


def require_count(key: str, value: int, *, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UserError(f"evaluation.{key}={value!r} must be a whole number of at least {least}.")
