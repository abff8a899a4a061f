"""Which search for neighbours is taken: all find the same, so the fastest that can."""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.knn.metric.minkowski import Metric, MinkowskiMetric
from bakeoff.learners.knn.search.base import Search
from bakeoff.learners.knn.search.kd_tree import KDTree
from bakeoff.learners.knn.search.scipy_kd_tree import SciPyKDTree
from bakeoff.learners.knn.search.simple_matching import SimpleMatchingSearch

MIN_TREE_ROWS_BY_COLUMNS = (0, 500, 500, 500, 2000, 3000, 10000, 100000, 2**62)
"""From how many rows on SciPy's tree finds neighbours faster than brute force, by the number of columns (measured)."""


def choose_algorithm(metric: Metric, T: np.ndarray, algorithm: str, leaf_size: int, metric_name: Any) -> Search:
    """Return the search that ``algorithm`` names, or that is likely fastest.

    Parameters
    ----------
    metric : Metric
    T : ndarray of shape (e, n)
        Coordinates of the training rows.
    algorithm, leaf_size
        As of `bakeoff.learners.KNeighborsClassifier`.
    metric_name : str or callable
        The parameter ``metric``, for the message.

    Raises
    ------
    ValueError
        Our kd-tree was asked for and cannot hold such rows.
    """
    brute_force = SimpleMatchingSearch.over(metric, T)
    if not isinstance(metric, MinkowskiMetric) or metric.nominal.any() or brute_force.missing:
        if algorithm == "kd_tree":
            raise ValueError(
                "algorithm='kd_tree' takes numeric columns and a p-norm, but "
                f"metric={metric_name!r} or X has others; take algorithm='brute'."
            )
        return brute_force
    if algorithm == "kd_tree":
        return KDTree(metric, T, leaf_size)
    e, n = T.shape
    if algorithm == "auto" and n >= MIN_TREE_ROWS_BY_COLUMNS[min(e, len(MIN_TREE_ROWS_BY_COLUMNS) - 1)]:
        return SciPyKDTree(metric, T, leaf_size)
    return brute_force
