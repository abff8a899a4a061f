"""Divisions of rows, by whole groups or with each stratum in proportion: two parts, or the inner folds of a split.

Strata are the classes, or the intervals of a numeric target.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    train_test_split,
)

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.splits import SplitInput


def make_strata(data: SplitInput, *, stratify: bool, target_bins: int | None) -> np.ndarray | None:
    """Return the stratum of each row; None if the parts are left to chance.

    Parameters
    ----------
    data : SplitInput
        Of n rows.
    stratify : bool
        Whether classes are strata.
    target_bins : int or None
        The number of intervals of a numeric target, with about the same number of rows each. Intervals with the same
        limits, which many equal targets cause, become one.

    Returns
    -------
    ndarray of shape (n,) or None

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
        if target_bins is not None:
            raise UserError(
                f"evaluation.target_bins={target_bins} divides a numeric target, but this target has classes, which "
                "evaluation.stratify keeps in proportion; leave evaluation.target_bins out."
            )
        return data.y if stratify else None
    if target_bins is None:
        return None
    intervals: np.ndarray = pd.qcut(data.y, target_bins, labels=False, duplicates="drop")
    return intervals


def count_rarest(strata: np.ndarray) -> tuple[str, int]:
    """Return the stratum with the fewest rows as text, and their number."""
    values, counts = np.unique(strata, return_counts=True)
    position = counts.argmin()
    return str(values[position]), int(counts[position])


def partition_rows(
    rows: np.ndarray, n_second: int, data: SplitInput, *, strata: np.ndarray | None, key: str, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Shuffle rows and divide them into two parts.

    Parameters
    ----------
    rows : ndarray of int
        Row numbers.
    n_second : int
        The number of rows of the second part; about that many if rows have groups, since groups stay whole.
    data : SplitInput
        Of all rows.
    strata : ndarray of shape (n,) or None
        Of all rows; both parts hold each in proportion, unless rows have groups.
    key : str
        The key of ``evaluation`` that sets the size, for messages.
    seed : int

    Returns
    -------
    first, second : ndarray of int

    Raises
    ------
    UserError
        A class has too few rows, or there are too few groups.
    """
    if data.groups is not None:
        return _partition_groups(rows, n_second, data.groups[rows], key=key, seed=seed)
    labels = None if strata is None else strata[rows]
    try:
        first, second = train_test_split(rows, test_size=n_second, stratify=labels, random_state=seed)
    except ValueError as error:
        assert labels is not None
        raise UserError(_explain_strata(len(rows), n_second, labels, data, key)) from error
    # In the order of the dataset: the shuffle decides the parts, and nothing else.
    return np.sort(first), np.sort(second)


def _explain_strata(n: int, n_second: int, labels: np.ndarray, data: SplitInput, key: str) -> str:
    """Return why a part of n rows, whose strata are given, cannot hold every stratum in proportion."""
    rarest, fewest = count_rarest(labels.astype(str))
    n_strata = len(np.unique(labels))
    part = f"evaluation.{key} ({n_second} of {n} rows)"
    if not data.is_classification:
        return (
            f"{part} cannot hold every interval of the target in proportion: there are {n_strata}, and one has "
            f"{fewest} of the rows. Change its size, or set a smaller evaluation.target_bins."
        )
    return (
        f"{part} cannot hold every class in proportion: there are {n_strata}, and {rarest!r} has {fewest} of the rows. "
        "Change its size, or set evaluation.stratify=false."
    )


def _partition_groups(
    rows: np.ndarray, n_second: int, groups: np.ndarray, *, key: str, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Shuffle the groups and move some to the second part, so that it holds about ``n_second`` rows."""
    splitter = GroupShuffleSplit(1, test_size=n_second / len(rows), random_state=seed)
    try:
        first, second = next(splitter.split(rows, groups=groups))
    except ValueError as error:
        n_groups = len(np.unique(groups))
        raise UserError(
            f"evaluation.{key} is {n_second} of {len(rows)} rows, but they form too few groups "
            f"({n_groups}) to leave some for both parts; choose another fraction."
        ) from error
    return rows[first], rows[second]


def make_inner_folds(data: SplitInput, rows: np.ndarray, folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Divide some rows into folds, with each class in proportion, and the rows of a group in one fold.

    Parameters
    ----------
    data : SplitInput
        Of all n rows.
    rows : ndarray of int
        The numbers of the rows to divide; a row that is there several times, as in a bootstrap sample, is in one fold.
    folds : int
        At least 2, and at most the number of rows or of groups.
    seed : int

    Returns
    -------
    list of (ndarray of int, ndarray of int)
        The positions among ``rows`` to fit on, and those of the fold.
    """
    y = data.y[rows]
    groups = find_units(data, rows)
    can_stratify = False
    if data.is_classification:
        counts = np.unique(y, return_counts=True)[1]  # (c,)
        can_stratify = counts.min() >= 2 and counts.max() >= folds
    if groups is None:
        k_fold = StratifiedKFold if can_stratify else KFold
    else:
        k_fold = StratifiedGroupKFold if can_stratify else GroupKFold
    splitter = k_fold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # A class of fewer rows than folds is in some folds only, and still in every part to fit on.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(splitter.split(rows, y, groups))


def make_inner_time_folds(
    data: SplitInput, rows: np.ndarray, folds: int, gap: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Divide some rows in the order of time: each fold follows the rows to fit on.

    Parameters
    ----------
    data : SplitInput
        Of all n rows.
    rows : ndarray of int
        The numbers of the rows to divide.
    folds : int
        At least 2, and fewer than there are points in time.
    gap : int
        The number of points in time that are left out before each fold.

    Returns
    -------
    list of (ndarray of int, ndarray of int)
        The positions among ``rows`` to fit on, and those of the fold.
    """
    codes = np.unique(data.time_codes[rows], return_inverse=True)[1]
    splitter = TimeSeriesSplit(folds, gap=gap)
    made = []
    for fitted_times, fold_times in splitter.split(np.arange(codes.max() + 1)):
        fitted = np.flatnonzero(codes <= fitted_times[-1])
        made.append((fitted, np.flatnonzero(np.isin(codes, fold_times))))
    return made


def find_units(data: SplitInput, rows: np.ndarray) -> np.ndarray | None:
    """Return a label for each of some rows, equal for rows that belong in one fold; None if none belong together.

    Parameters
    ----------
    data : SplitInput
        Of all n rows.
    rows : ndarray of int
        A row that is there several times, as in a bootstrap sample, belongs together with itself.
    """
    # The rows of a fold that the user gives belong together, for a reason that only the user knows.
    together = data.folds if data.folds is not None else data.groups
    if together is not None:
        return together[rows]
    return rows if len(np.unique(rows)) < len(rows) else None
