"""The builder of growing trees, which numbers the nodes of each level and records their contents and splits.

Nodes are numbered level by level over all trees of the frontier, with the children of a node adjacent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.learners.trees.assembly import (
    NodeRecords,
    SplitRecords,
    TreeAssembly,
    TreeLayout,
    join_columns,
    scatter,
)
from bakeoff.learners.trees.frontier import Frontier
from bakeoff.learners.trees.pruning.cost_complexity import order_best_first, rank_gains
from bakeoff.learners.trees.splitting.partition import Partition
from bakeoff.learners.trees.splitting.splits import NO_ROUTES, Routes, Splits
from bakeoff.learners.trees.target import NodeStats, Target
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
        layout = TreeLayout(nodes, self.node_count, n_trees)
        assembly = TreeAssembly(layout, self.n_values)
        assembly.lay_out_nodes(nodes, self.target)
        routes = Routes(*join_columns(self._routes))
        assembly.lay_out_splits(self._join_splits(), routes)
        trees = [assembly.cut_tree(t) for t in range(n_trees)]
        if np.isfinite(max_leaf_nodes):
            self._collapse_later_splits(trees, layout, max_leaf_nodes)
        return trees

    def _collapse_later_splits(self, trees: list[Tree], layout: TreeLayout, max_leaf_nodes: float) -> None:
        """Collapse the splits that are no longer among the first in best-first order once deeper levels are known."""
        is_first = self.mark_best_first(max_leaf_nodes)
        for t, tree in enumerate(trees):
            own = layout.nodes[layout.slice_tree(t)]
            is_later = ~is_first[own] & ~tree.is_leaf
            if is_later.any():
                tree.collapse(np.flatnonzero(is_later))
