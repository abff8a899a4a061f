"""C4.5: a tree grown by gain ratio with the additional rules of Quinlan's program, and pruned by its training errors.

A node with n rows of c classes is split so that branches have at least M rows:

    numeric feature    each side of a cut has at least max(M, min(25, n / (10 c))) rows; the best cut is taken,
                       and its gain is reduced by log2(number of such cuts) / n, the bits needed to name the cut
    nominal feature    a branch for each value; at least two branches have M rows
    choice             the largest gain ratio among the features with at least the average gain

A node with fewer than 2 M rows, or without such a split, is a leaf. In Quinlan's program, a threshold is the largest
training value that does not exceed the midpoint, and equality goes left; here it is the midpoint, and equality goes
right.

The grown tree is pruned from the bottom up. The expected number of errors of a leaf with N rows, E of which are not in
its majority class, is U(E, N), the upper limit of a binomial distribution at confidence CF. Each node becomes the one
of three trees with the fewest expected errors; the first one wins if the difference is at most 0.1:

    1. a leaf                  U(E, N) of the node
    2. the largest branch      raised to replace the node, whose rows all go down this branch
    3. the unchanged tree      the sum of U(E, N) over its leaves

Cost: O(n² d log n) to grow each level, O(n depth²) to prune.

References: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, chapters 2 to 4, and "Improved use of continuous
attributes in C4.5", Journal of Artificial Intelligence Research 4, 1996. Where the book is ambiguous, this follows J48
in WEKA 3.9: among equally large branches, the last one is raised.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from bakeoff.learners.definitions.decision_tree import Node, split
from bakeoff.learners.definitions.splits import (
    ROUND_OFF,
    Question,
    answers,
    entropy,
    first_of_largest,
    gain,
    gain_ratio,
    midpoints,
    parts_of,
)

SLACK_BITS = 1e-3
"""A gain may be below the average by this amount."""

LEAST_BITS = 1e-6
"""A gain or a gain ratio up to this value counts as zero."""

TOLERATED_ERRORS = 0.1
"""The smaller tree is chosen even if it is expected to make this number of additional errors."""

MANY_VALUES_PER_ROW = 0.3
"""A nominal feature with at least this many values per training row does not count in the average."""


@dataclass(frozen=True)
class Rules:
    """The growth rules, each of which is optional, and M, the minimum number of rows in a branch."""

    least_rows: int = 2
    average_gain: bool = True
    cut_minimum: bool = True
    two_branches: bool = True
    mdl_correction: bool = True


class Candidate(NamedTuple):
    """The best question about a feature, its gain after subtracting the cost of a cut, and its gain ratio."""

    question: Question
    gain: float
    ratio: float


def grow_c45(X: np.ndarray, y: np.ndarray, nominal: Collection[int] = (), rules: Rules | None = None) -> Node:
    """Grow a tree from rows X (n, d) and labels y (n,), without pruning.

    >>> X, y = np.array([[1.0, 2.0], [6.0, 2.0], [3.0, 4.0], [6.0, 5.0]]), np.array([0, 0, 1, 1])
    >>> grow_c45(X, y).question
    (1, 3.0)
    """
    chosen = rules or Rules()
    n_classes = len(np.unique(y))
    averaged = averaged_features(X, nominal)

    def pick(rows: np.ndarray) -> Question | None:
        candidates = list_candidates(X[rows], y[rows], nominal, n_classes, chosen)
        return choose(candidates, averaged, chosen)

    return split(np.arange(len(y)), X, y, pick, min_rows=2 * chosen.least_rows)


def averaged_features(X: np.ndarray, nominal: Collection[int]) -> list[int]:
    """Return the features of X (n, d) to include in the average gain: all, if none has few values."""
    n, d = X.shape
    few = [j for j in range(d) if j not in nominal or len(np.unique(X[:, j])) < MANY_VALUES_PER_ROW * n]
    return few or list(range(d))


def list_candidates(
    X: np.ndarray, y: np.ndarray, nominal: Collection[int], n_classes: int, rules: Rules
) -> list[Candidate]:
    """Return the best question about each feature that can split rows X (n, d) with labels y (n,)."""
    candidates = []
    for j in range(X.shape[1]):
        ask = ask_value if j in nominal else ask_cut
        candidate = ask(X[:, j], y, j, n_classes, rules)
        if candidate is not None:
            candidates.append(candidate)
    return candidates


def ask_value(column: np.ndarray, y: np.ndarray, j: int, n_classes: int, rules: Rules) -> Candidate | None:
    """Return the split by the values of a nominal column (n,), or None if too few branches are large enough."""
    parts = parts_of(y, column, None)
    n_large = sum(len(part) >= rules.least_rows for part in parts)
    n_required = 2 if rules.two_branches else len(parts)
    if len(parts) < 2 or n_large < n_required:
        return None
    return Candidate((j, None), float(gain(y, parts, entropy)), gain_ratio(y, parts))


def ask_cut(column: np.ndarray, y: np.ndarray, j: int, n_classes: int, rules: Rules) -> Candidate | None:
    """Return the cut of a numeric column (n,) with the largest gain, or None if no allowed cut has a gain."""
    n = len(y)
    least = float(rules.least_rows)
    if rules.cut_minimum:
        least = max(least, min(25.0, n / (10 * n_classes)))
    cuts = [s for s in midpoints(column) if least <= np.count_nonzero(column < s) <= n - least]
    if not cuts:
        return None
    gains = [float(gain(y, parts_of(y, column, s), entropy)) for s in cuts]
    best = first_of_largest(gains, ROUND_OFF)
    cut = cuts[best]
    cost = math.log2(len(cuts)) / n if rules.mdl_correction else 0.0
    worth = gains[best] - cost
    if rules.mdl_correction and worth <= LEAST_BITS:
        return None
    # The ratio divides the remaining gain by the entropy of the sizes of both sides.
    sizes = np.where(column < cut, "left", "right")
    return Candidate((j, cut), worth, worth / float(entropy(sizes)))


def choose(candidates: list[Candidate], averaged: Collection[int], rules: Rules) -> Question | None:
    """Return the question with the largest gain ratio (ties: the first) among those with at least average gain."""
    if rules.average_gain:
        candidates = [one for one in candidates if one.question[1] is None or one.gain > LEAST_BITS]
        gains = [one.gain for one in candidates if one.question[0] in averaged]
        average = sum(gains) / len(gains) if gains else math.inf
        candidates = [one for one in candidates if one.gain >= average - SLACK_BITS and one.ratio > LEAST_BITS]
    if not candidates:
        return None
    ratios = [one.ratio for one in candidates]
    return candidates[first_of_largest(ratios, ROUND_OFF)].question


def collapse(node: Node) -> None:
    """Collapse, in place and from the root down, each subtree that makes no fewer training errors than a leaf."""
    if sum(count_errors(leaf.targets) for leaf in leaves_of(node)) >= count_errors(node.targets):
        node.branches = {}
    for child in node.branches.values():
        collapse(child)


def prune(node: Node, X: np.ndarray, y: np.ndarray, confidence: float = 0.25, raising: bool = True) -> None:
    """Prune the tree in place, from the bottom up, given its training rows X (n, d) and labels y (n,)."""
    if not node.branches:
        return
    for child in node.branches.values():
        prune(child, X, y, confidence, raising)
    as_leaf = limit_of_errors(node.targets, confidence)
    as_tree = sum(limit_of_errors(leaf.targets, confidence) for leaf in leaves_of(node))
    raised = send_down(largest_branch(node), node.rows, X, y)
    as_branch = sum(limit_of_errors(leaf.targets, confidence) for leaf in leaves_of(raised)) if raising else math.inf
    if as_leaf <= min(as_tree, as_branch) + TOLERATED_ERRORS:
        node.branches = {}
    elif as_branch <= as_tree + TOLERATED_ERRORS:
        node.question = raised.question
        node.branches = raised.branches
        prune(node, X, y, confidence, raising)


def largest_branch(node: Node) -> Node:
    """Return the branch with the most rows (ties: the last)."""
    return max(reversed(node.branches.values()), key=lambda branch: len(branch.rows))


def send_down(node: Node, rows: np.ndarray, X: np.ndarray, y: np.ndarray) -> Node:
    """Return the same subtree with these rows; a value without a branch gets a new leaf."""
    filled = Node(rows, y[rows], node.question)
    if not node.branches or node.question is None:
        return filled
    feature, threshold = node.question
    for answer, part in answers(X[rows, feature], threshold).items():
        branch = node.branches.get(answer, Node(rows, y[rows]))
        filled.branches[answer] = send_down(branch, rows[part], X, y)
    return filled


def leaves_of(node: Node) -> list[Node]:
    """Return the leaves below a node, from left to right."""
    if not node.branches:
        return [node]
    return [leaf for child in node.branches.values() for leaf in leaves_of(child)]


def count_errors(y: np.ndarray) -> int:
    """Return the number of labels (n,) that are not in the majority class."""
    _, counts = np.unique(y, return_counts=True)
    return len(y) - int(counts.max())


def limit_of_errors(y: np.ndarray, confidence: float) -> float:
    """Return U(E, N) for labels (N,): the expected number of errors of a leaf with these labels.

    For E = 0, it solves (1 - U / N)^N = CF; otherwise it is the normal approximation with continuity correction.

    >>> round(limit_of_errors(np.zeros(6), 0.25), 3)
    1.238
    """
    n = len(y)
    errors = count_errors(y)
    if errors == 0:
        return float(n * (1 - confidence ** (1 / n)))
    z = NormalDist().inv_cdf(1 - confidence)
    p = (errors + 0.5) / n
    deviation = math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return n * (p + z**2 / (2 * n) + z * deviation) / (1 + z**2 / n)
