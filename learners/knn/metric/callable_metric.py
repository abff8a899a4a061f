"""A distance that the user supplies: any function of two rows.

It can be used only with brute force, because all other searches rely on properties of the metric.

Cost: one call per pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bakeoff.learners.knn.metric.base import Metric


class CallableMetric(Metric):
    """A metric that is computed by a function of two rows, with nominal cells as codes.

    Parameters
    ----------
    function : callable
        From two arrays of shape (d,) to a number of at least 0.
    parameters : dict
        Additional keyword arguments of the function.
    """

    def __init__(self, function: Callable[..., float], parameters: dict[str, Any]) -> None:
        self.function = function
        self.parameters = parameters

    def compute_coordinates(self, C: np.ndarray) -> np.ndarray:
        """Return C (d, m) itself."""
        return C

    def measure_all_pairs(self, Q: np.ndarray, T: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return all distances between Q (d, m) and T (d, n): shape (m, n)."""
        m = Q.shape[1]
        n = T.shape[1]
        query, row = np.divmod(np.arange(m * n), n)
        return self.measure_pairs(Q, query, T, row, missing=missing).reshape(m, n)

    def measure_pairs(
        self, Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray, *, missing: bool
    ) -> np.ndarray:
        """Return the distances between columns Q[:, query[i]] and T[:, row[i]]: shape of ``query``.

        Raises
        ------
        ValueError
            The function returned NaN or a negative number.
        """
        queries = np.ascontiguousarray(Q.T)  # (m, d)
        rows = np.ascontiguousarray(T.T)  # (n, d)
        pairs = zip(query.tolist(), row.tolist(), strict=True)
        values = (self.function(queries[i], rows[j], **self.parameters) for i, j in pairs)
        distance = np.fromiter(values, dtype=np.float64, count=query.size)
        valid = distance >= 0
        if not valid.all():
            wrong = distance[~valid][0]
            raise ValueError(f"metric: the callable gave {wrong} for two rows; a distance must be 0 or more.")
        return distance
