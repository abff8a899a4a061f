"""The first best of many candidate splits: of each (feature, node) pair, of each node, and among features.

Candidates are in ascending order of their pair, slot * m + node, so that the best of a pair is one segmented maximum.
Ties go to the first candidate: the lowest feature, and then the lowest threshold.
"""

from __future__ import annotations

import numpy as np


def mark_first_of_runs(keys: np.ndarray) -> np.ndarray:
    """Return whether each key (q,) is the first of its run of equal keys: (q,)."""
    changes = keys[1:] != keys[:-1]
    return np.concatenate([[True], changes])


def find_first_of_pairs(merit: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """Return the index of the first largest merit of each run of equal pairs (q,), where it is finite."""
    begin = np.flatnonzero(mark_first_of_runs(pair))
    length = np.diff(begin, append=pair.size)
    largest = np.maximum.reduceat(merit, begin)
    hits = np.flatnonzero(merit == np.repeat(largest, length))
    is_first_hit = mark_first_of_runs(pair[hits])
    first = hits[is_first_hit]
    return first[np.isfinite(merit[first])]


def find_first_of_nodes(merit: np.ndarray, node: np.ndarray, m: int) -> np.ndarray:
    """Return the index of the first largest merit (q,) of each of the m nodes that has a finite one, by node."""
    largest = np.full(m, -np.inf)
    np.maximum.at(largest, node, merit)
    largest[np.isneginf(largest)] = np.inf  # equals no merit
    hits = np.flatnonzero(merit == largest.take(node))
    # Of several hits in a node the last one written stays, which in reversed order is the first.
    hits = hits[::-1]
    first = np.full(m, -1)
    first[node.take(hits)] = hits
    return first[first >= 0]


def choose_pairs(merit: np.ndarray, pair: np.ndarray, n_slots: int, m: int) -> np.ndarray:
    """Return the index of the pair (q,) of largest merit of each of the m nodes that has a finite one, by node."""
    if pair.size == 0:
        return np.empty(0, dtype=np.intp)
    # Lay the pairs out as a table of slots by nodes; argmax takes the first slot of the largest merit.
    candidate = np.full(n_slots * m, -1)
    candidate[pair] = np.arange(pair.size)
    merit_of_pair = np.where(candidate >= 0, merit[candidate], -np.inf)
    table = merit_of_pair.reshape(n_slots, m)
    best_slot = np.argmax(table, axis=0)  # (m,)
    chosen = candidate[best_slot * m + np.arange(m)]
    has_split = np.isfinite(table.max(axis=0))
    return chosen[has_split]


def compute_split_information(share: np.ndarray) -> np.ndarray:
    """Return the entropy in bits of the branch sizes ``share`` and the rest, for shares strictly between 0 and 1.

    C4.5 divides the gain by this *split information*.
    """
    rest = 1 - share
    return -(share * np.log2(share) + rest * np.log2(rest))
