"""Minimal cost-complexity pruning (CART), trees nested in one tree, and the collapse of subtrees that both are made of.

*Cost-complexity*: the smallest subtree T that minimises R(T) + alpha |leaves of T|. The weakest link is the inner node
whose subtree reduces the risk least per leaf beyond the first,

    g(node) = (R(node) - R(subtree at node)) / (leaves of the subtree - 1),

and collapsing weakest links one after another while g is at most alpha yields that subtree.

*Collapsing a node* changes only the losses of its descendants and ancestors. A heap contains every inner node with its
current cost; when the cost of an ancestor changes, the ancestor is pushed again, and its old entry is skipped when it
is popped. Cost: O(k log k · depth) for k nodes, in practice O(k log k).

*Best-first order*: of all possible next splits, the one with the largest gain is made first. A tree with at most
``max_leaf_nodes`` leaves consists of the first splits in this order.

*Nested trees*: the tree for any tighter limit is a part of the tree grown with the loosest limit. Depth: the nodes of
depth at most D form the tree that would have been grown with ``max_depth=D``. Leaves: best-first growth makes splits in
an order that does not depend on where it stops. Cost-complexity: collapses for a larger alpha begin with those for a
smaller one (theorem 3.10). Thus the trees for all values of one of these parameters require growing only one tree, plus
O(k) for each value.

Reference: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984, chapter 3.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import TIE_TOLERANCE
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


def rank_gains(gain: np.ndarray) -> list[int]:
    """Return the rank of each of k gains, the largest first; gains that are equal up to rounding share a rank."""
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
    """Yield the splits below a root in best-first order; among equal gains, the lowest node number comes first.

    Parameters
    ----------
    root : int
    rank : list of k int
        The rank of the gain of each node's split times the node's weight, as returned by `rank_gains`.
    first_child, n_children : list of k int
        The child of branch b is first_child + b; a node without a split has 0 children.

    Yields
    ------
    node : int
    leaves : int
        The number of leaves of the tree after this split.
    """
    # A heap of the nodes that can be split next, whose smallest entry has the largest gain.
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


def collapse_weakest_links(tree: Tree, alpha: float) -> list[PruningStep]:
    """Return the unpruned tree and then the steps of cost-complexity pruning whose costs g are at most alpha.

    Losses are training impurities, weighted by the nodes' shares of the rows.
    """
    weight = tree.weighted_n_node_samples
    as_leaf = tree.impurity * weight / weight[0]  # (k,)
    of_subtree = tree.sum_over_subtrees(np.where(tree.is_leaf, as_leaf, 0.0))
    pruned = CollapsibleTree(tree, NodeLosses(as_leaf, of_subtree))
    pruned.collapse_cheapest_first(lambda increase, leaves: increase / (leaves - 1), limit=alpha)
    return pruned.steps


def prune_to_cost(tree: Tree, ccp_alpha: float) -> Tree:
    """Apply cost-complexity pruning to the tree in place, and return it."""
    if ccp_alpha > 0:
        tree.collapse(list_collapsed_nodes(collapse_weakest_links(tree, ccp_alpha)))
    return tree


def list_alphas(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """List the values of alpha at which the pruned tree changes.

    Returns
    -------
    alphas : ndarray of shape (s,)
        Ascending, starting with 0.
    impurities : ndarray of shape (s,)
        The total impurity of the leaves of the tree pruned with each alpha.
    """
    steps = collapse_weakest_links(tree, np.inf)
    alphas = [0.0]
    impurities = [steps[0].loss]
    for step in steps[1:]:
        # Costs are ascending, up to rounding; steps with equal costs form a single change of the tree.
        if step.cost > alphas[-1]:
            alphas.append(step.cost)
            impurities.append(step.loss)
        else:
            impurities[-1] = step.loss
    return np.array(alphas), np.array(impurities)


def nest_trees(
    full: Tree, parameter: str, values: Sequence[Any], max_leaf_nodes: int | None = None
) -> Callable[[Any], Tree]:
    """Return a function that derives the tree for each value of a parameter from the tree for the loosest value.

    Parameters
    ----------
    full : Tree
        The tree grown with the least restrictive value.
    parameter : {"max_depth", "max_leaf_nodes", "ccp_alpha"}
    values : sequence
        The values that will be requested.
    max_leaf_nodes : int, optional
        A limit that applies in addition to every ``max_depth``; ``full`` was grown without it.

    Returns
    -------
    callable
        Maps a value to a tree; computations shared by the trees are performed only once.
    """
    if parameter == "max_depth":
        return partial(_limit_depth, full, max_leaf_nodes)
    if parameter == "max_leaf_nodes":
        return partial(_limit_leaves, full, *_list_best_first(full))
    steps = collapse_weakest_links(full, max(values))
    # Costs are ascending, up to rounding.
    costs = np.maximum.accumulate([step.cost for step in steps[1:]])
    return partial(_limit_cost, full, list_collapsed_nodes(steps), costs)


def _list_best_first(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return the inner nodes in best-first order, and the number of leaves after each is split: both (s,)."""
    rank = rank_gains(tree.gain)
    first_child = tree.first_child.tolist()
    n_children = tree.n_children.tolist()
    order = list(order_best_first(0, rank, first_child, n_children))
    nodes = np.array([node for node, _ in order], dtype=np.intp)
    leaves = np.array([leaves for _, leaves in order], dtype=np.intp)
    return nodes, leaves


def _limit_depth(full: Tree, max_leaf_nodes: int | None, max_depth: int | None) -> Tree:
    tree = full.cut_at_depth(np.inf if max_depth is None else max_depth)
    if max_leaf_nodes is None:
        return tree
    return _limit_leaves(tree, *_list_best_first(tree), max_leaf_nodes)


def _limit_leaves(full: Tree, nodes: np.ndarray, leaves: np.ndarray, max_leaf_nodes: int | None) -> Tree:
    limit = np.inf if max_leaf_nodes is None else max_leaf_nodes
    n_made = np.searchsorted(leaves, limit, side="right")
    return full.collapsed_at(nodes[n_made:])


def _limit_cost(full: Tree, nodes: np.ndarray, costs: np.ndarray, ccp_alpha: float) -> Tree:
    if ccp_alpha == 0:
        return full.collapsed_at(nodes[:0])
    n_collapsed = np.searchsorted(costs, ccp_alpha, side="right")
    return full.collapsed_at(nodes[:n_collapsed])
