"""Best-first order: of all splits that are open, the one of largest gain is made next.

Growing stops after so many leaves in this order (``max_leaf_nodes``), and the trees of smaller limits are the first
splits of it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np


def order_best_first(
    root: int, gain: np.ndarray, first_child: np.ndarray, n_children: np.ndarray
) -> Iterator[tuple[int, int]]:
    """Yield the splits below a root in best-first order; of equal gains the node of lowest number is first.

    Parameters
    ----------
    root : int
    gain : ndarray of shape (k,)
        The gain of each node's split, times the node's weight.
    first_child, n_children : ndarray of shape (k,), int
        Child of branch b is first_child + b; a node without a split has 0 children.

    Yields
    ------
    node : int
    leaves : int
        The number of leaves of the tree after this split.
    """
    gains = gain.tolist()
    first = first_child.tolist()
    count = n_children.tolist()
    # A heap of the nodes that can be split next: the smallest entry is the one of largest gain.
    heap = [(-gains[root], root)] if count[root] else []
    leaves = 1
    while heap:
        _, node = heapq.heappop(heap)
        leaves += count[node] - 1
        yield node, leaves
        for child in range(first[node], first[node] + count[node]):
            if count[child]:
                heapq.heappush(heap, (-gains[child], child))
