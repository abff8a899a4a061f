"""Columns that say much the same: permuted one by one, none of them seems to matter."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from bakeoff.pipeline.inspection.association import measure_association
from bakeoff.pipeline.stages.preprocessing.column_kinds import DATE, NUMERIC, TEXT, find_kind

MIN_ASSOCIATION = 0.5
"""Half of the variance of one column is explained by the other."""
MAX_COLUMNS = 40
"""Pairs among more columns than this would take longer than the importances."""
MIN_ROWS = 30


def find_related_columns(X: pd.DataFrame, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return groups of columns, in each of which every column explains another one or is explained by it.

    Parameters
    ----------
    X : DataFrame of shape (m, d)
    columns : sequence of str
        Those to look at, the most important first; of more than `MAX_COLUMNS`, the first ones.

    Returns
    -------
    list of tuple of str
        At least two columns each, in the order of `columns`.
    """
    looked_at = [name for name in columns if find_kind(X[name].dtype) != TEXT][:MAX_COLUMNS]
    group_of = {name: number for number, name in enumerate(looked_at)}
    for one, other in combinations(looked_at, 2):
        if group_of[one] != group_of[other] and _are_related(X[one], X[other]):
            joined, left = sorted((group_of[one], group_of[other]))
            group_of = {name: joined if group == left else group for name, group in group_of.items()}
    groups: dict[int, list[str]] = {}
    for name, group in group_of.items():
        groups.setdefault(group, []).append(name)
    return [tuple(names) for names in groups.values() if len(names) > 1]


def _are_related(one: pd.Series, other: pd.Series) -> bool:
    return _explain(one, other) >= MIN_ASSOCIATION or _explain(other, one) >= MIN_ASSOCIATION


def _explain(column: pd.Series, explained: pd.Series) -> float:
    """Return the fraction of the variance of a column that another explains, in the rows where it is known."""
    is_known = explained.notna()
    if is_known.sum() < MIN_ROWS:
        return 0.0
    target = _as_target(explained[is_known])
    association = measure_association(column[is_known], target)
    return 0.0 if np.isnan(association) else association


def _as_target(column: pd.Series) -> np.ndarray:
    """Return a column as the target of a measure: numbers as their ranks, so that few large ones do not decide."""
    if find_kind(column.dtype) in (NUMERIC, DATE):
        return column.rank().to_numpy(dtype=np.float64)
    return column.astype(str).to_numpy(dtype=object)
