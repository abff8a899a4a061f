"""The book of a growing tree: what each node held when it was born, and how it was split.

Nodes get their numbers level by level, children side by side; entries are scattered into flat arrays at the end.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from learners.decision_tree.block import Splits
from learners.decision_tree.front import Front
from learners.decision_tree.search import Decision
from learners.decision_tree.targets import Content
from learners.decision_tree.tree import Tree


@dataclass
class Level:
    """The m open nodes of a level: their numbers in the tree, which tree it is, and what they hold."""

    number: np.ndarray
    tree: np.ndarray
    content: Content

    def take(self, chosen: np.ndarray) -> Level:
        """Return the chosen nodes alone."""
        content = Content(*(part[chosen] for part in self.content))
        return Level(self.number[chosen], self.tree[chosen], content)


class Book:
    """Entries about all nodes so far, of all trees of the front.

    Attributes
    ----------
    depth : int
        Of the newest level.
    count : int
        How many nodes have a number.
    root_weight : ndarray, one for each tree
    """

    def __init__(self, n_values: np.ndarray, roots: Level) -> None:
        self.n_values, self.roots = n_values, roots
        self.depth, self.count = 0, roots.number.size
        self.root_weight = roots.content.weight
        self._births: list[tuple[np.ndarray, ...]] = []
        whole, real = np.empty(0, dtype=np.intp), np.empty(0)
        self._splits: list[tuple[np.ndarray, ...]] = [(whole, whole, real, whole, whole, whole, real)]
        self._routes: list[tuple[np.ndarray, ...]] = [(whole, real, whole)]
        self._write_births(roots)

    def _write_births(self, level: Level) -> None:
        depth = np.full(level.number.size, self.depth)
        content = level.content
        self._births.append(
            (level.number, level.tree, depth, content.rows, content.weight, content.impurity, content.value)
        )

    def write_splits(self, level: Level, splits: Splits, decision: Decision) -> None:
        """Enter the splits of a level, and reserve numbers for the children."""
        n_children, upto = decision.n_branches, np.cumsum(decision.n_branches)
        self._first_child = upto - n_children
        self._first_child += self.count
        self.count += int(upto[-1])
        self._splits.append(
            (
                level.number,
                splits.feature,
                decision.threshold,
                decision.missing_branch,
                self._first_child,
                n_children,
                splits.gain,
            )
        )
        node, code, branch = decision.routes
        if node.size:
            self._routes.append((level.number[node], code, branch))

    def _made_splits(self) -> list[np.ndarray]:
        """Return the columns of all splits, without the nodes that turned out to have none."""
        columns = _gather(self._splits)
        split = np.flatnonzero(columns[5])
        return [column.take(split) for column in columns]

    def write_children(self, front: Front, level: Level, decision: Decision) -> tuple[Level, np.ndarray]:
        """Enter the children of a level.

        Returns
        -------
        Level
            The children, branch by branch.
        ndarray of shape (n,)
            The position in that level of each row of the first feature's order; -1 where the node was not split.
        """
        widest = int(decision.n_branches.max())
        exists = (np.arange(widest)[:, None] < decision.n_branches).ravel()  # (widest m)
        at = np.flatnonzero(exists)
        m = level.number.size
        branch, parent = at // m, at % m
        child = (np.cumsum(exists) - 1).take(decision.branch * m + front.node_of_place)
        rows = front.order[0]
        if at.size < exists.size:  # some nodes are done
            child[decision.branch < 0] = -1
            on = np.flatnonzero(child >= 0)
            content = front.target.content(rows.take(on), child.take(on), at.size)
        else:
            content = front.target.content(rows, child, at.size)
        self.depth += 1
        children = Level(self._first_child.take(parent) + branch, level.tree.take(parent), content)
        self._write_births(children)
        return children, child

    def best_first(self, max_leaf_nodes: float) -> np.ndarray:
        """Mark the splits that a heap would make first, largest gain first, within the allowed leaves: (count,)."""
        number, _, _, _, first_child, n_children, gain = self._made_splits()
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

    def trees(self, max_leaf_nodes: float) -> list[Tree]:
        """Return the finished trees."""
        births, splits = _gather(self._births), self._made_splits()
        tree_of = np.full(self.count, -1)  # a number reserved for a child that never was belongs to no tree
        tree_of[births[0]] = births[1]
        carried_out = tree_of[splits[4]] >= 0
        splits = [part[carried_out] for part in splits]
        made = self.best_first(max_leaf_nodes) if np.isfinite(max_leaf_nodes) else np.ones(self.count, dtype=bool)
        trees = []
        for t in range(self.roots.number.size):
            mine = np.flatnonzero(tree_of == t)
            tree = self._tree(mine, births, splits)
            extra = ~made[mine] & ~tree.is_leaf  # splits that only looked like the best before later ones were known
            if extra.any():
                tree.collapse(np.flatnonzero(extra))
            trees.append(tree)
        return trees

    def _tree(self, mine: np.ndarray, births: list[np.ndarray], splits: list[np.ndarray]) -> Tree:
        k = mine.size
        position = np.full(self.count, -1)
        position[mine] = np.arange(k)
        own = position[births[0]] >= 0
        at = position[births[0][own]]
        depth, rows, weight, impurity, value = (_scatter(part[own], at, k) for part in births[2:])
        own = position[splits[0]] >= 0
        at = position[splits[0][own]]
        fills = (-1, np.nan, 0, -1, 0, 0)
        asked = [_scatter(part[own], at, k, fill) for part, fill in zip(splits[1:], fills, strict=True)]
        feature, threshold, missing_branch, first_child, n_children, gain = asked
        first_child[at] = position[first_child[at]]
        route_start, route = self._route(position, feature)
        return Tree(
            feature=feature,
            threshold=threshold,
            missing_branch=missing_branch,
            first_child=first_child,
            n_children=n_children,
            route_start=route_start,
            route=route,
            n_values=self.n_values,
            depth=depth,
            n_node_samples=rows,
            weighted_n_node_samples=weight,
            impurity=impurity,
            value=value,
            gain=gain,
        )

    def _route(self, position: np.ndarray, feature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lay the branches of each nominal split out by value code, and last the missing cell's."""
        nominal = np.flatnonzero((feature >= 0) & (self.n_values[feature] > 0))
        width = self.n_values[feature[nominal]] + 1
        start = np.full(feature.size, -1)
        start[nominal] = np.cumsum(width) - width
        route = np.full(int(width.sum()), -1)
        if nominal.size:
            number, code, branch = _gather(self._routes)
            node = position[number]
            own = (node >= 0) & (start[node] >= 0)
            node, code, branch = node[own], code[own], branch[own]
            code = np.where(np.isinf(code), self.n_values[feature[node]], code).astype(np.intp)
            route[start[node] + code] = branch
        return start, route


def _gather(entries: list[tuple[np.ndarray, ...]]) -> list[np.ndarray]:
    return [np.concatenate(column) for column in zip(*entries, strict=True)]


def _scatter(values: np.ndarray, at: np.ndarray, k: int, fill: float = 0) -> np.ndarray:
    table = np.full((k, *values.shape[1:]), fill, dtype=values.dtype)
    table[at] = values
    return table
