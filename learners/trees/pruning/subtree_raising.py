"""Pessimistic pruning with subtree raising (C4.5): the largest branch of a node may take the place of the node.

From the bottom up, a node becomes a leaf, or is replaced by its largest branch, or stays, whichever is expected to make
the fewest errors by the estimate of `pessimistic`. If a branch is raised, all rows of the node go down it, and it is
pruned anew with them: its leaves have other counts, and rows with a nominal value that no row of the branch had get a
leaf of their own. `bakeoff.learners.definitions.c45` is the same, with a recursion instead of the stack.

Cost: O(n depth) to send rows down once, and again for each raised branch; for each node O(r height), where r rows of
its other branches would go down the largest one.

Reference: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, chapter 4 and the program's ``prune.c``.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.trees.pruning.branch_table import BranchTable, TrainingClasses
from bakeoff.learners.trees.pruning.pessimistic import TOLERATED_ERRORS, limit_errors
from bakeoff.learners.trees.tree import Tree


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
    """One pass over a tree.

    Parameters
    ----------
    table : BranchTable
        Modified.
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
        """Prune from the bottom up: a node is opened before its branches, and judged after them."""
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
        """Decide what becomes of a node whose branches are pruned; return the branch that takes its place, if any.

        Parameters
        ----------
        node : int
        parts : list of ndarray
            The rows of each branch.
        """
        # The branches themselves may have been replaced since the node was opened, but not their order.
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
        """Return the branch of most weight, the last of equals, given the rows of each."""
        weights = [float(self._rows.weight[part].sum()) for part in parts]
        return max(range(len(parts)), key=lambda branch: (weights[branch], branch))

    def _estimate_with(self, raised: int, moved: np.ndarray) -> float:
        """Return the errors that a node is expected to make with the rows moved (r,) besides its own."""
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
