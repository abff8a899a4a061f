"""The interface of a metric: coordinates of rows, and distances between coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np


class Metric(ABC):
    """Abstract: coordinates of rows, and distances between them.

    Attributes
    ----------
    unit : float
        The factor by which the distances below must be multiplied: a power of two, 1 for ordinary data.
    """

    unit: float = 1.0

    def measure_magnitudes(self, Q: np.ndarray) -> np.ndarray:
        """Return the magnitude of queries Q (e, m), to which the rounding of their distances is relative: (m,).

        It is 0 where rounding is relative to the distance alone.
        """
        return np.zeros(Q.shape[1])

    @abstractmethod
    def compute_coordinates(self, C: np.ndarray) -> np.ndarray:
        """Return the coordinates (e, m) of rows C (d, m), which may be overwritten.

        C contains the rows column by column; see `bakeoff.learners.knn.metric.coordinates.copy_transposed`.
        """

    @abstractmethod
    def measure_all_pairs(self, Q: np.ndarray, T: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return all distances between Q (e, m) and T (e, n): shape (m, n).

        ``missing`` is whether there may be NaN.
        """

    @abstractmethod
    def measure_pairs(
        self, Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray, *, missing: bool
    ) -> np.ndarray:
        """Return the distances between columns Q[:, query[i]] and T[:, row[i]]: shape of ``query``."""
