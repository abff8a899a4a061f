"""The choice of a search: all searches find the same neighbours, so the fastest one that supports the rows is used."""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.knn.metric.base import Metric
from bakeoff.learners.knn.metric.minkowski import MinkowskiMetric
from bakeoff.learners.knn.metric.names import NON_METRICS
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
        ``"kd_tree"`` was requested and does not support these rows, or ``"ball_tree"`` this metric.
    """
    brute_force = choose_brute_force(metric, T)
    _check_tree(metric, algorithm, metric_name, missing=brute_force.missing)
    has_boxes = isinstance(metric, MinkowskiMetric) and metric.p >= 1 and not metric.nominal.any()
    if not isinstance(metric, MinkowskiMetric) or not has_boxes or brute_force.missing:
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
    if algorithm == "ball_tree" or (algorithm == "auto" and n >= min_tree_rows):
        return SciPyKDTree(metric, T, leaf_size)
    return brute_force


def _check_tree(metric: Metric, algorithm: str, metric_name: Any, *, missing: bool) -> None:
    """Refuse a tree for distances without the triangle inequality, on which every tree relies."""
    if algorithm not in ("ball_tree", "kd_tree"):
        return
    if isinstance(metric, MinkowskiMetric) and metric.p < 1:
        raise ValueError(
            f'algorithm="{algorithm}" does not support 0 < p < 1 for the Minkowski metric. To resolve this problem '
            'either set p >= 1 or algorithm="brute".'
        )
    is_unfit = isinstance(metric_name, str) and metric_name in NON_METRICS
    if is_unfit or (missing and algorithm == "ball_tree"):
        raise ValueError(
            f"algorithm={algorithm!r} supports complete columns and metrics with the triangle inequality, but "
            f"metric={metric_name!r} or X has others; use algorithm='brute'."
        )


def choose_brute_force(metric: Metric, T: np.ndarray) -> BruteForce:
    """Return the fastest search that compares all pairs of a query and a row of T (e, n)."""
    if can_count_matches(metric, T):
        return SimpleMatchingSearch(metric, T)
    return BruteForce(metric, T)
