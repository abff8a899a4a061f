"""Best-first order: of all possible next splits, the one with the largest gain is made first.

A tree with at most ``max_leaf_nodes`` leaves consists of the first splits in this order, so the trees for all values
of this limit are nested.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from bakeoff.learners.trees.criteria import TIE_TOLERANCE


def rank_gains(gain: np.ndarray) -> list[int]:
    """Return the rank of each of k gains, the largest first; gains that are equal but for rounding share a rank."""
    order = np.argsort(-gain)  # (k,)
    descending = gain[order]
    is_smaller = descending[1:] < descending[:-1] * (1 - TIE_TOLERANCE)
    rank = np.zeros(gain.size, dtype=np.intp)
    rank[order[1:]] = np.cumsum(is_smaller)
    ranks: list[int] = rank.tolist()
    return ranks


def order_best_first(
    root: int, rank: list[int], first_child: list[int], n_children: list[int]
) -> Iterator[tuple[int, int]]:
    """Yield the splits below a root in best-first order; among equal gains, the node with the lowest number is first.

    Parameters
    ----------
    root : int
    rank : list of k int
        The rank of the gain of each node's split times the node's weight, as from `rank_gains`.
    first_child, n_children : list of k int
        The child of branch b is first_child + b; a node without a split has 0 children.

    Yields
    ------
    node : int
    leaves : int
        The number of leaves of the tree after this split.
    """
    # A heap of the nodes that can be split next: its smallest entry has the largest gain.
    heap = [(rank[root], root)] if n_children[root] else []
    leaves = 1
    while heap:
        _, node = heapq.heappop(heap)
        leaves += n_children[node] - 1
        yield node, leaves
        first = first_child[node]
        for child in range(first, first + n_children[node]):
            if n_children[child]:
                heapq.heappush(heap, (rank[child], child))
