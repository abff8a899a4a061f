"""The builder of growing trees: nodes and splits are recorded level by level, and laid out as flat arrays at the end.

Nodes are numbered level by level over all trees of the frontier, children side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.best_first import order_best_first
from bakeoff.learners.trees.rows.frontier import Frontier
from bakeoff.learners.trees.rows.target import NodeStats, Target
from bakeoff.learners.trees.splitting.splits import NO_ROUTES, Routes, Splits
from bakeoff.learners.trees.splitting.splitter import Partition
from bakeoff.learners.trees.tree import Tree


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
        Which branch of its parent each node is; ascending.
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
        """Return the nodes where a mask (m,) is set, with their rows."""
        if mask.all():
            return self
        nodes = mask.nonzero()[0]
        positions = mask.repeat(self.stats.n_positions).nonzero()[0]
        stats = NodeStats(*(part[nodes] for part in self.stats))
        return Level(self.number[nodes], self.tree[nodes], self.branch[nodes], stats, self.rows.take(positions))


class NodeEntries(NamedTuple):
    """Nodes, one entry for each, in the order in which they were added."""

    number: np.ndarray
    tree: np.ndarray
    depth: np.ndarray
    stats: NodeStats


class SplitEntries(NamedTuple):
    """Splits, one entry for each, by the number of the node that is split."""

    number: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_branch: np.ndarray
    first_child: np.ndarray
    n_children: np.ndarray
    gain: np.ndarray

    def take(self, chosen: np.ndarray) -> SplitEntries:
        """Return the chosen entries."""
        return SplitEntries(*(column[chosen] for column in self))


class TreeBuilder:
    """All nodes and splits so far, of all trees of a frontier.

    Parameters
    ----------
    n_values : ndarray of shape (d,)
        The number of values of each nominal feature; 0 for a numeric one.
    target : Target

    Attributes
    ----------
    depth : int
        The depth of the newest level.
    node_count : int
        How many nodes have a number.
    root_weight : ndarray of shape (number of trees,)
    """

    def __init__(self, n_values: np.ndarray, target: Target) -> None:
        self.n_values = n_values
        self.target = target
        self.depth = 0
        self.node_count = 0
        self.root_weight = np.empty(0)
        integers = np.empty(0, dtype=np.intp)
        reals = np.empty(0)
        self._nodes: list[NodeEntries] = []
        self._splits = [SplitEntries(integers, integers, reals, integers, integers, integers, reals)]
        self._routes = [NO_ROUTES]

    def add_roots(self, frontier: Frontier) -> Level:
        """Record the nodes of a frontier as the roots of trees."""
        rows = frontier.order[0].astype(np.intp)
        stats = self._compute_stats(rows, frontier.node_of_position, frontier.n_positions)
        number = np.arange(frontier.n_positions.size)
        roots = Level(number, number, np.zeros_like(number), stats, rows)
        self.node_count = number.size
        self.root_weight = stats.weight
        self._record_nodes(roots)
        return roots

    def add_splits(self, level: Level, splits: Splits, partition: Partition) -> None:
        """Record the splits of a level, and reserve numbers for the children."""
        n_children = partition.n_branches
        children_up_to = np.cumsum(n_children)
        self._first_child = children_up_to - n_children + self.node_count  # (m,)
        self.node_count += int(children_up_to[-1])
        self._splits.append(
            SplitEntries(
                number=level.number,
                feature=splits.feature,
                threshold=splits.threshold,
                missing_branch=partition.missing_branch,
                first_child=self._first_child,
                n_children=n_children,
                gain=splits.gain,
            )
        )
        routes = splits.routes
        if routes.node.size:
            self._routes.append(routes._replace(node=level.number[routes.node]))

    def add_nodes(self, level: Level, partition: Partition, rows: np.ndarray) -> Level:
        """Record the children of a level.

        Parameters
        ----------
        level : Level
            Their parents, the same as in the last call of `add_splits`.
        partition : Partition
        rows : ndarray of shape (n,), int
            The rows of all children, by branch and within a branch by parent.

        Returns
        -------
        Level
            The children, by branch and within a branch by parent.
        """
        m = level.number.size
        widest = int(partition.n_branches.max())
        # A table of branches by parents: its cells in turn are the children in their order.
        exists = np.arange(widest)[:, None] < partition.n_branches  # (widest, m)
        cell = exists.ravel().nonzero()[0]
        branch, parent = np.divmod(cell, m)
        n_positions = partition.branch_rows.ravel().take(cell)
        node_of_row = np.repeat(np.arange(cell.size), n_positions)
        stats = self._compute_stats(rows, node_of_row, n_positions)
        number = self._first_child.take(parent) + branch
        children = Level(number, level.tree.take(parent), branch, stats, rows)
        self.depth += 1
        self._record_nodes(children)
        return children

    def _compute_stats(self, rows: np.ndarray, node_of_row: np.ndarray, n_positions: np.ndarray) -> NodeStats:
        """Compute the statistics of nodes, and leave the addends of their rows with the target."""
        stats, addends = self.target.compute_stats(rows, node_of_row, n_positions)
        self.target.store_addends(rows, addends)
        return stats

    def _record_nodes(self, level: Level) -> None:
        depth = np.full(level.number.size, self.depth)
        self._nodes.append(NodeEntries(level.number, level.tree, depth, level.stats))

    def _collect_nodes(self) -> NodeEntries:
        number, tree, depth, stats = zip(*self._nodes, strict=True)
        all_stats = NodeStats(*_concatenate_columns(stats))
        return NodeEntries(np.concatenate(number), np.concatenate(tree), np.concatenate(depth), all_stats)

    def _collect_splits(self) -> SplitEntries:
        """Return all splits, without the nodes that turned out to have none."""
        splits = SplitEntries(*_concatenate_columns(self._splits))
        return splits.take(np.flatnonzero(splits.n_children))

    def mark_best_first(self, max_leaf_nodes: float) -> np.ndarray:
        """Mark the splits that come first in best-first order, within the allowed leaves: (node_count,)."""
        splits = self._collect_splits()
        gain = _scatter(splits.gain, splits.number, self.node_count)
        first_child = _scatter(splits.first_child, splits.number, self.node_count)
        n_children = _scatter(splits.n_children, splits.number, self.node_count)
        is_made = np.zeros(self.node_count, dtype=bool)
        n_trees = self.root_weight.size
        for root in range(n_trees):
            for node, leaves in order_best_first(root, gain, first_child, n_children):
                if leaves > max_leaf_nodes:
                    break
                is_made[node] = True
        return is_made

    def finish_trees(self, max_leaf_nodes: float) -> list[Tree]:
        """Return the finished trees."""
        nodes = self._collect_nodes()
        n_trees = self.root_weight.size
        layout = _TreeLayout(nodes, self.node_count, n_trees)
        splits = self._collect_splits()
        was_carried_out = layout.position[splits.first_child] >= 0
        columns = self._lay_out_columns(layout, nodes, splits.take(was_carried_out))
        trees = [self._cut_tree(columns, layout.slice_tree(t)) for t in range(n_trees)]
        if np.isfinite(max_leaf_nodes):
            is_made = self.mark_best_first(max_leaf_nodes)
            for t, tree in enumerate(trees):
                # Splits that came first in the order only until those of later levels were known.
                is_extra = ~is_made[layout.nodes[layout.slice_tree(t)]] & ~tree.is_leaf
                if is_extra.any():
                    tree.collapse(np.flatnonzero(is_extra))
        return trees

    def _lay_out_columns(self, layout: _TreeLayout, nodes: NodeEntries, splits: SplitEntries) -> dict[str, np.ndarray]:
        """Return the attributes of all trees, tree after tree; children are numbered within their tree."""
        k = layout.nodes.size
        value, impurity = self.target.describe_nodes(nodes.stats)
        at = layout.position[nodes.number]
        columns = {
            "depth": _scatter(nodes.depth, at, k),
            "n_node_samples": _scatter(nodes.stats.n_rows, at, k),
            "weighted_n_node_samples": _scatter(nodes.stats.weight, at, k),
            "impurity": _scatter(impurity, at, k),
            "value": _scatter(value, at, k),
        }
        at = layout.position[splits.number]
        first_child = layout.number_within_tree(splits.first_child)
        columns |= {
            "feature": _scatter(splits.feature, at, k, fill=-1),
            "threshold": _scatter(splits.threshold, at, k, fill=np.nan),
            "missing_branch": _scatter(splits.missing_branch, at, k),
            "first_child": _scatter(first_child, at, k, fill=-1),
            "n_children": _scatter(splits.n_children, at, k),
            "gain": _scatter(splits.gain, at, k),
        }
        columns["route_start"], columns["route"] = self._lay_out_routes(layout, columns["feature"])
        return columns

    def _lay_out_routes(self, layout: _TreeLayout, feature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the routes of each node (k,) begin, and the branches by value code, the missing cell's last."""
        nominal = np.flatnonzero((feature >= 0) & (self.n_values[feature] > 0))
        n_entries = self.n_values[feature[nominal]] + 1
        start = np.full(feature.size, -1)
        start[nominal] = np.cumsum(n_entries) - n_entries
        route = np.full(int(n_entries.sum()), -1)
        if nominal.size:
            routes = Routes(*_concatenate_columns(self._routes))
            node = layout.position[routes.node]
            was_carried_out = (node >= 0) & (start[node] >= 0)
            node = node[was_carried_out]
            code = routes.code[was_carried_out]
            code = np.where(np.isinf(code), self.n_values[feature[node]], code).astype(np.intp)
            route[start[node] + code] = routes.branch[was_carried_out]
        return start, route

    def _cut_tree(self, columns: dict[str, np.ndarray], own: slice) -> Tree:
        """Return the tree whose nodes stand in a slice of the columns."""
        attributes = {name: column[own] for name, column in columns.items() if name != "route"}
        start = attributes["route_start"]
        nominal = np.flatnonzero(start >= 0)
        first_route = 0
        end_route = 0
        if nominal.size:
            last_node = nominal[-1]
            n_values = self.n_values[attributes["feature"][last_node]]
            first_route = int(start[nominal[0]])
            end_route = int(start[last_node] + n_values + 1)
            attributes["route_start"] = np.where(start >= 0, start - first_route, -1)
        return Tree(route=columns["route"][first_route:end_route], n_values=self.n_values, **attributes)


class _TreeLayout:
    """The positions of nodes when they stand tree after tree.

    Attributes
    ----------
    nodes : ndarray of shape (k,), int
        The numbers of the nodes in their new order.
    position : ndarray of shape (node_count,), int
        The position of each node; -1 for a number whose node was never added.
    """

    def __init__(self, nodes: NodeEntries, node_count: int, n_trees: int) -> None:
        self._tree = np.full(node_count, -1)
        self._tree[nodes.number] = nodes.tree
        added = np.flatnonzero(self._tree >= 0)
        self.nodes = added[np.argsort(self._tree[added], kind="stable")]
        self._first = np.searchsorted(self._tree[self.nodes], np.arange(n_trees + 1))
        self.position = np.full(node_count, -1)
        self.position[self.nodes] = np.arange(self.nodes.size)

    def slice_tree(self, t: int) -> slice:
        """Return the positions of tree t."""
        return slice(self._first[t], self._first[t + 1])

    def number_within_tree(self, nodes: np.ndarray) -> np.ndarray:
        """Return the numbers of nodes (r,) within their trees."""
        return self.position[nodes] - self._first[self._tree[nodes]]


def _concatenate_columns(entries: Sequence[tuple[np.ndarray, ...]]) -> list[np.ndarray]:
    return [np.concatenate(column) for column in zip(*entries, strict=True)]


def _scatter(values: np.ndarray, at: np.ndarray, k: int, fill: float = 0) -> np.ndarray:
    """Return an array of k rows that holds the values at the given positions, and else ``fill``."""
    table = np.full((k, *values.shape[1:]), fill, dtype=values.dtype)
    table[at] = values
    return table
