"""The builder of growing trees: it numbers the nodes of each level, and records their contents and splits.

Nodes are numbered level by level over all trees of the frontier, with the children of a node adjacent. At the end, the
records are arranged in the flat arrays of the finished trees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.frontier import Frontier
from bakeoff.learners.trees.pruning.cost_complexity import order_best_first, rank_gains
from bakeoff.learners.trees.splitting.partition import Partition
from bakeoff.learners.trees.splitting.splits import NO_ROUTES, Routes, Splits
from bakeoff.learners.trees.target import NodeStats, Target
from bakeoff.learners.trees.tree import AT_LEAVES, Tree


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


class TreeAssembly:
    """The nodes of all trees in flat arrays, tree after tree.

    Parameters
    ----------
    nodes : NodeRecords
    node_count : int
        The number of node numbers assigned; some of the nodes were never added.
    n_trees : int
    n_values : ndarray of shape (d,)
        The number of values of each nominal feature; 0 for a numeric one.

    Attributes
    ----------
    nodes : ndarray of shape (k,), int
        The numbers of the nodes in their new order.
    """

    def __init__(self, nodes: NodeRecords, node_count: int, n_trees: int, n_values: np.ndarray) -> None:
        self._tree = np.full(node_count, -1)
        self._tree[nodes.number] = nodes.tree
        added = np.flatnonzero(self._tree >= 0)
        # A stable sort keeps the nodes of a tree in the order of their numbers, level by level.
        order = np.argsort(self._tree[added], kind="stable")
        self.nodes = added[order]
        self._position = np.full(node_count, -1)  # of each node; -1 for a node that was never added
        self._position[self.nodes] = np.arange(self.nodes.size)
        self._first = np.searchsorted(self._tree[self.nodes], np.arange(n_trees + 1))
        self._n_values = n_values
        self._columns: dict[str, np.ndarray] = {}
        self._route = np.empty(0, dtype=np.intp)

    def slice_tree(self, t: int) -> slice:
        """Return the positions of tree t."""
        return slice(self._first[t], self._first[t + 1])

    def lay_out_nodes(self, nodes: NodeRecords, target: Target) -> None:
        """Write the contents of nodes to their positions."""
        at = self._position[nodes.number]
        value, impurity = target.describe_nodes(nodes.stats)
        columns = {
            "depth": nodes.depth,
            "n_node_samples": nodes.stats.n_rows,
            "weighted_n_node_samples": nodes.stats.weight,
            "impurity": impurity,
            "value": value,
        }
        self._columns |= {name: scatter(column, at, self.nodes.size) for name, column in columns.items()}

    def lay_out_splits(self, splits: SplitRecords, routes: Routes) -> None:
        """Write the splits that were carried out to their nodes' positions, and number children within each tree."""
        # In best-first growth, some splits are not carried out: their children have numbers but were never added.
        was_carried_out = self._position[splits.first_child] >= 0
        splits = splits.take(was_carried_out)
        first_of_tree = self._first[self._tree[splits.first_child]]
        splits = splits._replace(first_child=self._position[splits.first_child] - first_of_tree)
        at = self._position[splits.number]
        for name, column in splits._asdict().items():
            if name != "number":
                self._columns[name] = scatter(column, at, self.nodes.size, AT_LEAVES[name])
        self._lay_out_routes(routes)

    def _lay_out_routes(self, routes: Routes) -> None:
        """Write the branches of each nominal split consecutively, ordered by value code, with missing cells last."""
        feature = self._columns["feature"]
        is_nominal = (feature >= 0) & (self._n_values[feature] > 0)
        nominal = np.flatnonzero(is_nominal)
        n_entries = self._n_values[feature[nominal]] + 1
        start = np.full(feature.size, -1)
        start[nominal] = np.cumsum(n_entries) - n_entries
        self._columns["route_start"] = start
        total = int(n_entries.sum())
        self._route = np.full(total, -1)
        if nominal.size == 0:
            return
        node = self._position[routes.node]
        was_carried_out = (node >= 0) & (start[node] >= 0)
        node = node[was_carried_out]
        code = routes.code[was_carried_out]
        code_of_missing = self._n_values[feature[node]]
        code = np.where(np.isinf(code), code_of_missing, code)
        entry = start[node] + code.astype(np.intp)
        self._route[entry] = routes.branch[was_carried_out]

    def cut_tree(self, t: int) -> Tree:
        """Return tree t, with its own part of the arrays."""
        own = self.slice_tree(t)
        columns = {name: column[own] for name, column in self._columns.items()}
        start = columns["route_start"]
        nominal = np.flatnonzero(start >= 0)
        if nominal.size == 0:
            return Tree(route=self._route[:0], n_values=self._n_values, **columns)
        # The entries of this tree are contiguous, from those of its first nominal node to those of its last.
        first = int(start[nominal[0]])
        last_node = nominal[-1]
        n_entries = self._n_values[columns["feature"][last_node]] + 1
        end = int(start[last_node] + n_entries)
        columns["route_start"] = np.where(start >= 0, start - first, -1)
        return Tree(route=self._route[first:end], n_values=self._n_values, **columns)


def join_columns(records: Iterable[tuple[np.ndarray, ...]]) -> list[np.ndarray]:
    """Return each column of several records as one array."""
    return [np.concatenate(column) for column in zip(*records, strict=True)]


def scatter(values: np.ndarray, at: np.ndarray, k: int, fill: float = 0) -> np.ndarray:
    """Return an array of k rows that holds the values at the given positions, and ``fill`` elsewhere."""
    shape = (k, *values.shape[1:])
    table = np.full(shape, fill, dtype=values.dtype)
    table[at] = values
    return table


@dataclass
class Level:
    """The m nodes of a level, and their rows.

    Attributes
    ----------
    number : ndarray of shape (m,), int
        The nodes' numbers among all nodes of all trees.
    tree : ndarray of shape (m,), int
        The tree of each node.
    branch : ndarray of shape (m,), int
        The branch of the parent that leads to each node; ascending.
    stats : NodeStats
    rows : ndarray of shape (n,), int
        The rows, node after node.
    """

    number: np.ndarray
    tree: np.ndarray
    branch: np.ndarray
    stats: NodeStats
    rows: np.ndarray

    def select_nodes(self, mask: np.ndarray) -> Level:
        """Return the nodes selected by a mask (m,), with their rows."""
        if mask.all():
            return self
        nodes = mask.nonzero()[0]
        mask_of_rows = mask.repeat(self.stats.n_positions)  # (n,)
        return Level(
            number=self.number[nodes],
            tree=self.tree[nodes],
            branch=self.branch[nodes],
            stats=NodeStats(*(part[nodes] for part in self.stats)),
            rows=self.rows.take(mask_of_rows.nonzero()[0]),
        )


class TreeBuilder:
    """All nodes and splits recorded so far for the trees of a frontier.

    Parameters
    ----------
    n_values : ndarray of shape (d,)
        The number of values of each nominal feature; 0 for a numeric one.
    target : Target

    Attributes
    ----------
    node_count : int
        The number of node numbers assigned.
    root_weight : ndarray of shape (number of trees,)
    """

    def __init__(self, n_values: np.ndarray, target: Target) -> None:
        self.n_values = n_values
        self.target = target
        self.node_count = 0
        self.root_weight = np.empty(0)
        self._nodes: list[NodeRecords] = []
        # Empty records, so that concatenation also works if no root can be split.
        integers = np.empty(0, dtype=np.intp)
        reals = np.empty(0)
        self._splits = [SplitRecords(integers, integers, reals, integers, integers, integers, reals)]
        self._routes = [NO_ROUTES]

    @property
    def depth(self) -> int:
        """The depth of the newest level."""
        return len(self._nodes) - 1

    def add_roots(self, frontier: Frontier) -> Level:
        """Record the nodes of a frontier as the roots of trees."""
        rows = frontier.order[0].astype(np.intp)
        number = np.arange(frontier.n_positions.size)
        stats = self.add_nodes(number, number, rows, frontier.n_positions)
        return Level(number, tree=number, branch=np.zeros_like(number), stats=stats, rows=rows)

    def add_nodes(self, number: np.ndarray, tree: np.ndarray, rows: np.ndarray, n_positions: np.ndarray) -> NodeStats:
        """Record the nodes of a level, and return their statistics.

        Parameters
        ----------
        number, tree, n_positions : ndarray of shape (m,), int
            The number of each node, its tree, and its number of rows.
        rows : ndarray of shape (n,), int
            The rows, node after node.

        Returns
        -------
        NodeStats
        """
        node_of_row = np.arange(number.size).repeat(n_positions)  # (n,)
        stats = self.target.enter_nodes(rows, node_of_row, n_positions)
        if not self._nodes:
            self.node_count = number.size
            self.root_weight = stats.weight
        depth = np.full(number.size, len(self._nodes))
        self._nodes.append(NodeRecords(number, tree, depth, stats))
        return stats

    def add_splits(self, number: np.ndarray, splits: Splits, partition: Partition) -> np.ndarray:
        """Record the splits of nodes with these numbers (m,), and return the numbers of their first children: (m,)."""
        n_children = partition.n_branches
        # The children of the first node come first, then those of the second, and so on.
        children_up_to = n_children.cumsum()
        first_child: np.ndarray = children_up_to - n_children + self.node_count
        self.node_count += int(children_up_to[-1])
        self._splits.append(
            SplitRecords(
                number=number,
                feature=splits.feature,
                threshold=splits.threshold,
                missing_branch=partition.missing_branch,
                first_child=first_child,
                n_children=n_children,
                gain=splits.gain,
            )
        )
        routes = splits.routes
        if routes.node.size:
            self._routes.append(routes._replace(node=number[routes.node]))
        return first_child

    def add_children(self, level: Level, first_child: np.ndarray, partition: Partition, rows: np.ndarray) -> Level:
        """Record the children of a level.

        Parameters
        ----------
        level : Level
            The level of the parents.
        first_child : ndarray of shape (m,), int
            The result of `add_splits`.
        partition : Partition
        rows : ndarray of shape (n,), int
            The rows of all children, sorted by branch and within a branch by parent.

        Returns
        -------
        Level
            The children, sorted by branch and within a branch by parent.
        """
        m = level.number.size
        max_branches = int(partition.n_branches.max())
        # The children are, in order, the cells of a table of branches by parents, row by row.
        exists = np.arange(max_branches)[:, None] < partition.n_branches  # (max_branches, m)
        cell = exists.ravel().nonzero()[0]
        branch, parent = np.divmod(cell, m)
        n_positions = partition.branch_rows.ravel().take(cell)
        number = first_child.take(parent) + branch
        tree = level.tree.take(parent)
        stats = self.add_nodes(number, tree, rows, n_positions)
        return Level(number, tree, branch, stats, rows)

    def _join_splits(self) -> SplitRecords:
        """Return the splits of all levels, without nodes for which no split was found."""
        splits = SplitRecords(*join_columns(self._splits))
        return splits.take(np.flatnonzero(splits.n_children))

    def mark_best_first(self, max_leaf_nodes: float) -> np.ndarray:
        """Mark the first splits in best-first order that stay within the allowed number of leaves: (node_count,)."""
        splits = self._join_splits()
        rank = rank_gains(scatter(splits.gain, splits.number, self.node_count))
        first_child = scatter(splits.first_child, splits.number, self.node_count).tolist()
        n_children = scatter(splits.n_children, splits.number, self.node_count).tolist()
        is_first = np.zeros(self.node_count, dtype=bool)
        # Every tree has its own order; the number of a root is that of its tree.
        n_trees = self.root_weight.size
        for root in range(n_trees):
            for node, leaves in order_best_first(root, rank, first_child, n_children):
                if leaves > max_leaf_nodes:
                    break
                is_first[node] = True
        return is_first

    def finish_trees(self, max_leaf_nodes: float) -> list[Tree]:
        """Return the finished trees."""
        n_trees = self.root_weight.size
        nodes = NodeRecords.join(self._nodes)
        assembly = TreeAssembly(nodes, self.node_count, n_trees, self.n_values)
        assembly.lay_out_nodes(nodes, self.target)
        routes = Routes(*join_columns(self._routes))
        assembly.lay_out_splits(self._join_splits(), routes)
        trees = [assembly.cut_tree(t) for t in range(n_trees)]
        if np.isfinite(max_leaf_nodes):
            self._collapse_later_splits(trees, assembly, max_leaf_nodes)
        return trees

    def _collapse_later_splits(self, trees: list[Tree], assembly: TreeAssembly, max_leaf_nodes: float) -> None:
        """Collapse the splits that are no longer among the first in best-first order once deeper levels are known."""
        is_first = self.mark_best_first(max_leaf_nodes)
        for t, tree in enumerate(trees):
            own = assembly.nodes[assembly.slice_tree(t)]
            is_later = ~is_first[own] & ~tree.is_leaf
            if is_later.any():
                tree.collapse(np.flatnonzero(is_later))
