"""A search that caches its results, so that one search can be used for many numbers of neighbours.

Neighbours are ranked, so the k nearest are the first k of the K nearest: a later request for the same queries with
another k is answered from the table for the largest k.

Cost: one search for the first request; O(m(e + k)) for each of the next ones, to compare the queries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.knn.search.base import Search
from bakeoff.learners.knn.search.ranking import take_top_k

MAX_CACHED_NEIGHBOURS = 2**25
"""Neighbours in the cache: half a gigabyte."""


class CachedSearch(Search):
    """A search that uses a cache for any k up to a maximum.

    Parameters
    ----------
    search : Search
        The search that finds the neighbours.
    max_k : int
        The largest number of neighbours in the cache.
    """

    def __init__(self, search: Search, max_k: int) -> None:
        super().__init__(search.metric, search.T)
        self.search = search
        self.max_k = max_k
        self._cache: dict[tuple[Any, ...], tuple[np.ndarray, ...]] = {}  # key of a block -> queries, rows, distances
        self._cached_neighbours = 0

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to save, without the cache."""
        return {**self.__dict__, "_cache": {}, "_cached_neighbours": 0}

    def choose_block_size(self, *, whole_ties: bool) -> int:
        """Return the number of queries to search for at once."""
        return self.search.choose_block_size(whole_ties=whole_ties)

    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest rows of each query in Q (e, m); see `Search.find_nearest`."""
        if k > self.max_k:
            return self.search.find_nearest(Q, k, whole_ties=whole_ties)
        # A block is found by its first query, and then compared as a whole.
        key = (whole_ties, Q.shape, Q[:, 0].tobytes())
        cached = self._cache.get(key)
        if cached is not None and _have_same_bits(cached[0], Q):
            _, rows, distances = cached
        else:
            rows, distances = self.search.find_nearest(Q, self.max_k, whole_ties=whole_ties)
            self._cache_answer(key, Q, rows, distances)
        return take_top_k(rows, distances, k, self.measure_slack(Q, whole_ties=whole_ties))

    def _cache_answer(self, key: tuple[Any, ...], Q: np.ndarray, rows: np.ndarray, distances: np.ndarray) -> None:
        if self._cached_neighbours + rows.size > MAX_CACHED_NEIGHBOURS:
            self._cache = {}
            self._cached_neighbours = 0
        self._cached_neighbours += rows.size
        self._cache[key] = (Q.copy(), rows, distances)


def _have_same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether tables a and b of the same shape are equal bit by bit, so that missing cells compare as equal."""
    bits_a = a.view(np.int64)
    bits_b = np.ascontiguousarray(b).view(np.int64)
    return bool((bits_a == bits_b).all())
