"""The base of all splitters, with their input and the splits that they return.

The base checks the arguments, sets a validation part aside, and makes the split for the run's model.
"""

import hashlib
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn import model_selection

from bakeoff.pipeline.errors import UserError

DIGEST_BYTES = 8
TRAIN = "train"
VALIDATION = "validation"
TEST = "test"
TwoParts = tuple[np.ndarray, np.ndarray]
"""The numbers of the rows of two parts, such as the rows to fit on and the rows to score on."""


@dataclass(frozen=True)
class SplitInput:
    """The information about n rows that a splitter may use.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Class labels, or float64 targets.
    is_classification : bool
        Whether y holds class labels.
    groups : ndarray of shape (n,) or None
        Rows with equal values belong together.
    parts : ndarray of shape (n,) or None
        The user-defined part of each row: ``train``, ``validation`` or ``test``.
    folds : ndarray of shape (n,), int, or None
        The fold in which each row is tested; a negative number means none.
    times : ndarray of shape (n,) or None
        Dates or numbers: the time of each row.
    """

    y: np.ndarray
    is_classification: bool
    groups: np.ndarray | None = None
    parts: np.ndarray | None = None
    folds: np.ndarray | None = None
    times: np.ndarray | None = None

    @property
    def names_validation_rows(self) -> bool:
        """Whether the user assigns rows to the validation part."""
        return self.parts is not None and bool((self.parts == VALIDATION).any())

    @cached_property
    def time_codes(self) -> np.ndarray:
        """The position of each row's time among the distinct times, shape (n,); without times, the row number."""
        if self.times is None:
            return np.arange(len(self.y))
        return np.unique(self.times, return_inverse=True)[1]

    @cached_property
    def time_order(self) -> np.ndarray:
        """The numbers of all rows in the order of time, shape (n,)."""
        return np.argsort(self.time_codes, kind="stable")

    @property
    def units(self) -> np.ndarray | None:
        """The values of shape (n,) whose rows belong together: user-defined folds, or else groups."""
        # The rows of a user-defined fold belong together, for a reason known only to the user.
        return self.groups if self.folds is None else self.folds

    def select(self, rows: np.ndarray) -> "SplitInput":
        """Return the information about some of the rows (m,), which are numbered anew from 0."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(self, **{name: of[rows] for name, of in columns.items() if isinstance(of, np.ndarray)})


NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts and of the reserve, which never overlap.

    Attributes
    ----------
    train, validation, test : ndarray of int
        ``validation`` may be empty; ``test`` is empty only for the fit on all rows. A row that was drawn several times
        also occurs several times in ``train``.
    reserve : ndarray of int
        The rows that were set aside before the split, and that no stage may use.
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    reserve: np.ndarray = field(default_factory=lambda: NO_ROWS)

    @property
    def n_bytes(self) -> int:
        """The memory that the row numbers take, in bytes."""
        return self.train.nbytes + self.validation.nbytes + self.test.nbytes


@dataclass(frozen=True)
class Splits:
    """All splits of an evaluation.

    Attributes
    ----------
    folds : tuple of Split
        The splits that are scored, in order.
    refit : Split or None
        The rows of the run's own model; None if that is the model of the only fold.
    final : Split or None
        The split whose test part is the reserve, which fits on the rows outside it; None without a reserve.
    """

    folds: tuple[Split, ...]
    refit: Split | None
    final: Split | None = None

    @property
    def fitted(self) -> tuple[Split, ...]:
        """The splits on which a model is fitted: the scored ones, then the split of the run's model."""
        return self.folds if self.refit is None else (*self.folds, self.refit)

    @property
    def n_bytes(self) -> int:
        """The memory that the row numbers take, in bytes."""
        return sum(split.n_bytes for split in self.fitted)

    @property
    def min_train_rows(self) -> int:
        """The number of rows of the smallest training part of the scored splits."""
        return min(len(split.train) for split in self.folds)

    @property
    def mean_rows(self) -> dict[str, float]:
        """The number of distinct rows of each part, on average over the scored splits."""
        parts = (TRAIN, VALIDATION, TEST)
        # A bootstrap draws some rows several times.
        counts = {part: [np.count_nonzero(np.bincount(getattr(split, part))) for split in self.folds] for part in parts}
        return {part: float(np.mean(by_fold)) for part, by_fold in counts.items()}

    def digest(self) -> str:
        """Return a fingerprint of the test rows, and of the rows besides them, of each fold: 16 hexadecimal digits.

        Two runs can be compared fold by fold if their fingerprints are equal. Training and validation rows are not
        distinguished, because whether rows are set aside for pruning or tuning is part of the comparison. The last
        rows are those of the split that is tested on the reserve, if there is one.
        """
        fingerprint = hashlib.blake2b(digest_size=DIGEST_BYTES)
        for split in (*self.folds, *([self.final] if self.final else [])):
            rest = np.concatenate([split.train, split.validation])
            for rows in (np.sort(split.test), np.sort(rest)):
                # The length distinguishes parts whose concatenated rows are the same.
                fingerprint.update(f"{len(rows)}\0".encode())
                fingerprint.update(rows.astype(np.int64).tobytes())
        return fingerprint.hexdigest()


DEFAULT_MAX_FOLDS = 100_000
MAX_BYTES = 2_000_000_000
"""The maximum memory for the row numbers of all splits."""
COUNTED_BY = ("folds", "repeats")
"""Fields whose product is the number of splits."""
SIZES = ("folds", "gap", "test_size", "test", "validation", "reserve")
"""Fields that decide how many rows, groups or points in time the parts need."""
RARE_CLASS = "The least populated class"
"""The beginning of scikit-learn's warning about a class that some folds lack, which the audit reports."""
COLUMNS = (
    ("groups", "keeps_groups", "dataset.groups", "group_kfold, leave_one_group_out or holdout"),
    ("parts", "keeps_parts", "dataset.split or dataset.test_path", "fixed"),
    ("folds", "keeps_folds", "dataset.folds", "fixed_folds"),
    ("times", "keeps_order", "dataset.time", "time_series or time_holdout"),
)
"""A property of rows, the class variable of the splitters that respect it, its key, and these splitters."""
PANEL = "group_time_series or group_time_holdout"
"""The splitters that respect both groups and times."""


def count(default: int | None, at_least: int = 1) -> Any:
    """Return a field of a splitter that must be an integer not below ``at_least``, or None if that is the default."""
    return field(default=default, metadata={"at_least": at_least})


def fraction(default: float, *, allow_zero: bool = True) -> Any:
    """Return a field of a splitter that must be in (0, 1), or in [0, 1) if zero is allowed."""
    return field(default=default, metadata={"allow_zero": allow_zero})


@contextmanager
def refusing(cure: str) -> Iterator[None]:
    """Turn scikit-learn's errors about too few rows into refusals."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", RARE_CLASS, UserWarning)
        try:
            yield
        except ValueError as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise UserError(f"evaluation: {reason}; {cure}.") from error


@dataclass(frozen=True, kw_only=True)
class Splitter(ABC):
    """Abstract: generate splits.

    Parameters
    ----------
    validation : float
        The fraction of all rows set aside, from the training rows of each split, for pruning or tuning.
    stratify : bool
        Keep each class's proportion in every part.
    target_bins : int, optional
        The number of intervals of a numeric target whose proportions are kept in every part, at least 2; by default the
        parts are random.
    reserve : float
        The fraction of all rows that are set aside before any split, as a part of their own; all other fractions are of
        the rows that are left.
    reserve_seed : int
        Chooses the rows of the reserve; at least 0. The seed of the splits does not, so that runs with different seeds
        have the same reserve.
    """

    validation: float = fraction(0.0)
    stratify: bool = True
    target_bins: int | None = count(None, at_least=2)
    reserve: float = fraction(0.0)
    reserve_seed: int = count(0, at_least=0)

    keeps_groups: ClassVar[bool] = False
    """Whether the rows of a group stay in one part."""
    keeps_order: ClassVar[bool] = False
    """Whether each part follows, in time, the rows from which it is predicted; without times, rows are in order."""
    keeps_parts: ClassVar[bool] = False
    """Whether each row stays in its user-defined part."""
    keeps_folds: ClassVar[bool] = False
    """Whether each row is tested in its user-defined fold."""
    repeats_rows: ClassVar[bool] = False
    """Whether a row may occur several times in a training part."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value, limits = getattr(self, each.name), each.metadata
            if value is each.default:
                continue
            if "at_least" in limits and value < limits["at_least"]:
                raise UserError(
                    f"evaluation.{each.name}={value!r} must be an integer of at least {limits['at_least']}."
                )
            if "allow_zero" in limits and not (0 < value < 1 or (value == 0 and limits["allow_zero"])):
                lower_bound = "at least 0" if limits["allow_zero"] else "above 0"
                raise UserError(f"evaluation.{each.name}={value!r} must be a fraction {lower_bound} and below 1.")
        if self.target_bins is not None and not self.stratify:
            raise UserError(
                f"evaluation.target_bins={self.target_bins} stratifies by intervals of the target, but "
                "evaluation.stratify=false disables stratification; use one of the two."
            )
        if self.reserve_seed and not self.reserve:
            raise UserError(
                f"evaluation.reserve_seed={self.reserve_seed} chooses the rows of a reserve, but there is none; add "
                "evaluation.reserve=0.2."
            )

    @abstractmethod
    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[TwoParts]:
        """Yield the rows for training and validation, and the rows for testing, of each split."""

    def make_splits(self, data: SplitInput, seed: int, max_folds: int = DEFAULT_MAX_FOLDS) -> Splits:
        """Return all splits of an evaluation.

        Parameters
        ----------
        data : SplitInput
            The information about n rows.
        seed : int
            The same seed gives the same splits.
        max_folds : int
            The largest number of splits.

        Raises
        ------
        UserError
            There are too few rows for the parts, or too many splits, or the splits would ignore something that the
            user says of the rows.
        """
        for name, keeps, key, evaluations in COLUMNS:
            if getattr(data, name) is not None and not getattr(self, keeps):
                if data.groups is not None and data.times is not None:
                    evaluations = PANEL
                raise UserError(
                    f"{key} is set, but this evaluation ignores it; use evaluation={evaluations}, or remove {key}."
                )
        keys = [f"evaluation.{name}={value}" for name in SIZES if (value := getattr(self, name, None))]
        with refusing(f"change {' or '.join(keys) or 'evaluation'}"):
            others, reserve = self._set_reserve_aside(data)
            data = data.select(others)
            folds = self._list_folds(data, seed, max_folds, others, reserve)
            # If there is one fold, the run's model is the one that was scored.
            is_scored = len(folds) == 1 and not self.repeats_rows
            if is_scored and not len(reserve):
                return Splits(folds, None)
            full = self.make_full_split(data, seed, with_validation=True)
        train, validation = others[full.train], others[full.validation]
        final = Split(train, validation, reserve) if len(reserve) else None
        return Splits(folds, None if is_scored else Split(train, validation, NO_ROWS, reserve), final)

    def _set_reserve_aside(self, data: SplitInput) -> TwoParts:
        """Divide all rows into those of the splits and the reserve."""
        rows = np.arange(len(data.y))
        if not self.reserve:
            return rows, NO_ROWS
        if data.parts is not None:
            raise UserError(
                f"evaluation.reserve={self.reserve} would take rows out of the parts given by dataset.split or "
                "dataset.test_path; set evaluation.reserve=0, and leave the rows of the reserve out of the table."
            )
        # As rows with a negative fold are never tested, they are not in the reserve either.
        candidates = rows if data.folds is None else rows[data.folds >= 0]
        n_rows = round(self.reserve * len(rows))
        if not 0 < n_rows < len(candidates):
            raise UserError(
                f"evaluation.reserve={self.reserve} sets {n_rows} of {len(candidates)} rows aside; choose a fraction "
                "that leaves rows both in the reserve and for the splits."
            )
        strata = self.make_strata(data)
        _, reserve = partition_rows(candidates, n_rows, replace(data, groups=data.units), strata, self.reserve_seed)
        return np.setdiff1d(rows, reserve), reserve

    def _list_folds(
        self, data: SplitInput, seed: int, max_folds: int, numbers: np.ndarray, reserve: np.ndarray
    ) -> tuple[Split, ...]:
        """Return the splits of rows with the given numbers, each with its validation part, if they are not too many."""
        counts = [getattr(self, each.name) for each in fields(self) if each.name in COUNTED_BY and each.metadata]
        folds: list[Split] = []
        n_bytes = 0
        if math.prod(counts) > max_folds:
            raise _refuse_folds(f"{math.prod(counts):,}", max_folds)
        for rest, test in self.iter_outer_splits(data, seed):
            train, validation = self._set_validation_aside(rest, data, seed)
            folds.append(Split(numbers[train], numbers[validation], numbers[test], reserve))
            n_bytes += folds[-1].n_bytes
            if len(folds) > max_folds or n_bytes > MAX_BYTES:
                raise _refuse_folds(f"more than {len(folds) - 1:,}", max_folds)
        return tuple(folds)

    def make_inner_folds(self, data: SplitInput, rows: np.ndarray, folds: int, seed: int) -> list[TwoParts]:
        """Divide the training rows of a split into inner folds, keeping together the same rows as the splits.

        The proportions of the classes are kept.

        Parameters
        ----------
        data : SplitInput
            The information about all n rows.
        rows : ndarray of int
            The numbers of the training rows.
        folds : int
            At least 2.
        seed : int

        Returns
        -------
        list of (ndarray of int, ndarray of int)
            The positions among ``rows`` to fit on, and those to score on.

        Raises
        ------
        UserError
            There are too few rows, groups or points in time.
        """
        y = data.y[rows]
        units = data.units
        if units is not None:
            units = units[rows]
        elif len(np.unique(rows)) < len(rows):
            # The copies of a row that was drawn several times belong together.
            units = rows
        counts = np.unique(y, return_counts=True)[1]  # (c,)
        can_stratify = data.is_classification and counts.min() >= 2 and counts.max() >= folds
        with refusing(f"use fewer than {folds} folds (tuning.folds, calibration.folds, threshold.folds)"):
            if units is not None:
                n_units = len(np.unique(units))
                if n_units < folds:  # scikit-learn allows it for stratified folds
                    raise ValueError(f"{folds} folds, but there are {n_units} groups")
                k_fold = model_selection.StratifiedGroupKFold if can_stratify else model_selection.GroupKFold
            else:
                k_fold = model_selection.StratifiedKFold if can_stratify else model_selection.KFold
            splitter = k_fold(folds, shuffle=True, random_state=seed)
            # A class with fewer rows than folds is in only some folds, but in every part to fit on.
            return list(splitter.split(rows, y, units))

    def make_strata(self, data: SplitInput) -> np.ndarray | None:
        """Return the stratum of each row, shape (n,), or None if the parts are random.

        Strata are the classes, or intervals of a numeric target with about the same number of rows each. Intervals with
        the same limits, which result from many equal targets, are merged.

        Raises
        ------
        UserError
            The target is not numeric, but has intervals.

        References
        ----------
        Kohavi, R. (1995). A study of cross-validation and bootstrap for accuracy estimation and model selection. IJCAI,
        1137-1143, for classes; Breiman, L. and Spector, P. (1992). Submodel selection and evaluation in regression.
        International Statistical Review 60, 291-319, for intervals of the target.
        """
        if data.is_classification:
            if self.target_bins is not None:
                raise UserError(
                    f"evaluation.target_bins={self.target_bins} applies to numeric targets, but this target has "
                    "classes, which evaluation.stratify stratifies; remove evaluation.target_bins."
                )
            return data.y if self.stratify else None
        if self.target_bins is None:
            return None
        intervals: np.ndarray = pd.qcut(data.y, self.target_bins, labels=False, duplicates="drop")
        return intervals

    def make_full_split(self, data: SplitInput, seed: int, *, with_validation: bool) -> Split:
        """Return the split with no test rows, which fits on all rows as far as the evaluation allows it.

        Parameters
        ----------
        data : SplitInput
            The information about n rows.
        seed : int
        with_validation : bool
            Whether to set aside a validation part, as in every split of the evaluation.

        Raises
        ------
        UserError
            There are too few rows for a validation part.
        """
        rows = self._list_full_rows(data)  # (at most n,)
        train, validation = self._set_validation_aside(rows, data, seed) if with_validation else (rows, NO_ROWS)
        return Split(train, validation, test=NO_ROWS)

    def _list_full_rows(self, data: SplitInput) -> np.ndarray:
        """Return the rows on which a model may be fitted if none is tested: all of them."""
        return np.arange(len(data.y))

    def _set_validation_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> TwoParts:
        """Divide the rows that are not tested into training and validation rows."""
        if self.validation == 0:
            return rest, NO_ROWS
        n_rows = round(self.validation * len(data.y))
        if n_rows >= len(rest):
            raise UserError(
                f"evaluation.validation={self.validation} sets {n_rows} rows aside, which leaves no rows for training; "
                f"only {len(rest)} are not tested, so use a smaller fraction."
            )
        return partition_rows(rest, n_rows, data, self.make_strata(data), seed)


def _refuse_folds(n_folds: str, max_folds: int) -> UserError:
    """Return the error for more splits than are allowed or fit into memory."""
    return UserError(
        f"evaluation would fit {n_folds} folds, but max_folds={max_folds}, and the row numbers of all folds may "
        f"use {MAX_BYTES / 1e9:.0f} GB; use fewer folds, repeats or rows."
    )


def merge_rarest(strata: np.ndarray, n_most: int) -> np.ndarray:
    """Return strata (m,) with at least two rows each, and at most ``n_most`` of them; the rarest become one.

    Parameters
    ----------
    strata : ndarray of shape (m,)
    n_most : int
        The number of rows of the smaller part, which cannot have a row of more strata.
    """
    codes, counts = np.unique(strata, return_inverse=True, return_counts=True)[1:]
    n_single = int((counts < 2).sum())
    n_merged = max(len(counts) - n_most + 1, n_single, 2 * min(n_single, 1))
    ranks = np.argsort(np.argsort(counts, kind="stable"))  # (c,), the rarest first
    return strata if n_merged < 2 else np.maximum(ranks[codes], n_merged - 1)


def partition_rows(rows: np.ndarray, n_second: int, data: SplitInput, strata: np.ndarray | None, seed: int) -> TwoParts:
    """Shuffle rows and divide them into two parts.

    Parameters
    ----------
    rows : ndarray of int
        Row numbers.
    n_second : int
        The number of rows of the second part; about that many if rows have groups, since groups stay whole.
    data : SplitInput
        The information about all rows.
    strata : ndarray of shape (n,) or None
        The strata of all rows; both parts keep their proportions as far as they have rows, unless rows have groups.
    seed : int

    Returns
    -------
    first, second : ndarray of int

    Raises
    ------
    ValueError
        There are too few rows or groups.
    """
    if data.groups is not None:
        splitter = model_selection.GroupShuffleSplit(1, test_size=n_second / len(rows), random_state=seed)
        first, second = next(splitter.split(rows, groups=data.groups[rows]))
        return rows[first], rows[second]
    labels = None if strata is None else merge_rarest(strata[rows], min(n_second, len(rows) - n_second))
    first, second = model_selection.train_test_split(rows, test_size=n_second, stratify=labels, random_state=seed)
    # Rows keep the order of the dataset: the shuffle only determines the parts.
    return np.sort(first), np.sort(second)
