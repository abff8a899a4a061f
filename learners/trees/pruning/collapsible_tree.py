"""Pruning one node after another: at each step the inner node of smallest cost becomes a leaf.

Removing the subtree below a node changes the losses below it and below its ancestors, and nothing else.  So a heap
holds every inner node under its present cost; when an ancestor's cost changes it is put in again, and the old entry is
skipped when it comes up.  Cost: O(k log k · depth) for k nodes, in practice O(k log k).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.tree import Tree


class PruningStep(NamedTuple):
    """One removal: the node, its cost, and leaves, depth and loss of the whole tree after it."""

    node: int
    cost: float
    leaves: int
    depth: int
    loss: float


class CollapsibleTree:
    """A tree that loses subtrees, with its loss, leaves and depth kept up to date.

    Parameters
    ----------
    tree : Tree
    as_leaf : ndarray of shape (k,)
        The loss at each node if it were a leaf.
    below : ndarray of shape (k,)
        The loss of the subtree at each node (at a leaf: the same).
    """

    def __init__(self, tree: Tree, as_leaf: np.ndarray, below: np.ndarray) -> None:
        self.tree = tree
        self.as_leaf: list[float] = as_leaf.tolist()
        self.below: list[float] = below.tolist()
        self.leaves: list[int] = tree.sum_over_subtrees(tree.is_leaf.astype(np.intp)).tolist()
        self.inner: list[bool] = (~tree.is_leaf).tolist()
        self.parent: list[int] = tree.parent.tolist()
        self._first: list[int] = tree.first_child.tolist()
        self._count: list[int] = tree.n_children.tolist()
        self._depth: list[int] = tree.depth.tolist()
        self._leaves_at = np.bincount(tree.depth[tree.is_leaf], minlength=tree.max_depth + 1).tolist()
        self.depth = tree.max_depth

    def collapse(self, node: int, cost: float) -> PruningStep:
        """Make a leaf of the node."""
        saved, fewer = self.as_leaf[node] - self.below[node], self.leaves[node] - 1
        stack = [node]
        while stack:  # every node disappears once in all
            below = stack.pop()
            if self.inner[below]:
                self.inner[below] = False
                stack.extend(range(self._first[below], self._first[below] + self._count[below]))
            else:
                self._leaves_at[self._depth[below]] -= 1
            self._count[below] = 0
        self._leaves_at[self._depth[node]] += 1
        while self._leaves_at[self.depth] == 0:
            self.depth -= 1
        self.below[node], self.leaves[node] = self.as_leaf[node], 1
        above = self.parent[node]
        while above >= 0:
            self.below[above] += saved
            self.leaves[above] -= fewer
            above = self.parent[above]
        return PruningStep(node, cost, self.leaves[0], self.depth, self.below[0])


def collapse_cheapest_first(
    state: CollapsibleTree, cost: Callable[[float, int], float], limit: float
) -> Iterator[PruningStep]:
    """Collapse the inner node of smallest cost(growth of loss, leaves of its subtree) until all costs exceed the limit.

    Of equal costs the node of lowest number, which is nearest to the root and leftmost.
    """

    def present(node: int) -> float:
        return cost(state.as_leaf[node] - state.below[node], state.leaves[node])

    heap = [(present(node), node) for node in range(len(state.inner)) if state.inner[node]]
    heapq.heapify(heap)
    while heap:
        price, node = heapq.heappop(heap)
        if not state.inner[node] or price != present(node):
            continue
        if price > limit:
            return
        yield state.collapse(node, price)
        above = state.parent[node]
        while above >= 0:
            heapq.heappush(heap, (present(above), above))
            above = state.parent[above]
