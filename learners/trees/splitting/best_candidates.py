"""The first best of many candidate splits: of each (feature, node) pair, of each node, and among features.

Candidates are in ascending order of their pair, slot * m + node, so that the best of a pair is one segmented maximum.
Ties go to the first candidate: the lowest feature, and then the lowest threshold. A merit ties with the largest one if
it reaches its bound (see `Criterion.bound_ties`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bakeoff.learners.trees.criteria import ROUND_OFF

BoundTies = Callable[[np.ndarray, np.ndarray | None], np.ndarray]
"""From the largest merit of some nodes (k,), and these nodes (k,) or None for all, to the least that ties: (k,)."""


def mark_first_of_runs(keys: np.ndarray) -> np.ndarray:
    """Return whether each key (q,) is the first of its run of equal keys: (q,)."""
    changes = keys[1:] != keys[:-1]
    return np.concatenate([[True], changes])


def find_first_of_pairs(merit: np.ndarray, pair: np.ndarray, m: int, bound_ties: BoundTies) -> np.ndarray:
    """Return the index of the first largest merit of each run of equal pairs (q,), where it is finite."""
    begin = np.flatnonzero(mark_first_of_runs(pair))
    length = np.diff(begin, append=pair.size)
    largest = np.maximum.reduceat(merit, begin)
    largest[largest == -np.inf] = np.inf  # is reached by no merit
    bound = bound_ties(largest, pair[begin] % m)
    hits = np.flatnonzero(merit >= np.repeat(bound, length))
    if hits.size == 0:
        return hits
    is_first_hit = mark_first_of_runs(pair[hits])
    return hits[is_first_hit]


def find_largest_of_nodes(merit: np.ndarray, node: np.ndarray, m: int) -> np.ndarray:
    """Return the largest merit (q,) of each of the m nodes, or +inf, which no merit reaches: (m,)."""
    largest = np.full(m, -np.inf)
    np.maximum.at(largest, node, merit)
    largest[largest == -np.inf] = np.inf
    return largest


def find_first_of_nodes(merit: np.ndarray, node: np.ndarray, m: int, bound_ties: BoundTies) -> np.ndarray:
    """Return the index of the first largest merit (q,) of each of the m nodes that has a finite one, by node."""
    largest = find_largest_of_nodes(merit, node, m)
    bound = bound_ties(largest, None)
    hits = np.flatnonzero(merit >= bound.take(node))
    # Of several hits in a node the last one written stays, which in reversed order is the first.
    hits = hits[::-1]
    first = np.full(m, -1)
    first[node.take(hits)] = hits
    return first[first >= 0]


def choose_pairs(
    merit: np.ndarray,
    pair: np.ndarray,
    n_slots: int,
    m: int,
    bound_ties: BoundTies,
) -> np.ndarray:
    """Return the index of the pair (q,) of largest merit of each of the m nodes that has a finite one, by node."""
    if pair.size == 0:
        return np.empty(0, dtype=np.intp)
    # Lay the pairs out as a table of slots by nodes; argmax takes the first slot whose merit reaches the bound.
    candidate = np.full(n_slots * m, -1)
    candidate[pair] = np.arange(pair.size)
    merit_of_pair = np.where(candidate >= 0, merit[candidate], -np.inf)
    table = merit_of_pair.reshape(n_slots, m)
    largest = table.max(axis=0)  # (m,)
    has_split = np.isfinite(largest)
    largest[~has_split] = np.inf
    best_slot = np.argmax(table >= bound_ties(largest, None), axis=0)  # (m,)
    chosen = candidate[best_slot * m + np.arange(m)]
    return chosen[has_split]


def compute_gain_ratio(gain: np.ndarray, branches: Sequence[np.ndarray], total: np.ndarray) -> np.ndarray:
    """Return gains (q,) over the entropy in bits of branches of weights (q,), of nodes of weight ``total`` (q,): (q,).

    C4.5 divides the gain by this *split information*.
    """
    # A gain of 0, but for rounding, would be magnified by a small split information.
    gain = np.where(gain > ROUND_OFF, gain, 0.0)
    information = np.zeros(total.shape)
    for weight in branches:
        share = weight / total
        # An empty branch adds 0 log2(1).
        bits = np.log2(share, out=np.zeros(share.shape), where=share > 0)
        bits *= share
        information -= bits
    return gain / information
