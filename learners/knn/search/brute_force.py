"""Brute force: every distance is computed, or shown to be irrelevant.

Euclidean distances between many complete rows go through a float32 prefilter first
(`bakeoff.learners.knn.search.float32_prefilter`), and exact distances are computed only for its candidates. For all
other metrics every distance is computed, in tiles that fit into cache.

Cost: O(mne) time, O(block) memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.knn.metric.base import Metric
from bakeoff.learners.knn.metric.coordinates import has_missing
from bakeoff.learners.knn.metric.minkowski import MinkowskiMetric
from bakeoff.learners.knn.search.base import Search
from bakeoff.learners.knn.search.float32_prefilter import Float32Prefilter
from bakeoff.learners.knn.search.ranking import rank_pairs, select_nearest, sort_pairs

CELLS_PER_BLOCK = 2**20
"""Scores that a block of queries should have: 4 MiB in float32, near the cache."""

MAX_CELLS_PER_BLOCK = 2**23
"""Scores that a block of queries may have."""

MIN_QUERIES_PER_PRODUCT = 64
"""Matrix products of fewer queries are slow."""

CELLS_PER_TILE = 2**16
"""Exact distances computed at once: 512 KiB in float64."""

MIN_PREFILTER_ROWS = 100
"""Comparing fewer rows takes no longer than filtering them."""

MIN_PREFILTER_ROWS_PER_NEIGHBOUR = 8
"""With fewer rows for each neighbour the prefilter removes too few."""


class BruteForce(Search):
    """A search that compares every query with every stored row.

    Parameters
    ----------
    metric : Metric
    T : ndarray of shape (e, n)

    Attributes
    ----------
    can_prefilter : bool
        Whether the distances between stored rows and complete queries are Euclidean.
    """

    def __init__(self, metric: Metric, T: np.ndarray) -> None:
        super().__init__(metric, T)
        euclidean = isinstance(metric, MinkowskiMetric) and metric.p == 2 and not metric.nominal.any()
        self.can_prefilter = euclidean and not self.missing
        self._prefilter: Float32Prefilter | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to save, without the prefilter, which the first search that needs it builds."""
        return {**self.__dict__, "_prefilter": None}

    def choose_block_size(self, *, whole_ties: bool) -> int:
        """Return the number of queries to search for at once."""
        n = self.T.shape[1]
        queries = max(1, CELLS_PER_BLOCK // n)
        if whole_ties:
            return queries
        affordable = max(1, MAX_CELLS_PER_BLOCK // n)
        return min(max(MIN_QUERIES_PER_PRODUCT, queries), affordable)

    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest rows of each query in Q (e, m); see `Search.find_nearest`."""
        m = Q.shape[1]
        missing = self.missing or has_missing(Q)
        slack = self.measure_slack(Q, whole_ties=whole_ties)
        candidates = None if missing else self._find_candidates(Q, k, slack)
        if candidates is None:
            query, row, distance = self._compare_all_pairs(Q, k, missing, slack)
        else:
            query, row = sort_pairs(*candidates, self.T.shape[1])
            distance = self.metric.measure_pairs(Q, query, self.T, row, missing=False)
        return rank_pairs(query, row, distance, m, k, slack)

    def _find_candidates(self, Q: np.ndarray, k: int, slack: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the prefilter's pairs of query and row for complete queries, or None if it does not save work."""
        n = self.T.shape[1]
        if not self.can_prefilter or n < MIN_PREFILTER_ROWS or k > n // MIN_PREFILTER_ROWS_PER_NEIGHBOUR:
            return None
        if self._prefilter is None:
            self._prefilter = Float32Prefilter(self.T)
        return self._prefilter.find_candidates(Q, k, slack)

    def _compare_all_pairs(
        self, Q: np.ndarray, k: int, missing: bool, slack: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute every distance, tile by tile; return query, row and distance of the pairs that may be neighbours."""
        step = max(1, CELLS_PER_TILE // self.T.shape[1])
        queries = []
        rows = []
        distances = []
        for start in range(0, Q.shape[1], step):
            block = Q[:, start : start + step]
            slack_of_block = None if slack is None else slack[start : start + step]
            tile = self.metric.measure_all_pairs(block, self.T, missing=missing)  # (block, n)
            query, row = select_nearest(tile, k, slack_of_block)
            queries.append(query + start)
            rows.append(row)
            distances.append(tile[query, row])
        return np.concatenate(queries), np.concatenate(rows), np.concatenate(distances)
