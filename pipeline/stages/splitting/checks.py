"""Checks of the arguments of splitters, with messages that name the key, the value and the remedy."""

from __future__ import annotations

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.splits import SplitInput
from bakeoff.pipeline.stages.splitting.strata import count_rarest
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
    """Reject more folds than rows and, if every fold is to hold every stratum, more folds than rows of a stratum."""
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
    """Reject parts that the user gives if they separate rows of a group.

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
