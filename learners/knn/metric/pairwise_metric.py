"""Metrics that compare two numeric rows as wholes, and distances that are given as a matrix.

    cosine 1 - x·z / ‖x‖‖z‖,    canberra Σ |x_j - z_j| / (|x_j| + |z_j|),    jaccard, of the cells that are not 0, …

SciPy's ``cdist`` computes them, except haversine: the angle on a sphere between two points (latitude, longitude) in
radians. A tree cannot use them, because they are no p-norms, so that every distance is computed.

Cost: O(d) per pair; O(1) for given distances.

References
----------
M. M. Deza, E. Deza, "Encyclopedia of Distances", Springer, 4th ed., 2016.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
from scipy.spatial.distance import cdist

from bakeoff.learners.knn.metric.base import Metric
from bakeoff.learners.knn.metric.names import BOOLEAN_METRICS

SPHERE_COLUMNS = 2


@final
class PairwiseMetric(Metric):
    """One of SciPy's metrics, or haversine, over complete numeric columns.

    Parameters
    ----------
    name : str
        One of `bakeoff.learners.knn.metric.names.PAIRWISE_METRICS`.
    parameters : dict
        Keyword arguments of the metric.
    """

    def __init__(self, name: str, parameters: dict[str, Any]) -> None:
        self.name = name
        self.parameters = parameters

    def compute_coordinates(self, C: np.ndarray) -> np.ndarray:
        """Return C (d, m), stored so that each row's cells are adjacent.

        Raises
        ------
        ValueError
            The metric is haversine, and there are other than two columns.
        """
        if self.name == "haversine" and C.shape[0] != SPHERE_COLUMNS:
            raise ValueError(
                f"Haversine distance only valid in 2 dimensions, latitude and longitude in radians; X has {C.shape[0]}."
            )
        return np.asfortranarray(C)

    def measure_magnitudes(self, Q: np.ndarray) -> np.ndarray:
        """Return the distances of queries Q (d, m) from the origin, or 1 for metrics that are fractions: (m,)."""
        if self.name not in ("seuclidean", "sqeuclidean"):
            return np.ones(Q.shape[1])
        origin = np.zeros((Q.shape[0], 1))
        return self.measure_all_pairs(Q, origin, missing=False)[:, 0]

    def measure_all_pairs(self, Q: np.ndarray, T: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return all distances between Q (d, m) and T (d, n): shape (m, n).

        Raises
        ------
        ValueError
            A distance is not defined, as that of a row of zeros by its angle.
        """
        if self.name == "haversine":
            distance = _measure_angles(Q, T)
        elif self.name in BOOLEAN_METRICS:
            distance = cdist(Q.T != 0, T.T != 0, self.name)
        else:
            distance = cdist(Q.T, T.T, self.name, **self.parameters)
        if np.isnan(distance).any():
            raise ValueError(
                f"metric={self.name!r} is not defined for some rows (zeros or constants in every column); drop them, "
                "or choose another metric."
            )
        return np.maximum(distance, 0.0)  # rounding may give -1e-16

    def measure_pairs(
        self, Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray, *, missing: bool
    ) -> np.ndarray:
        """Return the distances between columns Q[:, query[i]] and T[:, row[i]]: shape of ``query``."""
        return self.measure_all_pairs(Q, T, missing=missing)[query, row]


@final
class PrecomputedMetric(Metric):
    """Distances that are given: the cells of X are the distances to the training rows.

    Parameters
    ----------
    positions : ndarray of shape (n,), int
        The column of each stored row.
    """

    def __init__(self, positions: np.ndarray) -> None:
        self.positions = positions

    def compute_coordinates(self, C: np.ndarray) -> np.ndarray:
        """Return the distances (n, m) of m queries to the stored rows.

        Raises
        ------
        ValueError
            A distance is negative.
        """
        if C.size and C.min() < 0:
            raise ValueError("Negative values in data passed to precomputed distance matrix.")
        return C[self.positions]

    def measure_all_pairs(self, Q: np.ndarray, T: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return Q (n, m) itself, by query: shape (m, n)."""
        return np.array(Q.T, order="C")

    def measure_pairs(
        self, Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray, *, missing: bool
    ) -> np.ndarray:
        """Return the given distances of pairs of query and stored row: shape of ``query``."""
        return Q[row, query]


def _measure_angles(Q: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return the angles between points Q (2, m) and T (2, n) on a sphere, in radians: shape (m, n)."""
    half_difference = (Q[:, :, None] - T[:, None, :]) / 2  # (2, m, n)
    square = np.sin(half_difference) ** 2
    cosines = np.cos(Q[0])[:, None] * np.cos(T[0])[None, :]  # (m, n)
    chord = square[0] + cosines * square[1]
    return 2 * np.arcsin(np.sqrt(np.minimum(chord, 1.0)))
