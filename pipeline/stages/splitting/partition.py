"""One division of rows into two parts, by whole groups or with each stratum in proportion."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import (
    GroupShuffleSplit,
    train_test_split,
)

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.splits import SplitInput


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
    """Return why a part of n rows, with given strata, cannot contain every stratum in proportion."""
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
    """Shuffle the groups and move some to the second part, so that it has about ``n_second`` rows."""
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
