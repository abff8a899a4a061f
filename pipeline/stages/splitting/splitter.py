"""The common part of all splitters: checks of arguments, the validation part, and the split of the run's model."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import ClassVar

import numpy as np
import pandas as pd
from sklearn import model_selection

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.partition import count_rarest, partition_rows
from bakeoff.pipeline.stages.splitting.splits import MAX_LISTED_ROWS, FoldStream, Split, SplitInput, Splits
from bakeoff.pipeline.text.words import count_nouns

DEFAULT_MAX_FOLDS = 100_000


def require_few_folds(n_folds: int, max_folds: int) -> None:
    """Reject more splits than are allowed.

    Parameters
    ----------
    n_folds : int
        How many the evaluation makes, by arithmetic.
    max_folds : int
        The value of the key.
    """
    if max_folds < 1:
        raise UserError(f"max_folds={max_folds} must be a positive number of folds.")
    if n_folds > max_folds:
        raise UserError(
            f"evaluation would fit {n_folds:,} folds (its folds, repeats, groups or rows), but max_folds={max_folds}; "
            "ask for fewer, or set a larger max_folds."
        )


def require_fraction(key: str, value: float, *, allow_zero: bool) -> None:
    """Reject a value that is not a fraction in (0, 1), or in [0, 1) if zero is allowed."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and (0 < value < 1 or (allow_zero and value == 0)):
        return
    lower_bound = "at least 0" if allow_zero else "above 0"
    raise UserError(f"evaluation.{key}={value!r} must be a fraction {lower_bound} and below 1.")


def require_count(key: str, value: int | None, *, at_least: int) -> None:
    """Reject a value that is not an integer, or is too small."""
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise UserError(f"evaluation.{key}={value!r} must be an integer of at least {at_least}.")


def require_rows_per_fold(data: SplitInput, folds: int, strata: np.ndarray | None) -> None:
    """Reject more folds than rows and, if folds should contain every stratum, more folds than rows of a stratum."""
    if len(data.y) < folds:
        raise UserError(f"evaluation.folds={folds}, but there are {len(data.y)} rows; use fewer folds.")
    if strata is None:
        return
    rarest, fewest = count_rarest(strata)
    if fewest >= folds:
        return
    if not data.is_classification:
        raise UserError(
            f"evaluation.folds={folds}, but an interval of the target has {count_nouns(fewest, 'row')}; use a "
            "smaller evaluation.target_bins, or fewer folds."
        )
    remedy = f"has {fewest} rows; use at most {fewest} folds, or" if fewest > 1 else "has 1 row; drop it, or set"
    raise UserError(f"evaluation.folds={folds}, but class {rarest!r} {remedy} evaluation.stratify=false.")


def require_whole_groups(groups: np.ndarray | None, parts: np.ndarray, key: str) -> None:
    """Reject user-defined parts that separate rows of a group.

    Parameters
    ----------
    groups : ndarray of shape (n,) or None
        None if rows have no groups.
    parts : ndarray of shape (n,)
        Rows with different values are separated.
    key : str
        The key that gives the parts.
    """
    if groups is None:
        return
    codes = np.unique(groups, return_inverse=True)[1]  # (n,)
    part_codes = np.unique(parts, return_inverse=True)[1]  # (n,)
    pairs = np.unique(np.column_stack([codes, part_codes]), axis=0)  # (pairs, 2)
    n_parts = np.bincount(pairs[:, 0])  # by group
    n_divided = int((n_parts > 1).sum())
    if n_divided:
        raise UserError(
            f"{key} puts the rows of {n_divided} of {len(n_parts)} groups into different parts; correct the column, "
            "or remove dataset.groups."
        )


NO_ROWS = np.empty(0, dtype=np.intp)


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
        The number of intervals of a numeric target that every part holds in proportion, at least 2; by default the
        parts are left to chance.
    """

    validation: float = 0.0
    stratify: bool = True
    target_bins: int | None = None

    keeps_groups: ClassVar[bool] = False
    """Whether the rows of a group stay in one part."""
    keeps_order: ClassVar[bool] = False
    """Whether each part follows, in time, the rows that it is predicted from; without times, rows are in order."""
    keeps_parts: ClassVar[bool] = False
    """Whether each row stays in its user-defined part."""
    keeps_folds: ClassVar[bool] = False
    """Whether each row is tested in its user-defined fold."""
    repeats_rows: ClassVar[bool] = False
    """Whether a row may occur several times in a training part."""

    def __post_init__(self) -> None:
        require_fraction("validation", self.validation, allow_zero=True)
        if self.target_bins is None:
            return
        require_count("target_bins", self.target_bins, at_least=2)
        if not self.stratify:
            raise UserError(
                f"evaluation.target_bins={self.target_bins} keeps intervals of the target in proportion, but "
                "evaluation.stratify=false leaves the parts to chance; give one of the two."
            )

    @abstractmethod
    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows for training and validation, and the rows for testing, of each split."""

    def count_splits(self, data: SplitInput) -> int | None:
        """Return the number of splits, by arithmetic; None if it is known only when they are made.

        Parameters
        ----------
        data : SplitInput
        """
        return None

    def make_splits(self, data: SplitInput, seed: int, max_folds: int = DEFAULT_MAX_FOLDS) -> Splits:
        """Return all splits of an evaluation.

        Parameters
        ----------
        data : SplitInput
            Of n rows.
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
        self._require_columns_kept(data)
        n_folds = self.count_splits(data)
        require_few_folds(n_folds or 0, max_folds)
        if n_folds is not None and n_folds * len(data.y) > MAX_LISTED_ROWS:
            stream = FoldStream(partial(self._iter_splits, data, seed), n_folds)
            refit = self._make_refit_split(data, seed)
            return Splits(stream, refit, definition=self._define_splits(data, seed))
        folds = tuple(islice(self._iter_splits(data, seed), max_folds + 1))
        require_few_folds(len(folds), max_folds)
        return Splits(folds, self._make_refit_split(data, seed))

    def _iter_splits(self, data: SplitInput, seed: int) -> Iterator[Split]:
        """Yield the splits, each with its validation part."""
        for rest, test in self.iter_outer_splits(data, seed):
            train, validation = self._set_validation_aside(rest, data, seed)
            yield Split(train, validation, test)

    def _define_splits(self, data: SplitInput, seed: int) -> str:
        """Return a text that determines the test rows and the other rows of each split."""
        keys = sorted(name for name in self.__dataclass_fields__ if name != "validation")
        values = [f"{name}={getattr(self, name)!r}" for name in keys]
        return "\n".join([type(self).__qualname__, *values, f"seed={seed}", data.digest()])

    def make_inner_folds(
        self, data: SplitInput, rows: np.ndarray, folds: int, seed: int
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Divide the training rows of a split into inner folds that keep the same rows together as the splits.

        Each class is held in proportion.

        Parameters
        ----------
        data : SplitInput
            Of all n rows.
        rows : ndarray of int
            The numbers of the training rows.
        folds : int
            At least 2.
        seed : int

        Returns
        -------
        list of (ndarray of int, ndarray of int)
            The positions among ``rows`` to fit on, and those to score on.
        """
        y = data.y[rows]
        groups = find_units(data, rows)
        can_stratify = False
        if data.is_classification:
            counts = np.unique(y, return_counts=True)[1]  # (c,)
            can_stratify = counts.min() >= 2 and counts.max() >= folds
        if groups is None:
            k_fold = model_selection.StratifiedKFold if can_stratify else model_selection.KFold
        else:
            k_fold = model_selection.StratifiedGroupKFold if can_stratify else model_selection.GroupKFold
        splitter = k_fold(folds, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            # A class of fewer rows than folds is in some folds only, and still in every part to fit on.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            return list(splitter.split(rows, y, groups))

    def require_inner_folds(self, data: SplitInput, rows: np.ndarray, folds: int, key: str) -> None:
        """Reject more inner folds than the training rows of a split have groups, given folds or distinct rows.

        Parameters
        ----------
        data : SplitInput
            Of all n rows.
        rows : ndarray of int
            The numbers of the training rows.
        folds : int
        key : str
            The key that sets the number of folds, for messages.
        """
        units = find_units(data, rows)
        n_units = len(np.unique(rows if units is None else units))
        if folds <= n_units:
            return
        noun = "rows"
        if data.folds is not None:
            noun = "given folds"
        elif data.groups is not None:
            noun = "groups"
        raise UserError(f"{key}={folds}, but the smallest training part has {n_units} {noun}; use fewer folds.")

    def make_strata(self, data: SplitInput) -> np.ndarray | None:
        """Return the stratum of each row, shape (n,), or None if the parts are left to chance.

        Strata are the classes, or intervals of a numeric target with about the same number of rows each. Intervals with
        the same limits, which many equal targets cause, become one.

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
                    f"evaluation.target_bins={self.target_bins} divides a numeric target, but this target has classes, "
                    "which evaluation.stratify keeps in proportion; leave evaluation.target_bins out."
                )
            return data.y if self.stratify else None
        if self.target_bins is None:
            return None
        intervals: np.ndarray = pd.qcut(data.y, self.target_bins, labels=False, duplicates="drop")
        return intervals

    def _require_columns_kept(self, data: SplitInput) -> None:
        """Reject splits that would ignore groups, parts, folds or times of the rows."""
        if data.groups is not None and not self.keeps_groups:
            raise UserError(
                "dataset.groups is given, and this evaluation would split groups; "
                "use evaluation=group_kfold, leave_one_group_out or holdout, or remove dataset.groups."
            )
        if data.parts is not None and not self.keeps_parts:
            raise UserError(
                "dataset.split or dataset.test_path says which rows are tested, and this evaluation would choose "
                "others; use evaluation=fixed, or remove that key."
            )
        if data.folds is not None and not self.keeps_folds:
            raise UserError(
                "dataset.folds says in which fold each row is tested, and this evaluation would ignore it; "
                "use evaluation=fixed_folds, or remove dataset.folds."
            )
        if data.times is not None and not self.keeps_order:
            raise UserError(
                "dataset.time is given, and this evaluation would mix past and future; "
                "use evaluation=time_series or time_holdout, or remove dataset.time."
            )

    def make_full_split(self, data: SplitInput, seed: int, *, with_validation: bool) -> Split:
        """Return the split that tests nothing and fits on all rows, as far as the evaluation allows it.

        Parameters
        ----------
        data : SplitInput
            Of n rows.
        seed : int
        with_validation : bool
            Whether to set the validation part aside that every split of the evaluation has.

        Raises
        ------
        UserError
            There are too few rows for a validation part.
        """
        rows = self._list_full_rows(data)  # (at most n,)
        train, validation = rows, NO_ROWS
        if with_validation:
            train, validation = self._set_validation_aside(rows, data, seed)
        return Split(train, validation, test=NO_ROWS)

    def _make_refit_split(self, data: SplitInput, seed: int) -> Split | None:
        """Return the split of the run's model; None if it is the scored model."""
        return self.make_full_split(data, seed, with_validation=True)

    def _list_full_rows(self, data: SplitInput) -> np.ndarray:
        """Return the rows that a model may be fitted on if none is tested: all of them."""
        return np.arange(len(data.y))

    def _set_validation_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Divide the rows that are not tested into training and validation rows."""
        if self.validation == 0:
            return rest, np.empty(0, dtype=np.intp)
        n_validation = self._count_validation_rows(len(data.y), len(rest))
        return partition_rows(rest, n_validation, data, strata=self.make_strata(data), key="validation", seed=seed)

    def _count_validation_rows(self, n: int, n_rest: int) -> int:
        n_validation = round(self.validation * n)
        if not 0 < n_validation < n_rest:
            raise UserError(
                f"evaluation.validation={self.validation} is {n_validation} of {n} rows, and {n_rest} remain "
                "besides the test part; choose a fraction that leaves rows for both parts."
            )
        return n_validation


def find_units(data: SplitInput, rows: np.ndarray) -> np.ndarray | None:
    """Return a label for each of some rows, equal for rows that belong in one fold; None if none belong together.

    Parameters
    ----------
    data : SplitInput
        Of all n rows.
    rows : ndarray of int
        A row that is there several times, as in a bootstrap sample, belongs together with itself.
    """
    # The rows of a user-defined fold belong together, for a reason known only to the user.
    together = data.folds if data.folds is not None else data.groups
    if together is not None:
        return together[rows]
    return rows if len(np.unique(rows)) < len(rows) else None
