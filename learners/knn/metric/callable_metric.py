"""A distance that the user writes: any function of two rows.

Every search but brute force needs to know more of a distance than that.  Cost: one call per pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bakeoff.learners.knn.metric.minkowski import Metric


class CallableMetric(Metric):
    """A distance that the user gives as a function of two rows; nominal cells are codes.

    Parameters
    ----------
    function : callable
        From two arrays of shape (d,) to a number, not negative.
    parameters : dict
        Further keyword arguments of the function.
    """

    def __init__(self, function: Callable[..., float], parameters: dict[str, Any]) -> None:
        self.function = function
        self.parameters = parameters

    def compute_coordinates(self, C: np.ndarray) -> np.ndarray:
        """Return C (d, m) itself."""
        return C

    def measure_all_pairs(self, Q: np.ndarray, T: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return all distances between Q (d, m) and T (d, n): shape (m, n)."""
        query, row = np.divmod(np.arange(Q.shape[1] * T.shape[1]), T.shape[1])
        return self.measure_pairs(Q, query, T, row, missing=missing).reshape(Q.shape[1], T.shape[1])

    def measure_pairs(
        self, Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray, *, missing: bool
    ) -> np.ndarray:
        """Return the distances between columns Q[:, query[i]] and T[:, row[i]]: shape of ``query``.

        Raises
        ------
        ValueError
            The function gave NaN or a negative number.
        """
        left, right = np.ascontiguousarray(Q.T), np.ascontiguousarray(T.T)
        ends = zip(query.tolist(), row.tolist(), strict=True)
        values = (self.function(left[i], right[j], **self.parameters) for i, j in ends)
        distance = np.fromiter(values, dtype=np.float64, count=query.size)
        if not (distance >= 0).all():
            wrong = distance[~(distance >= 0)][0]
            raise ValueError(f"metric: the callable gave {wrong} for two rows; a distance must be 0 or more.")
        return distance
