"""Inner folds: the training rows of a split, divided once more."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, TimeSeriesSplit

from bakeoff.pipeline.stages.splitting.splits import SplitInput


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
