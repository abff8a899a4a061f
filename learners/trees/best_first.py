"""Best-first order: of all possible next splits, the one with the largest gain is made first.

A tree with at most ``max_leaf_nodes`` leaves consists of the first splits in this order, so the trees for all values
of this limit are nested.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator


def order_best_first(
    root: int, gain: list[float], first_child: list[int], n_children: list[int]
) -> Iterator[tuple[int, int]]:
    """Yield the splits below a root in best-first order; among equal gains, the node with the lowest number is first.

    Parameters
    ----------
    root : int
    gain : list of k float
        The gain of each node's split, times the node's weight.
    first_child, n_children : list of k int
        The child of branch b is first_child + b; a node without a split has 0 children.

    Yields
    ------
    node : int
    leaves : int
        The number of leaves of the tree after this split.
    """
    # A heap of the nodes that can be split next: its smallest entry has the largest gain.
    heap = [(-gain[root], root)] if n_children[root] else []
    leaves = 1
    while heap:
        _, node = heapq.heappop(heap)
        leaves += n_children[node] - 1
        yield node, leaves
        first = first_child[node]
        for child in range(first, first + n_children[node]):
            if n_children[child]:
                heapq.heappush(heap, (-gain[child], child))
