"""Trees within trees: what one growth tells of every smaller limit.

Depth: the nodes down to depth D are the tree that would have been grown with ``max_depth=D``.  Leaves: best-first
growth makes its splits in an order that does not depend on where it stops.  Cost-complexity: removals for a larger
alpha begin with those for a smaller one (Breiman et al. 1984, theorem 3.10).  So a tree for every value of one of these
parameters costs one growth, and O(k) for each value besides.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bakeoff.learners.trees.pruning.cost_complexity import collapse_weakest_links
from bakeoff.learners.trees.tree import Tree


def order_best_first(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return the inner nodes in the order in which a heap would split them, largest gain first, and leaves after each.

    Of equal gains the node of lowest number.
    """
    gain, first, count = tree.gain.tolist(), tree.first_child.tolist(), tree.n_children.tolist()
    heap = [(-gain[0], 0)] if count[0] else []
    order: list[int] = []
    while heap:
        _, node = heapq.heappop(heap)
        order.append(node)
        for child in range(first[node], first[node] + count[node]):
            if count[child]:
                heapq.heappush(heap, (-gain[child], child))
    nodes = np.array(order, dtype=np.intp)
    return nodes, 1 + np.cumsum(tree.n_children[nodes] - 1)


def list_splits_beyond(tree: Tree, max_leaf_nodes: float) -> np.ndarray:
    """Return the inner nodes that best-first growth would have left as leaves."""
    nodes, leaves = order_best_first(tree)
    return nodes[np.searchsorted(leaves, max_leaf_nodes, side="right") :]


def nest_trees(full: Tree, parameter: str, values: Sequence[Any]) -> Callable[[Any], Tree]:
    """Return a function from values of ``"max_leaf_nodes"`` or ``"ccp_alpha"`` to trees; the work is shared by all."""
    if parameter == "max_leaf_nodes":
        nodes, leaves = order_best_first(full)

        def within_leaves(value: Any) -> Tree:
            made = nodes.size if value is None else int(np.searchsorted(leaves, value, side="right"))
            return full.collapsed_at(nodes[made:])

        return within_leaves
    steps = collapse_weakest_links(full, max(values))[1:]
    cost = np.maximum.accumulate([step.cost for step in steps])
    removed = np.array([step.node for step in steps], dtype=np.intp)

    def pruned(value: Any) -> Tree:
        return full.collapsed_at(removed[: np.searchsorted(cost, value, side="right") if value > 0 else 0])

    return pruned
