"""The choice of a search: all searches find the same neighbours, so the fastest one that supports the rows is used."""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.knn.metric.base import Metric
from bakeoff.learners.knn.metric.minkowski import MinkowskiMetric
from bakeoff.learners.knn.search.base import Search
from bakeoff.learners.knn.search.brute_force import BruteForce
from bakeoff.learners.knn.search.kd_tree import KDTree
from bakeoff.learners.knn.search.scipy_kd_tree import SciPyKDTree
from bakeoff.learners.knn.search.simple_matching import SimpleMatchingSearch, can_count_matches

MIN_TREE_ROWS_BY_COLUMNS = (0, 500, 500, 500, 2000, 3000, 10000, 100000, 2**62)
"""The number of rows from which SciPy's tree is faster than brute force, by the number of columns (measured)."""


def choose_algorithm(metric: Metric, T: np.ndarray, algorithm: str, leaf_size: int, metric_name: Any) -> Search:
    """Return the search that ``algorithm`` names, or the one that is probably the fastest.

    Parameters
    ----------
    metric : Metric
    T : ndarray of shape (e, n)
        Coordinates of the training rows.
    algorithm, leaf_size
        As in `bakeoff.learners.KNeighborsClassifier`.
    metric_name : str or callable
        The parameter ``metric``, for the error message.

    Raises
    ------
    ValueError
        ``"kd_tree"`` was requested and does not support these rows.
    """
    brute_force = choose_brute_force(metric, T)
    if not isinstance(metric, MinkowskiMetric) or metric.nominal.any() or brute_force.missing:
        if algorithm == "kd_tree":
            raise ValueError(
                "algorithm='kd_tree' supports numeric columns and a p-norm, but "
                f"metric={metric_name!r} or X has others; use algorithm='brute'."
            )
        return brute_force
    if algorithm == "kd_tree":
        return KDTree(metric, T, leaf_size)
    e, n = T.shape
    min_tree_rows = MIN_TREE_ROWS_BY_COLUMNS[min(e, len(MIN_TREE_ROWS_BY_COLUMNS) - 1)]
    if algorithm == "auto" and n >= min_tree_rows:
        return SciPyKDTree(metric, T, leaf_size)
    return brute_force


def choose_brute_force(metric: Metric, T: np.ndarray) -> BruteForce:
    """Return the fastest search that compares all pairs of a query and a row of T (e, n)."""
    if can_count_matches(metric, T):
        return SimpleMatchingSearch(metric, T)
    return BruteForce(metric, T)
