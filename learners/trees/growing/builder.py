"""The book of a growing tree: what each node held when it was born, and how it was split.

Nodes get their numbers level by level, children side by side; entries are scattered into flat arrays at the end.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from bakeoff.learners.trees.rows.frontier import Frontier, group_by_branch
from bakeoff.learners.trees.rows.target import NodeStats, Target
from bakeoff.learners.trees.splitting.splits import Splits
from bakeoff.learners.trees.splitting.splitter import Partition
from bakeoff.learners.trees.tree import Tree


@dataclass
class Level:
    """The m open nodes of a level: their numbers in the tree, which tree it is, and what they hold.

    ``branch`` is the branch of its parent that a node is.
    """

    number: np.ndarray
    tree: np.ndarray
    branch: np.ndarray
    stats: NodeStats

    def take(self, chosen: np.ndarray) -> Level:
        """Return the chosen nodes alone."""
        stats = NodeStats(*(part[chosen] for part in self.stats))
        return Level(self.number[chosen], self.tree[chosen], self.branch[chosen], stats)


class TreeBuilder:
    """Entries about all nodes so far, of all trees of the frontier.

    Parameters
    ----------
    n_values : ndarray of shape (d,)
    target : Target
    roots : Level

    Attributes
    ----------
    depth : int
        Of the newest level.
    count : int
        How many nodes have a number.
    root_weight : ndarray, one for each tree
    """

    def __init__(self, n_values: np.ndarray, target: Target, roots: Level) -> None:
        self.n_values, self.target, self.roots = n_values, target, roots
        self.depth, self.count = 0, roots.number.size
        self.root_weight = roots.stats.weight
        self._nodes: list[tuple[np.ndarray, ...]] = []
        whole, real = np.empty(0, dtype=np.intp), np.empty(0)
        self._splits: list[tuple[np.ndarray, ...]] = [(whole, whole, real, whole, whole, whole, real)]
        self._routes: list[tuple[np.ndarray, ...]] = [(whole, real, whole)]
        self._record_nodes(roots)

    def _record_nodes(self, level: Level) -> None:
        depth = np.full(level.number.size, self.depth)
        self._nodes.append((level.number, level.tree, depth, *level.stats))

    def add_splits(self, level: Level, splits: Splits, partition: Partition) -> None:
        """Enter the splits of a level, and reserve numbers for the children."""
        n_children, upto = partition.n_branches, np.cumsum(partition.n_branches)
        self._first_child = upto - n_children
        self._first_child += self.count
        self.count += int(upto[-1])
        self._splits.append(
            (
                level.number,
                splits.feature,
                splits.threshold,
                partition.missing_branch,
                self._first_child,
                n_children,
                splits.gain,
            )
        )
        node, code, branch = splits.routes
        if node.size:
            self._routes.append((level.number[node], code, branch))

    def _collect_splits(self) -> list[np.ndarray]:
        """Return the columns of all splits, without the nodes that turned out to have none."""
        columns = _gather(self._splits)
        split = np.flatnonzero(columns[5])
        return [column.take(split) for column in columns]

    def add_nodes(self, frontier: Frontier, level: Level, partition: Partition) -> tuple[Level, np.ndarray, np.ndarray]:
        """Enter the children of a level.

        Returns
        -------
        Level
            The children, branch by branch.
        rows, node : ndarray of shape (n,)
            Their rows, child after child, and the position of each row's child in that level.
        """
        m, widest = level.number.size, int(partition.n_branches.max())
        at = (np.arange(widest)[:, None] < partition.n_branches).ravel().nonzero()[0]
        branch, parent = np.divmod(at, m)
        rows = group_by_branch(frontier.order[:1], partition.branch[None, :], widest)[0].astype(np.intp, copy=False)
        places = partition.branch_rows.ravel().take(at)
        node = np.repeat(np.arange(at.size), places)
        self.depth += 1
        number = self._first_child.take(parent) + branch
        stats, addends = self.target.compute_stats(rows, node, places)
        self.target.store_addends(rows, addends)
        children = Level(number, level.tree.take(parent), branch, stats)
        self._record_nodes(children)
        return children, rows, node

    def _describe_nodes(self) -> list[np.ndarray]:
        """Return the columns of all nodes, described together: a level may have few."""
        number, tree, depth, *parts = _gather(self._nodes)
        stats = NodeStats(*parts)
        value, impurity = self.target.describe_nodes(stats)
        return [number, tree, depth, stats.n_rows, stats.weight, impurity, value]

    def mark_best_first(self, max_leaf_nodes: float) -> np.ndarray:
        """Mark the splits that a heap would make first, largest gain first, within the allowed leaves: (count,)."""
        number, _, _, _, first_child, n_children, gain = self._collect_splits()
        at = dict(zip(number.tolist(), range(number.size), strict=True))
        made = np.zeros(self.count, dtype=bool)
        for root in self.roots.number.tolist():
            heap = [(-gain[at[root]], root)] if root in at else []
            leaves = 1
            while heap:
                _, node = heapq.heappop(heap)
                k = at[node]
                leaves += int(n_children[k]) - 1
                if leaves > max_leaf_nodes:
                    break
                made[node] = True
                for child in range(first_child[k], first_child[k] + n_children[k]):
                    if child in at:
                        heapq.heappush(heap, (-gain[at[child]], child))
        return made

    def finish_trees(self, max_leaf_nodes: float) -> list[Tree]:
        """Return the finished trees."""
        nodes, splits = self._describe_nodes(), self._collect_splits()
        tree_of = np.full(self.count, -1)  # a number reserved for a child that never was belongs to no tree
        tree_of[nodes[0]] = nodes[1]
        carried_out = tree_of[splits[4]] >= 0
        splits = [part[carried_out] for part in splits]
        made = self.mark_best_first(max_leaf_nodes) if np.isfinite(max_leaf_nodes) else np.ones(self.count, dtype=bool)
        order = _TreeOrder(tree_of, self.roots.number.size)
        columns = self._columns(order, nodes, splits)
        trees = []
        for t in range(self.roots.number.size):
            tree = self._tree(columns, order.of_tree(t))
            mine = order.nodes[order.of_tree(t)]
            extra = ~made[mine] & ~tree.is_leaf  # splits that only looked like the best before later ones were known
            if extra.any():
                tree.collapse(np.flatnonzero(extra))
            trees.append(tree)
        return trees

    def _columns(self, order: _TreeOrder, nodes: list[np.ndarray], splits: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Lay the entries of all nodes out tree by tree."""
        k = order.nodes.size
        born = ("depth", "n_node_samples", "weighted_n_node_samples", "impurity", "value")
        at = order.place[nodes[0]]
        columns = {name: _scatter(part, at, k) for name, part in zip(born, nodes[2:], strict=True)}
        asked = ("feature", "threshold", "missing_branch", "first_child", "n_children", "gain")
        fills = (-1, np.nan, 0, -1, 0, 0)
        at = order.place[splits[0]]
        splits[4] = order.within_tree(splits[4])
        columns |= {
            name: _scatter(part, at, k, fill) for name, part, fill in zip(asked, splits[1:], fills, strict=True)
        }
        columns["route_start"], columns["route"] = self._route(order, columns["feature"])
        return columns

    def _tree(self, columns: dict[str, np.ndarray], mine: slice) -> Tree:
        own = {name: column[mine] for name, column in columns.items() if name != "route"}
        start = own["route_start"]
        nominal = np.flatnonzero(start >= 0)
        first, last = 0, 0
        if nominal.size:
            first = int(start[nominal[0]])
            last = int(start[nominal[-1]] + self.n_values[own["feature"][nominal[-1]]] + 1)
            own["route_start"] = np.where(start >= 0, start - first, -1)
        return Tree(route=columns["route"][first:last], n_values=self.n_values, **own)

    def _route(self, order: _TreeOrder, feature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lay the branches of each nominal split out by value code, and last the missing cell's."""
        nominal = np.flatnonzero((feature >= 0) & (self.n_values[feature] > 0))
        width = self.n_values[feature[nominal]] + 1
        start = np.full(feature.size, -1)
        start[nominal] = np.cumsum(width) - width
        route = np.full(int(width.sum()), -1)
        if nominal.size:
            number, code, branch = _gather(self._routes)
            node = order.place[number]
            own = (node >= 0) & (start[node] >= 0)
            node, code, branch = node[own], code[own], branch[own]
            code = np.where(np.isinf(code), self.n_values[feature[node]], code).astype(np.intp)
            route[start[node] + code] = branch
        return start, route


class _TreeOrder:
    """Where nodes stand when they are put tree by tree, given the tree of each node (count,), or -1."""

    def __init__(self, tree_of: np.ndarray, trees: int) -> None:
        self.tree_of = tree_of
        there = np.flatnonzero(tree_of >= 0)
        self.nodes = there[np.argsort(tree_of[there], kind="stable")]
        self.first = np.searchsorted(tree_of[self.nodes], np.arange(trees + 1))
        self.place = np.full(tree_of.size, -1)
        self.place[self.nodes] = np.arange(self.nodes.size)

    def of_tree(self, t: int) -> slice:
        return slice(self.first[t], self.first[t + 1])

    def within_tree(self, nodes: np.ndarray) -> np.ndarray:
        return self.place[nodes] - self.first[self.tree_of[nodes]]


def _gather(entries: list[tuple[np.ndarray, ...]]) -> list[np.ndarray]:
    return [np.concatenate(column) for column in zip(*entries, strict=True)]


def _scatter(values: np.ndarray, at: np.ndarray, k: int, fill: float = 0) -> np.ndarray:
    table = np.full((k, *values.shape[1:]), fill, dtype=values.dtype)
    table[at] = values
    return table
