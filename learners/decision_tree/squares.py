"""Gini impurity of many classes without a running sum for each: the sums of squares run along themselves.

With L_k and R_k the rows of class k left and right of a cut, W_L and W_R in all, the best cut has the largest

    Σ_k L_k² / W_L + Σ_k R_k² / W_R

When a row of class k passes from right to left, as the o-th of its class in the node, Σ L² grows by 2o - 1 and Σ R²
falls by 2(T_k - o) + 1.  So two running sums, of o and of T_k, replace one for each class.  The o themselves come from
running counts of several classes packed into one 64-bit word: its fields need hold no more than the largest node,
since differences are right even when sums along the whole table overflow.

Cost: O(n) a feature and level, times one word for every 64 / log2(rows of the largest node) classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from learners.decision_tree.block import Block
    from learners.decision_tree.targets import Labels

WORD = 64

SAFE = 1 << 15
"""The fourth power of so many rows is within 64 bits."""


def branch_squares(
    block: Block, labels: Labels, at: np.ndarray, node: np.ndarray, pair: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of the left branch, and Σ L² and Σ R², at places (q,) with their nodes and pairs: each (q,)."""
    counts, b = _class_counts(block), block.values.shape[0]
    codes = labels.codes_of(block.order)  # (b, n)
    of_class = counts.ravel().take(block.node * counts.shape[1] + codes)  # (b, n), the T_k
    number = _numbers(block, codes, counts)  # (b, n), the o
    squares = (counts * counts).sum(axis=1)  # (m,)
    rows = at - _before(np.ones_like(squares) * block.front.rows_in_node, b).take(pair)
    rows += 1
    passed = np.cumsum(of_class).take(at) - _before(squares, b).take(pair)
    own = np.cumsum(number).take(at) - _before((squares + block.front.rows_in_node) // 2, b).take(pair)
    left = 2 * own - rows
    return rows, left, squares.take(node) - 2 * passed + left


def _before(own: np.ndarray, b: int) -> np.ndarray:
    """Sum what nodes (m,) hold over all pairs that stand before each of the b m pairs."""
    repeated = np.tile(own, b)
    return np.cumsum(repeated) - repeated


def _class_counts(block: Block) -> np.ndarray:
    """Return the rows of each class in each node, (m, c)."""
    sums = block.front.sums
    return np.vstack([block.front.rows_in_node - sums.sum(axis=0), sums]).T.astype(np.int64)


def _numbers(block: Block, codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Number each node's rows of each class, from 1, along every feature: (b, n)."""
    c, b = counts.shape[1], codes.shape[0]
    bits = int(counts.max()).bit_length()
    field = np.arange(c) % (WORD // bits) * bits
    word = np.arange(c) // (WORD // bits)
    shift = field.astype(np.uint64).take(codes)
    number = np.zeros(codes.shape, dtype=np.uint64)
    for w in range(int(word[-1]) + 1):
        unit = np.where(word == w, np.uint64(1) << field.astype(np.uint64), np.uint64(0))
        run = np.cumsum(unit.take(codes)).reshape(codes.shape)
        before = _before((counts.astype(np.uint64) * unit).sum(axis=1), b)
        run -= np.repeat(before, np.tile(block.front.rows_in_node, b)).reshape(codes.shape)
        run >>= shift
        if w == 0 and word[-1] == 0:
            number = run
        else:
            np.copyto(number, run, where=(word == w).take(codes))
    number &= np.uint64((1 << bits) - 1)
    return number.view(np.int64)


def gain_of_squares(
    block: Block, rows: np.ndarray, left: np.ndarray, right: np.ndarray, node: np.ndarray
) -> np.ndarray:
    """Return the gains, times the square of the node's rows, of cuts with given rows and squares: shape (q,)."""
    counts = _class_counts(block)
    whole, squares = counts.sum(axis=1).take(node), (counts * counts).sum(axis=1).take(node)
    if counts.sum(axis=1).max() > SAFE:
        rows, whole = rows.astype(np.float64), whole.astype(np.float64)
    rest = whole - rows
    # Whole numbers: nothing is lost where the gain is a small difference of large sums.
    return np.maximum(((left * rest + right * rows) * whole - squares * rows * rest) / (rows * rest), 0.0)
