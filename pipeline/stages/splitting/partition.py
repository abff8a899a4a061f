"""One division of rows into two parts, by whole groups or with each class in proportion."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.splits import SplitInput


def partition_rows(
    rows: np.ndarray, n_second: int, data: SplitInput, *, stratify: bool, key: str, seed: int
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
    stratify : bool
        Keep each class's proportion in both parts.
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
    labels = data.y[rows] if stratify and data.is_classification else None
    try:
        first, second = train_test_split(rows, test_size=n_second, stratify=labels, random_state=seed)
    except ValueError as error:
        classes, counts = np.unique(data.y[rows].astype(str), return_counts=True)
        rarest = str(classes[counts.argmin()])
        raise UserError(
            f"evaluation.{key} ({n_second} of {len(rows)} rows) cannot hold every class in proportion: there are "
            f"{len(classes)}, and {rarest!r} has {counts.min()} of the rows. Change its size, or set "
            "evaluation.stratify=false."
        ) from error
    # In the order of the dataset: the shuffle decides the parts, and nothing else.
    return np.sort(first), np.sort(second)


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
