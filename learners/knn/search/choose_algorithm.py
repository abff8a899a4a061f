"""Which search for neighbours is taken: all find the same, so the fastest that can."""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.knn.metric.minkowski import NormSpace, Space
from bakeoff.learners.knn.search.base import Search
from bakeoff.learners.knn.search.kd_tree import KDTree
from bakeoff.learners.knn.search.scipy_kd_tree import SciPyTree
from bakeoff.learners.knn.search.simple_matching import NominalSearch

TREE_ROWS = (0, 500, 500, 500, 2000, 3000, 10000, 100000, 2**62)
"""From how many rows on SciPy's tree finds neighbours faster than brute force, by the number of columns (measured)."""


def choose_search(space: Space, T: np.ndarray, algorithm: str, leaf_size: int, metric: Any) -> Search:
    """Return the search that ``algorithm`` names, or that is likely fastest.

    Parameters
    ----------
    space : Space
    T : ndarray of shape (e, n)
        Coordinates of the training rows.
    algorithm, leaf_size, metric
        As of `bakeoff.learners.KNeighborsClassifier`.

    Raises
    ------
    ValueError
        Our kd-tree was asked for and cannot hold such rows.
    """
    brute_force = NominalSearch.over(space, T)
    if not isinstance(space, NormSpace) or space.nominal.any() or brute_force.missing:
        if algorithm == "kd_tree":
            raise ValueError(
                "algorithm='kd_tree' takes numeric columns and a p-norm, but "
                f"metric={metric!r} or X has others; take algorithm='brute'."
            )
        return brute_force
    if algorithm == "kd_tree":
        return KDTree(space, T, leaf_size)
    e, n = T.shape
    if algorithm == "auto" and n >= TREE_ROWS[min(e, len(TREE_ROWS) - 1)]:
        return SciPyTree(space, T, leaf_size)
    return brute_force
