"""Pseudo-counts of single nominal columns: Dirichlet parameters in place of the one number for all columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def read_pseudo_counts(
    given: Mapping[Any, Any], names: Sequence[str], categories: Sequence[np.ndarray | None], c: int
) -> dict[int, np.ndarray]:
    """Return pseudo-counts by the position of their column; arrays broadcast to (c, k) for a column of k values.

    Parameters
    ----------
    given : mapping
        Column name or position -> pseudo-counts.
    names : sequence of str
        The names of the d columns, or none.
    categories : sequence of d ndarray or None
        The values of each nominal column.
    c : int
        Number of classes.

    Raises
    ------
    ValueError
        A column that is not nominal, or pseudo-counts of a wrong shape or sign.
    """
    read: dict[int, np.ndarray] = {}
    for column, counts in given.items():
        j = names.index(column) if column in names else column
        is_position = isinstance(j, int) and 0 <= j < len(categories)
        values = categories[j] if is_position else None
        if values is None:
            raise ValueError(f"feature_alpha names {column!r}, which is not a nominal column of X.")
        read[j] = _check_pseudo_counts(counts, column, len(values), c)
    return read


def _check_pseudo_counts(given: Any, column: Any, k: int, c: int) -> np.ndarray:
    """Return the pseudo-counts given for a column of k values: shape (), (k,) or (c, k)."""
    pseudo_count = np.array(given, dtype=np.float64)
    valid = np.isfinite(pseudo_count) & (pseudo_count >= 0)
    if pseudo_count.shape not in {(), (k,), (c, k)} or not valid.all():
        raise ValueError(
            f"feature_alpha for column {column!r} must be finite numbers ≥ 0: one, one per value ({k}), or one per "
            f"class and value ({c}, {k}); "
            f"given shape {pseudo_count.shape}, smallest {pseudo_count.min(initial=0.0)}."
        )
    return pseudo_count
