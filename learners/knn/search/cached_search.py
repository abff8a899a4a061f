"""A search whose answers are kept, so that many numbers of neighbours are served by one search.

The k nearest are the first k of the K nearest, and neighbours are ranked: what is asked again with another k is cut
out of the table that was found for the largest.

Cost: of the first answer that of the search; of the next ones O(m(e + k)), to see that the queries are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.knn.search.base import Search
from bakeoff.learners.knn.search.ranking import take_top_k

MAX_CELLS = 2**25
"""Neighbours that are kept at once at most: half a gigabyte."""


class CachedSearch(Search):
    """Answers for any k up to a largest one.

    Parameters
    ----------
    search : Search
        That finds the neighbours.
    largest : int
        The most neighbours that will be asked for.
    """

    def __init__(self, search: Search, largest: int) -> None:
        super().__init__(search.metric, search.T)
        self.search = search
        self.largest = largest
        self._kept: dict[tuple[Any, ...], tuple[np.ndarray, ...]] = {}
        self._cells = 0

    def __getstate__(self) -> dict[str, Any]:
        """Return what is worth saving: answers can be found again."""
        return {**self.__dict__, "_kept": {}, "_cells": 0}

    def choose_block_size(self, *, whole_ties: bool) -> int:
        """Return how many queries to give at once."""
        return self.search.choose_block_size(whole_ties=whole_ties)

    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest of Q (e, m); see `Search.find_nearest`."""
        if k > self.largest:
            return self.search.find_nearest(Q, k, whole_ties=whole_ties)
        key = (whole_ties, Q.shape, Q[:, 0].tobytes())
        queries, rows, distances = self._kept.get(key, (np.empty(0), np.empty(0), np.empty(0)))
        if not _same(queries, Q):
            rows, distances = self.search.find_nearest(Q, self.largest, whole_ties=whole_ties)
            self._keep(key, Q, rows, distances)
        return take_top_k(rows, distances, k, whole_ties=whole_ties)

    def _keep(self, key: tuple[Any, ...], Q: np.ndarray, rows: np.ndarray, distances: np.ndarray) -> None:
        self._cells += rows.size
        if self._cells > MAX_CELLS:
            self._kept, self._cells = {}, rows.size
        self._kept[key] = (Q.copy(), rows, distances)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two tables hold the same bits: a missing cell is then equal to itself."""
    return a.shape == b.shape and bool((a.view(np.int64) == np.ascontiguousarray(b).view(np.int64)).all())
