"""The interface of a search for neighbours: training coordinates are stored, and the rows nearest to queries are found.

Every search returns the same rows and bit-identical distances; searches differ only in cost.

Notation, in all searches: n stored rows, m query rows, e coordinates, k requested and K returned neighbours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from bakeoff.learners.knn.metric.base import Metric
from bakeoff.learners.knn.metric.coordinates import has_missing
from bakeoff.learners.knn.search.ranking import TIE_PRECISION


class Search(ABC):
    """Abstract: a search for neighbours among stored rows.

    Parameters
    ----------
    metric : Metric
    T : ndarray of shape (e, n)
        Training coordinates, column by column.

    Attributes
    ----------
    missing : bool
        Whether a coordinate of T is missing.
    """

    def __init__(self, metric: Metric, T: np.ndarray) -> None:
        self.metric = metric
        self.T = T
        self.missing = has_missing(T)

    def measure_slack(self, Q: np.ndarray, *, whole_ties: bool) -> np.ndarray | None:
        """Return by how much rounding may change distances from queries Q (e, m): (m,), None without ``whole_ties``."""
        if not whole_ties:
            return None
        return self.metric.measure_magnitudes(Q) * TIE_PRECISION

    @abstractmethod
    def choose_block_size(self, *, whole_ties: bool) -> int:
        """Return the number of queries to search for at once, so that memory stays bounded."""

    @abstractmethod
    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows nearest to each query and their distances.

        Parameters
        ----------
        Q : ndarray of shape (e, m)
            The queries' coordinates, column by column.
        k : int
            From 1 to n.
        whole_ties : bool
            Return all rows that are as near as the k-th, but for rounding, instead of the first k.

        Returns
        -------
        rows : ndarray of shape (m, K), int
            By distance, then row; see `bakeoff.learners.knn.search.ranking.rank_pairs`. K is k without ``whole_ties``.
        distances : ndarray of shape (m, K)
            In the metric's unit.
        """
