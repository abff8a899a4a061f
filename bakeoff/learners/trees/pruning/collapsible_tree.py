"""A tree whose subtrees are collapsed one after another while its loss, leaves and depth are updated.

Collapsing a node changes only the losses of its descendants and ancestors. A heap contains every inner node with its
current cost; when the cost of an ancestor changes, the ancestor is pushed again, and its old entry is skipped when it
is popped. Cost: O(k log k · depth) for k nodes, in practice O(k log k).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.tree import Tree


class NodeLosses(NamedTuple):
    """The losses on a set of rows at each of k nodes.

    Attributes
    ----------
    as_leaf : ndarray of shape (k,)
        The loss of the node if it were a leaf.
    of_subtree : ndarray of shape (k,)
        The loss of the subtree at the node; at a leaf, this is the loss of the leaf.
    magnitude : float
        The magnitude of the sums from which the losses are computed as differences; their rounding is relative to it.
    """

    as_leaf: np.ndarray
    of_subtree: np.ndarray
    magnitude: float = 0.0


class PruningStep(NamedTuple):
    """One collapse: the node (-1 for the unpruned tree), its cost, and leaves, depth and loss of the tree after it."""

    node: int
    cost: float
    leaves: int
    depth: int
    loss: float


class CollapsibleTree:
    """A tree that is being pruned.

    Parameters
    ----------
    tree : Tree
        It is not modified.
    losses : NodeLosses

    Attributes
    ----------
    steps : list of PruningStep
        The unpruned tree, followed by every collapse so far.
    is_inner : list of k bool
        Whether each node still has a subtree.
    as_leaf, of_subtree : list of k float
        The losses as in `NodeLosses`, for the current tree.
    leaves : list of k int
        The number of leaves of the subtree at each node.
    depth : int
        The depth of the whole tree.
    """

    def __init__(self, tree: Tree, losses: NodeLosses) -> None:
        n_leaves = tree.sum_over_subtrees(tree.is_leaf.astype(np.intp))  # (k,)
        depth_of_leaves = tree.depth[tree.is_leaf]
        leaves_at_depth = np.bincount(depth_of_leaves, minlength=tree.max_depth + 1)
        # Use lists: pruning proceeds node by node, for which Python's numbers are faster than NumPy's.
        self.as_leaf: list[float] = losses.as_leaf.tolist()
        self.of_subtree: list[float] = losses.of_subtree.tolist()
        self.leaves: list[int] = n_leaves.tolist()
        self.is_inner: list[bool] = (~tree.is_leaf).tolist()
        self.depth = tree.max_depth
        self.steps: list[PruningStep] = []
        self._parent: list[int] = tree.parent.tolist()
        self._first_child: list[int] = tree.first_child.tolist()
        self._n_children: list[int] = tree.n_children.tolist()
        self._depth: list[int] = tree.depth.tolist()
        self._leaves_at_depth: list[int] = leaves_at_depth.tolist()
        self._record_step(node=-1, cost=0.0)

    def loss_increase(self, node: int) -> float:
        """Return the increase of the loss of the tree if the node becomes a leaf."""
        return self.as_leaf[node] - self.of_subtree[node]

    def collapse(self, node: int, cost: float) -> None:
        """Turn an inner node into a leaf, and append the step."""
        increase = self.loss_increase(node)
        fewer_leaves = self.leaves[node] - 1
        self._remove_subtree(node)
        self.of_subtree[node] = self.as_leaf[node]
        self.leaves[node] = 1
        for above in self._ancestors(node):
            self.of_subtree[above] += increase
            self.leaves[above] -= fewer_leaves
        self._record_step(node, cost)

    def _record_step(self, node: int, cost: float) -> None:
        leaves = self.leaves[0]
        loss = self.of_subtree[0]
        self.steps.append(PruningStep(node, cost, leaves, self.depth, loss))

    def _remove_subtree(self, node: int) -> None:
        """Remove the leaves below a node from the counts by depth, and count the node as a leaf."""
        stack = [node]
        while stack:  # every node is removed at most once over all collapses
            below = stack.pop()
            if self.is_inner[below]:
                self.is_inner[below] = False
                first = self._first_child[below]
                stack.extend(range(first, first + self._n_children[below]))
            else:
                self._leaves_at_depth[self._depth[below]] -= 1
            self._n_children[below] = 0
        self._leaves_at_depth[self._depth[node]] += 1
        while self._leaves_at_depth[self.depth] == 0:
            self.depth -= 1

    def _ancestors(self, node: int) -> Iterator[int]:
        above = self._parent[node]
        while above >= 0:
            yield above
            above = self._parent[above]

    def collapse_cheapest_first(self, cost: Callable[[float, int], float], limit: float) -> None:
        """Repeatedly collapse the inner node with the smallest cost until all costs exceed the limit.

        Among equal costs, the node with the lowest number comes first, which is nearest to the root and leftmost.

        Parameters
        ----------
        cost : callable
            The cost of a collapse, given the increase of the loss and the number of leaves of the subtree.
        limit : float
        """

        def present_cost(node: int) -> float:
            return cost(self.loss_increase(node), self.leaves[node])

        inner = [node for node, is_inner in enumerate(self.is_inner) if is_inner]
        heap = [(present_cost(node), node) for node in inner]
        heapq.heapify(heap)
        while heap:
            cheapest, node = heapq.heappop(heap)
            # The node has been removed, or its cost has changed and another entry contains the current cost.
            if not self.is_inner[node] or cheapest != present_cost(node):
                continue
            if cheapest > limit:
                return
            self.collapse(node, cheapest)
            for above in self._ancestors(node):
                heapq.heappush(heap, (present_cost(above), above))


def list_collapsed_nodes(steps: list[PruningStep]) -> np.ndarray:
    """Return the nodes collapsed by the steps, in order: shape (s,)."""
    nodes = [step.node for step in steps if step.node >= 0]
    return np.array(nodes, dtype=np.intp)
