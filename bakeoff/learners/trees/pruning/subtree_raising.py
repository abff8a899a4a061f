"""Subtree raising (C4.5), with pessimistic pruning: the largest branch of a node may take the place of the node.

From the bottom up, a node becomes a leaf, or is replaced by its largest branch, or remains, whichever makes the fewest
errors according to the pessimistic estimate. If a branch is raised, all rows of the node go down it, and it is pruned
again with them: its leaves have different counts, and rows with a nominal value that did not occur in the branch get a
new leaf. `bakeoff.learners.definitions.c45` defines the same algorithm with recursion instead of a stack.

A *slot* is an answer to the question of a node: a numeric feature has two, and a nominal one has one for each value and
one for missing cells. It contains the child that the answer leads to, so a node is replaced by changing this number.

Cost: O(n depth) to send rows down once, and again for each raised branch; for each node O(r height), where r rows of
its other branches would go down the largest one.

Reference: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, chapter 4 and the program's ``prune.c``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bakeoff.learners.trees.pruning.reduced_error import TOLERATED_ERRORS, limit_errors
from bakeoff.learners.trees.tree import AT_LEAVES, Tree

NO_CHILD = -1


@dataclass(frozen=True)
class TrainingClasses:
    """The rows that a tree was grown on.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Nominal cells are codes, missing cells NaN.
    codes : ndarray of shape (n,), int
        The classes.
    weight : ndarray of shape (n,)
    n_classes : int
        c.
    impurity : callable
        Maps class weights (k, c) to the impurities of nodes (k,).
    """

    X: np.ndarray
    codes: np.ndarray
    weight: np.ndarray
    n_classes: int
    impurity: Callable[[np.ndarray], np.ndarray]

    def count(self, rows: np.ndarray) -> np.ndarray:
        """Return the class weights of rows (r,): shape (c,)."""
        return np.bincount(self.codes[rows], weights=self.weight[rows], minlength=self.n_classes)

    def count_by_key(self, rows: np.ndarray, key: np.ndarray, n_keys: int) -> np.ndarray:
        """Return the class weights of the rows (r,) of each key, given their keys (r,): shape (n_keys, c)."""
        c = self.n_classes
        cell = key * c + self.codes[rows]
        counts = np.bincount(cell, weights=self.weight[rows], minlength=n_keys * c)
        return counts.reshape(n_keys, c)


class BranchTable:
    """The nodes of a tree and the slots between them.

    Parameters
    ----------
    tree : Tree
        It is not modified.
    rows : TrainingClasses

    Attributes
    ----------
    root : int
    is_leaf : ndarray of bool
        Whether each node is a leaf; new leaves follow the k nodes of the tree.
    next_node : ndarray of shape (slots,), int
        The child that each slot leads to; -1 for a value that did not occur.
    """

    def __init__(self, tree: Tree, rows: TrainingClasses) -> None:
        self.root = 0
        self.is_leaf = tree.is_leaf
        self._tree = tree
        self._rows = rows
        n_values = tree.n_values[np.maximum(tree.feature, 0)]
        is_nominal = tree.route_start >= 0
        n_slots = np.where(is_nominal, n_values + 1, 2)
        n_slots[tree.is_leaf] = 0
        self._slots_end = np.cumsum(n_slots)
        self._slots_start = self._slots_end - n_slots
        self._missing_slot = np.where(is_nominal, n_values, tree.missing_branch)
        self.next_node = np.full(int(n_slots.sum()), NO_CHILD)
        for node in np.flatnonzero(~tree.is_leaf).tolist():
            self.next_node[self._slots_of(node)] = self._list_original_children(node)
        self._parent_slots = self._find_parent_slots()

    def _slots_of(self, node: int) -> slice:
        return slice(self._slots_start[node], self._slots_end[node])

    def _list_original_children(self, node: int) -> np.ndarray:
        first = self._tree.first_child[node]
        start = self._tree.route_start[node]
        if start < 0:
            return np.array([first, first + 1])
        slots = self._slots_of(node)
        branch = self._tree.route[start : start + slots.stop - slots.start]
        return np.where(branch >= 0, first + branch, NO_CHILD)

    def _find_parent_slots(self) -> dict[int, np.ndarray]:
        """Return the slots that lead to each node but the root."""
        by_child = np.argsort(self.next_node, kind="stable")
        child, first = np.unique(self.next_node[by_child], return_index=True)
        if child.size == 0:
            return {}
        slots = np.split(by_child, first[1:])
        return dict(zip(child.tolist(), slots, strict=True))

    def find_slots(self, node: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the slots that rows (r,) take at inner nodes (r,): shape (r,)."""
        tree = self._tree
        cells = self._rows.X[rows, tree.feature[node]]
        is_missing = np.isnan(cells)
        is_nominal = tree.route_start[node] >= 0
        answer = np.where(is_nominal, cells, cells >= tree.threshold[node])
        answer = np.where(is_missing, self._missing_slot[node], answer)
        return self._slots_start[node] + answer.astype(np.intp)

    def send_down(self, node: int, rows: np.ndarray) -> np.ndarray:
        """Return where rows (r,) stop below a node: a leaf, or -1 - s if slot s leads nowhere."""
        stop = np.full(rows.size, node)
        moving = np.flatnonzero(~self.is_leaf[stop])
        while moving.size:
            slot = self.find_slots(stop[moving], rows[moving])
            child = self.next_node[slot]
            stop[moving] = np.where(child >= 0, child, -1 - slot)
            moving = moving[(child >= 0) & ~self.is_leaf[child]]
        return stop

    def list_children(self, node: int) -> list[int]:
        """Return the children of a node in the order of its slots."""
        children = self.next_node[self._slots_of(node)].tolist()
        return [child for child in dict.fromkeys(children) if child >= 0]

    def add_leaf(self, slot: int) -> None:
        """Make a slot that leads nowhere lead to a new leaf."""
        leaf = self.is_leaf.size
        self.is_leaf = np.append(self.is_leaf, True)
        self.next_node[slot] = leaf
        self._parent_slots[leaf] = np.array([slot])

    def make_leaf(self, node: int) -> None:
        """Remove everything below a node."""
        self.is_leaf[node] = True

    def replace(self, node: int, by: int) -> None:
        """Replace a node with another one, which is one of its branches."""
        if node == self.root:
            self.root = by
            return
        slots = self._parent_slots[node]
        self.next_node[slots] = by
        self._parent_slots[by] = slots

    def make_tree(self) -> Tree:
        """Return the current tree as flat arrays, with the contents of its nodes recounted."""
        nodes, depth, first_child, n_children = self._number_nodes()
        old = np.array(nodes)
        is_leaf = self.is_leaf[old]
        inner = np.where(is_leaf, 0, old)  # new leaves have no entry in the arrays of the tree

        def take(name: str) -> np.ndarray:
            column = getattr(self._tree, name)
            return np.where(is_leaf, AT_LEAVES[name], column[inner]).astype(column.dtype)

        route_start, route = self._lay_out_routes(nodes, is_leaf)
        k = len(nodes)
        empty = Tree(
            feature=take("feature"),
            threshold=take("threshold"),
            missing_branch=take("missing_branch"),
            first_child=np.array(first_child),
            n_children=np.array(n_children),
            route_start=route_start,
            route=route,
            n_values=self._tree.n_values,
            depth=np.array(depth),
            n_node_samples=np.zeros(k, dtype=np.intp),
            weighted_n_node_samples=np.zeros(k),
            impurity=np.zeros(k),
            value=np.zeros((k, self._rows.n_classes)),
            gain=take("gain"),
        )
        return self._fill(empty)

    def _number_nodes(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """Return the nodes level by level, and their depths, first children, and numbers of children."""
        nodes = [self.root]
        depth = [0]
        first_child: list[int] = []
        n_children: list[int] = []
        for position, node in enumerate(nodes):  # the list grows during the iteration
            children = [] if self.is_leaf[node] else self.list_children(node)
            first_child.append(len(nodes) if children else -1)
            n_children.append(len(children))
            nodes.extend(children)
            depth.extend([depth[position] + 1] * len(children))
        return nodes, depth, first_child, n_children

    def _lay_out_routes(self, nodes: list[int], is_leaf: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the routes of each node begin (k,), and the concatenated routes of all nominal nodes."""
        start = np.full(len(nodes), -1)
        parts = [self._tree.route[:0]]
        end = 0
        for position in np.flatnonzero(~is_leaf).tolist():
            node = nodes[position]
            if self._tree.route_start[node] < 0:
                continue
            branch_of = {child: branch for branch, child in enumerate(self.list_children(node))}
            branches = [branch_of.get(child, NO_CHILD) for child in self.next_node[self._slots_of(node)].tolist()]
            start[position] = end
            end += len(branches)
            parts.append(np.array(branches))
        return start, np.concatenate(parts)

    def _fill(self, tree: Tree) -> Tree:
        """Count the rows at the nodes of a tree, in place, and return it."""
        rows = self._rows
        stop = tree.apply(rows.X)
        n_rows = np.bincount(stop, minlength=tree.node_count)
        counts = rows.count_by_key(np.arange(stop.size), stop, tree.node_count)
        counts = tree.sum_over_subtrees(counts)  # (k, c)
        weight = counts.sum(axis=1)
        impurity = rows.impurity(counts)
        impurity[np.count_nonzero(counts, axis=1) == 1] = 0.0
        tree.n_node_samples = tree.sum_over_subtrees(n_rows)
        tree.weighted_n_node_samples = weight
        tree.impurity = impurity
        tree.value = counts / weight[:, None]
        return tree


def prune_with_raising(tree: Tree, rows: TrainingClasses, confidence: float) -> Tree:
    """Return the pruned tree; the given one is not modified.

    Parameters
    ----------
    tree : Tree
    rows : TrainingClasses
        The rows that the tree was grown on.
    confidence : float
        C4.5's CF, above 0 and at most 0.5; a smaller one prunes more.
    """
    pruning = _RaisingPruning(BranchTable(tree, rows), rows, confidence)
    pruning.run()
    return pruning.table.make_tree()


class _RaisingPruning:
    """A pruning pass over a tree.

    Parameters
    ----------
    table : BranchTable
        The table, which is modified.
    rows : TrainingClasses
    confidence : float
    """

    def __init__(self, table: BranchTable, rows: TrainingClasses, confidence: float) -> None:
        self.table = table
        self._rows = rows
        self._confidence = confidence
        self._counts: dict[int, np.ndarray] = {}
        self._errors: dict[int, float] = {}
        self._parts: dict[int, list[np.ndarray]] = {}

    def run(self) -> None:
        """Prune from the bottom up: a node is visited before its branches, and judged after them."""
        all_rows = np.arange(self._rows.codes.size)
        stack: list[tuple[int, np.ndarray, bool]] = [(self.table.root, all_rows, False)]
        while stack:
            node, rows, is_open = stack.pop()
            if is_open:
                raised = self._judge(node, self._parts.pop(node))
                if raised is not None:
                    stack.append((raised, rows, False))
                continue
            self._counts[node] = self._rows.count(rows)
            if self.table.is_leaf[node]:
                self._errors[node] = self._limit(self._counts[node])
                continue
            parts = self._divide_rows(node, rows)
            self._parts[node] = parts
            stack.append((node, rows, True))
            for child, part in zip(self.table.list_children(node), parts, strict=True):
                stack.append((child, part, False))

    def _divide_rows(self, node: int, rows: np.ndarray) -> list[np.ndarray]:
        """Divide the rows of a node among its branches; a value without a branch gets a new leaf."""
        slot = self.table.find_slots(np.full(rows.size, node), rows)  # (r,)
        for free in np.unique(slot[self.table.next_node[slot] < 0]).tolist():
            self.table.add_leaf(free)
        child = self.table.next_node[slot]
        return [rows[child == each] for each in self.table.list_children(node)]

    def _judge(self, node: int, parts: list[np.ndarray]) -> int | None:
        """Decide what happens to a node whose branches are pruned; return the branch that replaces it, if any.

        Parameters
        ----------
        node : int
        parts : list of ndarray
            The rows of each branch.
        """
        # The branches themselves may have been replaced since the node was visited, but their order has not changed.
        children = self.table.list_children(node)
        largest = self._find_largest(parts)
        as_leaf = self._limit(self._counts[node])
        as_tree = sum(self._errors[child] for child in children)
        others = [part for branch, part in enumerate(parts) if branch != largest]
        raised = children[largest]
        as_branch = self._estimate_with(raised, np.concatenate(others))
        if as_leaf <= min(as_tree, as_branch) + TOLERATED_ERRORS:
            self.table.make_leaf(node)
            self._errors[node] = as_leaf
            return None
        if as_branch <= as_tree + TOLERATED_ERRORS:
            self.table.replace(node, raised)
            return raised
        self._errors[node] = as_tree
        return None

    def _find_largest(self, parts: list[np.ndarray]) -> int:
        """Return the branch with the largest weight (ties: the last), given the rows of each."""
        weights = [float(self._rows.weight[part].sum()) for part in parts]
        return max(range(len(parts)), key=lambda branch: (weights[branch], branch))

    def _estimate_with(self, raised: int, moved: np.ndarray) -> float:
        """Return the expected errors of a node with the moved rows (r,) in addition to its own."""
        stop = self.table.send_down(raised, moved)  # (r,), leaves, and free slots as negative numbers
        places, place_of_row = np.unique(stop, return_inverse=True)
        added = self._rows.count_by_key(moved, place_of_row, places.size)  # (places, c)
        before = np.zeros_like(added)
        known = np.flatnonzero(places >= 0)
        leaves = places[known].tolist()
        if leaves:
            before[known] = [self._counts[leaf] for leaf in leaves]
        errors_before = sum(self._errors[leaf] for leaf in leaves)
        errors_after = float(limit_errors(before + added, self._confidence).sum())
        return self._errors[raised] + errors_after - errors_before

    def _limit(self, counts: np.ndarray) -> float:
        return float(limit_errors(counts[None, :], self._confidence)[0])
