"""Assembly: the nodes and splits recorded by a builder are arranged in the flat arrays of finished trees."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.splitting.splits import Routes
from bakeoff.learners.trees.target import NodeStats, Target
from bakeoff.learners.trees.tree import Tree


class NodeRecords(NamedTuple):
    """Nodes, one record for each, in the order in which they were added.

    Attributes
    ----------
    number : ndarray of shape (k,), int
        The node's number among all nodes of all trees.
    tree, depth : ndarray of shape (k,), int
    stats : NodeStats
    """

    number: np.ndarray
    tree: np.ndarray
    depth: np.ndarray
    stats: NodeStats

    @classmethod
    def join(cls, records: Iterable[NodeRecords]) -> NodeRecords:
        """Return the records of all levels."""
        number, tree, depth, stats = zip(*records, strict=True)
        return cls(
            number=np.concatenate(number),
            tree=np.concatenate(tree),
            depth=np.concatenate(depth),
            stats=NodeStats(*join_columns(stats)),
        )


class SplitRecords(NamedTuple):
    """Splits, one record for each node that was searched; a node without a split has no children.

    Attributes
    ----------
    number : ndarray of shape (s,), int
        The number of the node that is split.
    feature, missing_branch, first_child, n_children : ndarray of shape (s,), int
        As in `Tree`, with the numbers of children among all nodes of all trees.
    threshold, gain : ndarray of shape (s,)
    """

    number: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_branch: np.ndarray
    first_child: np.ndarray
    n_children: np.ndarray
    gain: np.ndarray

    def take(self, chosen: np.ndarray) -> SplitRecords:
        """Return the chosen records."""
        return SplitRecords(*(column[chosen] for column in self))


class TreeLayout:
    """The positions of nodes when they are sorted by tree.

    Parameters
    ----------
    nodes : NodeRecords
    node_count : int
        The number of node numbers assigned; some of the nodes were never added.
    n_trees : int

    Attributes
    ----------
    nodes : ndarray of shape (k,), int
        The numbers of the nodes in their new order.
    position : ndarray of shape (node_count,), int
        The position of each node; -1 for a node that was never added.
    """

    def __init__(self, nodes: NodeRecords, node_count: int, n_trees: int) -> None:
        self._tree = np.full(node_count, -1)
        self._tree[nodes.number] = nodes.tree
        added = np.flatnonzero(self._tree >= 0)
        # A stable sort keeps the nodes of a tree in the order of their numbers, level by level.
        order = np.argsort(self._tree[added], kind="stable")
        self.nodes = added[order]
        self.position = np.full(node_count, -1)
        self.position[self.nodes] = np.arange(self.nodes.size)
        trees = np.arange(n_trees + 1)
        self._first = np.searchsorted(self._tree[self.nodes], trees)

    def slice_tree(self, t: int) -> slice:
        """Return the positions of tree t."""
        return slice(self._first[t], self._first[t + 1])

    def number_within_tree(self, nodes: np.ndarray) -> np.ndarray:
        """Return the numbers of nodes (r,) within their trees."""
        first = self._first[self._tree[nodes]]
        return self.position[nodes] - first


class TreeAssembly:
    """The nodes of all trees in flat arrays, tree after tree.

    Parameters
    ----------
    layout : TreeLayout
        The layout of k nodes.
    n_values : ndarray of shape (d,)
        The number of values of each nominal feature; 0 for a numeric one.
    """

    def __init__(self, layout: TreeLayout, n_values: np.ndarray) -> None:
        self.layout = layout
        self.n_values = n_values
        self._columns: dict[str, np.ndarray] = {}
        self._route = np.empty(0, dtype=np.intp)

    def lay_out_nodes(self, nodes: NodeRecords, target: Target) -> None:
        """Write the contents of nodes to their positions."""
        k = self.layout.nodes.size
        at = self.layout.position[nodes.number]
        value, impurity = target.describe_nodes(nodes.stats)
        self._columns |= {
            "depth": scatter(nodes.depth, at, k),
            "n_node_samples": scatter(nodes.stats.n_rows, at, k),
            "weighted_n_node_samples": scatter(nodes.stats.weight, at, k),
            "impurity": scatter(impurity, at, k),
            "value": scatter(value, at, k),
        }

    def lay_out_splits(self, splits: SplitRecords, routes: Routes) -> None:
        """Write the splits that were carried out to their nodes' positions, and number children within each tree."""
        # In best-first growth, some splits are not carried out: their children have numbers but were never added.
        was_carried_out = self.layout.position[splits.first_child] >= 0
        splits = splits.take(was_carried_out)
        k = self.layout.nodes.size
        at = self.layout.position[splits.number]
        first_child = self.layout.number_within_tree(splits.first_child)
        self._columns |= {
            "feature": scatter(splits.feature, at, k, fill=-1),
            "threshold": scatter(splits.threshold, at, k, fill=np.nan),
            "missing_branch": scatter(splits.missing_branch, at, k),
            "first_child": scatter(first_child, at, k, fill=-1),
            "n_children": scatter(splits.n_children, at, k),
            "gain": scatter(splits.gain, at, k),
        }
        self._lay_out_routes(routes)

    def _lay_out_routes(self, routes: Routes) -> None:
        """Write the branches of each nominal split consecutively, ordered by value code, with missing cells last."""
        feature = self._columns["feature"]
        is_nominal = (feature >= 0) & (self.n_values[feature] > 0)
        nominal = np.flatnonzero(is_nominal)
        n_entries = self.n_values[feature[nominal]] + 1
        start = np.full(feature.size, -1)
        start[nominal] = np.cumsum(n_entries) - n_entries
        self._columns["route_start"] = start
        total = int(n_entries.sum())
        self._route = np.full(total, -1)
        if nominal.size == 0:
            return
        node = self.layout.position[routes.node]
        was_carried_out = (node >= 0) & (start[node] >= 0)
        node = node[was_carried_out]
        code = routes.code[was_carried_out]
        code_of_missing = self.n_values[feature[node]]
        code = np.where(np.isinf(code), code_of_missing, code)
        entry = start[node] + code.astype(np.intp)
        self._route[entry] = routes.branch[was_carried_out]

    def cut_tree(self, t: int) -> Tree:
        """Return tree t, with its own part of the arrays."""
        own = self.layout.slice_tree(t)
        columns = {name: column[own] for name, column in self._columns.items()}
        start = columns["route_start"]
        nominal = np.flatnonzero(start >= 0)
        if nominal.size == 0:
            return Tree(route=self._route[:0], n_values=self.n_values, **columns)
        # The entries of this tree are contiguous, from those of its first nominal node to those of its last.
        first = int(start[nominal[0]])
        last_node = nominal[-1]
        n_entries = self.n_values[columns["feature"][last_node]] + 1
        end = int(start[last_node] + n_entries)
        columns["route_start"] = np.where(start >= 0, start - first, -1)
        return Tree(route=self._route[first:end], n_values=self.n_values, **columns)


def join_columns(records: Iterable[tuple[np.ndarray, ...]]) -> list[np.ndarray]:
    """Return each column of several records as one array."""
    return [np.concatenate(column) for column in zip(*records, strict=True)]


def scatter(values: np.ndarray, at: np.ndarray, k: int, fill: float = 0) -> np.ndarray:
    """Return an array of k rows that holds the values at the given positions, and ``fill`` elsewhere."""
    shape = (k, *values.shape[1:])
    table = np.full(shape, fill, dtype=values.dtype)
    table[at] = values
    return table
