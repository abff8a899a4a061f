"""A learner's tree beside the tree of the definition, node by node."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable

import numpy as np
import pytest

from bakeoff.learners.definitions.decision_tree import Node
from bakeoff.learners.definitions.splits import Impurity, Number, Question, answers, gain, gain_ratio, midpoints
from bakeoff.learners.trees import Tree

EQUAL = 1e-12
"""Gains that differ by less are equal: their last bits are rounding."""


def as_node(tree: Tree, X: np.ndarray, y: np.ndarray, k: int = 0, rows: np.ndarray | None = None) -> Node:
    """Return a learner's tree from its node k down as the definition's, given its training rows X (n, d) and y (n,)."""
    rows = np.arange(len(y)) if rows is None else rows
    question = question_at(tree, k)
    node = Node(rows, y[rows], question)
    if question is not None:
        children = parts(X, rows, question).items()
        for child, (answer, part) in zip(tree.children(k), children, strict=True):
            node.branches[answer] = as_node(tree, X, y, child, part)
    return node


def question_at(tree: Tree, k: int) -> Question | None:
    """Return the question that node k asks; None if it is a leaf."""
    if tree.feature[k] < 0:
        return None
    threshold = float(tree.threshold[k])
    return int(tree.feature[k]), None if math.isnan(threshold) else threshold


def parts(X: np.ndarray, rows: np.ndarray, question: Question) -> dict[object, np.ndarray]:
    """Return the rows that give each answer; a learner's branches are in the same order."""
    feature, threshold = question
    return {answer: rows[mask] for answer, mask in answers(X[rows, feature], threshold).items()}


def cut_nodes(node: Node, tree: Tree, k: int = 0) -> list[int]:
    """Return the nodes of a learner's tree, from k down, below which the same tree as a definition's is cut off."""
    if not node.branches:
        return [k] if tree.feature[k] >= 0 else []
    children = zip(tree.children(k), node.branches.values(), strict=True)
    return [number for child, branch in children for number in cut_nodes(branch, tree, child)]


def assert_same_prediction(node: Node, tree: Tree, k: int, classes: np.ndarray | None) -> None:
    """Compare what two nodes hold: as many rows, and the same class fractions, or without classes the same mean."""
    assert tree.n_node_samples[k] == len(node.rows)
    if classes is None:
        assert tree.value[k, 0] == pytest.approx(np.mean(node.targets), abs=EQUAL)
    else:
        counts = (node.targets[:, None] == classes).sum(axis=0)
        np.testing.assert_array_equal(tree.value[k], counts / counts.sum())


def assert_same_cut_tree(node: Node, tree: Tree, k: int = 0) -> None:
    """Compare two trees whose questions must be the same: where one has a leaf, so has the other."""
    assert tree.n_node_samples[k] == len(node.rows)
    if not node.branches:
        assert question_at(tree, k) is None
        return
    assert question_at(tree, k) == node.question
    for child, branch in zip(tree.children(k), node.branches.values(), strict=True):
        assert_same_cut_tree(branch, tree, child)


class Comparison:
    """A walk down both trees at once.

    Parameters
    ----------
    X, y : ndarray of shape (n, d) and (n,)
        The rows that both trees were grown from.
    impurity, by_ratio, nominal
        As of the definition.
    exact : bool
        Whether the questions must be the same. Otherwise another question passes if rounding alone tells the two
        apart, and the walk goes on only if it parts the rows in the same way.
    features : callable, optional
        The features that a node with these rows could ask; all of them by default.
    classes : ndarray of shape (c,), optional
        Those of the learner; by default the ones in y.
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        impurity: Impurity,
        by_ratio: bool = False,
        nominal: Collection[int] = (),
        exact: bool = False,
        features: Callable[[np.ndarray], Iterable[int]] | None = None,
        classes: np.ndarray | None = None,
    ) -> None:
        self.X = X
        self.y = y
        self.impurity = impurity
        self.by_ratio = by_ratio
        self.nominal = nominal
        self.exact = exact
        self.features = features or (lambda rows: range(X.shape[1]))
        self.classes = np.unique(y) if classes is None and y.dtype.kind != "f" else classes

    def assert_same(self, node: Node, tree: Tree, k: int = 0) -> int:
        """Compare from the definition's node and the learner's node k down; return how many nodes were compared."""
        assert_same_prediction(node, tree, k, self.classes)
        asked = question_at(tree, k)
        if not node.branches:
            assert asked is None
            return 1
        assert asked is not None
        assert node.question is not None
        if asked != node.question:
            assert not self.exact, f"{asked} instead of {node.question}"
            self.assert_best(node.rows, asked)
            self.assert_best(node.rows, node.question)
        branches = {tuple(branch.rows.tolist()): branch for branch in node.branches.values()}
        children = [tuple(part.tolist()) for part in parts(self.X, node.rows, asked).values()]
        if set(children) != set(branches):
            return 1
        return 1 + sum(
            self.assert_same(branches[rows], tree, child)
            for child, rows in zip(tree.children(k), children, strict=True)
        )

    def assert_best(self, rows: np.ndarray, question: Question) -> None:
        """Check that no rounding could make another question better than this one."""
        merits = {j: self.merits_of_feature(rows, j) for j in self.features(rows)}
        feature, threshold = question
        assert threshold in merits[feature]
        sure = [min(of_feature.values()) for of_feature in merits.values() if of_feature]
        assert float(merits[feature][threshold]) >= float(max(sure)) - EQUAL

    def merits_of_feature(self, rows: np.ndarray, feature: int) -> dict[float | None, Number]:
        """Return the merit of each cut of a feature whose gain is, but for rounding, its largest."""
        y = self.y[rows]
        thresholds = [None] if feature in self.nominal else midpoints(self.X[rows, feature])
        splits = {s: [self.y[part] for part in parts(self.X, rows, (feature, s)).values()] for s in thresholds}
        gains = {s: gain(y, split, self.impurity) for s, split in splits.items() if len(split) > 1}
        best = max(gains.values(), default=0)
        return {
            s: gain_ratio(y, splits[s], self.impurity) if self.by_ratio else own
            for s, own in gains.items()
            if own >= best - EQUAL
        }
