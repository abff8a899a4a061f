"""What a search for neighbours is: training coordinates stored, the nearest of a block of queries returned.

Every search returns the same rows and bit-identical distances; they differ in cost only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from bakeoff.learners.knn.metric.minkowski import Metric, has_missing


class Search(ABC):
    """Abstract: finds neighbours among stored rows.

    Parameters
    ----------
    metric : Metric
    T : ndarray of shape (e, n)
        Training coordinates, column by column.
    """

    def __init__(self, metric: Metric, T: np.ndarray) -> None:
        self.metric = metric
        self.T = T
        self.missing = has_missing(T)

    @abstractmethod
    def choose_block_size(self, *, whole_ties: bool) -> int:
        """Return how many queries to give at once, so that memory stays bounded."""

    @abstractmethod
    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and distances (in the space's unit) of the k nearest to Q (e, m), each of shape (m, K).

        Ordered by distance, then row.  K is k; with ``whole_ties``, as many as are as near as the k-th (see
        `bakeoff.learners.knn.search.ranking.rank_pairs`).
        """
