"""Rows and groups that are in more than one part of a split."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bakeoff.pipeline.stages.dataset import Dataset
    from bakeoff.pipeline.stages.splitting import Split, Splits


def list_fitted_rows(split: Split) -> np.ndarray:
    """Return the rows of a split on which something is fitted or chosen: training rows, then validation rows."""
    return np.concatenate([split.train, split.validation])


def find_shared_rows(splits: Splits) -> str:
    """Return a sentence on rows that a fold both fits or chooses on and tests; empty if there are none."""
    for number, split in enumerate(splits.folds):
        n_shared = int(np.isin(split.test, list_fitted_rows(split)).sum())
        if n_shared:
            return (
                f"evaluation: fold {number} would use {n_shared} of its {len(split.test)} test rows as training "
                "or validation rows too."
            )
    return ""


def count_divided_groups(dataset: Dataset, splits: Splits) -> Iterator[str]:
    """Yield a sentence if the rows of a group are in several parts of a fold; only known groups are examined."""
    if dataset.groups is None:
        return
    codes = np.unique(dataset.groups, return_inverse=True)[1]  # (n,)
    is_divided = find_divided_values(codes, splits)
    n_divided = int(is_divided.sum())
    if n_divided:
        yield (
            f"dataset={dataset.name}: {n_divided} of {len(is_divided)} groups have rows in several parts of a "
            "fold, so that models are tested on groups that they were trained on; use evaluation=group_kfold or "
            "holdout."
        )


def find_divided_values(codes: np.ndarray, splits: Splits) -> np.ndarray:
    """Return for each code whether its rows are in several parts of a fold.

    Parameters
    ----------
    codes : ndarray of shape (n,), int
        Codes from 0 to v - 1.
    splits : Splits

    Returns
    -------
    ndarray of shape (v,), bool
    """
    is_divided = np.zeros(codes.max() + 1, dtype=bool)  # (v,)
    for split in splits.folds:
        n_parts = np.zeros(len(is_divided), dtype=np.int8)  # (v,)
        for rows in (split.train, split.validation, split.test):
            is_in_part = np.zeros(len(is_divided), dtype=bool)  # (v,)
            # Assigning by code counts a value once per part, however many of its rows are there.
            is_in_part[codes[rows]] = True
            n_parts += is_in_part
        is_divided |= n_parts > 1
    return is_divided


def count_copies(dataset: Dataset, splits: Splits) -> Iterator[str]:
    """Yield a sentence if rows are tested by a model that was fitted on copies of them.

    A model can repeat the answer for such a row without having learned anything. In a small dataset with few or rounded
    values, a copy may well be another case that happens to be equal, so this only causes a warning.

    Parameters
    ----------
    dataset : Dataset
    splits : Splits
    """
    codes = dataset.row_codes  # (n,)
    # Most datasets have no equal rows, and then the splits do not need to be examined.
    is_repeated = np.bincount(codes)[codes] > 1  # (n,)
    if not is_repeated.any():
        return
    is_copy = np.zeros(len(codes), dtype=bool)  # (n,)
    is_tested = np.zeros(len(codes), dtype=bool)  # (n,)
    for split in splits.folds:
        is_tested[split.test] = True
        candidates = split.test[is_repeated[split.test]]
        has_known_copy = np.isin(codes[candidates], codes[list_fitted_rows(split)])
        is_copy[candidates[has_known_copy]] = True
    n_copies = int(is_copy.sum())
    if n_copies:
        yield (
            f"dataset={dataset.name}: {n_copies} of {is_tested.sum()} test rows are identical, including the "
            "target, to rows of the training or validation part; if they are duplicates, remove them."
        )
