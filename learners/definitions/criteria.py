"""Criteria: the impurity of a node, and the decrease of impurity by a split.

With π_m the fraction of the node's rows that are of class m, the impurity Q of a node is its

    misclassification    1 - max_m π_m
    Gini index           Σ_m π_m (1 - π_m)
    entropy              -Σ_m π_m log2 π_m, in bits
    squared error        Average{(y_i - Average{y_i})²}, for regression

The best split of n rows into parts of n_1, n_2, … rows has the smallest n_1 Q_1 + n_2 Q_2 + …, and so the largest

    gain       = Q - Σ_v n_v/n Q_v                      information gain, where Q is the entropy
    gain ratio = information gain / -Σ_v n_v/n log2 n_v/n

The gain ratio penalises a split with many parts: without the penalty, a feature that identifies each row would have
the largest gain. Fractions of rows are exact, so that equally good splits have equal gains and rounding does not
decide between them.

Cost: O(n log n) for n targets.

References: J. R. Quinlan, "Induction of decision trees", Machine Learning 1, 1986 (information gain), and "C4.5", 1993
(gain ratio); L. Breiman and others, "Classification and Regression Trees", 1984 (Gini index, squared error).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

Number = float | Fraction
Impurity = Callable[[np.ndarray], Number]


def class_fractions(y: np.ndarray) -> list[Fraction]:
    """Return the fraction π_m of labels (n,) that each class has."""
    _, counts = np.unique(y, return_counts=True)
    return [Fraction(int(count), len(y)) for count in counts]


def misclassification(y: np.ndarray) -> Number:
    """Return the fraction of labels (n,) that are not of the majority class."""
    return 1 - max(class_fractions(y))


def gini(y: np.ndarray) -> Number:
    """Return the Gini index of labels (n,)."""
    return sum(p * (1 - p) for p in class_fractions(y))


def entropy(y: np.ndarray) -> Number:
    """Return the entropy of labels (n,), in bits.

    >>> round(entropy(np.array([1] * 11 + [0] * 9)), 5)
    0.99277
    """
    return sum(float(p) * math.log2(1 / p) for p in class_fractions(y))


def squared_error(y: np.ndarray) -> Number:
    """Return the mean squared deviation of targets (n,) from their average."""
    return float(np.mean((y - np.mean(y)) ** 2))


def gain(y: np.ndarray, parts: Sequence[np.ndarray], impurity: Impurity) -> Number:
    """Return the decrease of impurity when targets (n,) are split into parts."""
    return impurity(y) - sum(Fraction(len(part), len(y)) * impurity(part) for part in parts)


def gain_ratio(y: np.ndarray, parts: Sequence[np.ndarray], impurity: Impurity = entropy) -> float:
    """Return the information gain divided by the entropy, in bits, of the part sizes.

    >>> parts = [np.array([1] * 4), np.array([1] * 5 + [0] * 11)]
    >>> round(gain_ratio(np.concatenate(parts), parts), 5)
    0.38223
    """
    answers = np.repeat(np.arange(len(parts)), [len(part) for part in parts])  # (n,), the part of each row
    return float(gain(y, parts, impurity)) / float(entropy(answers))
