"""Many features of a whole level at once: running sums at every place, and how the best split is told from them.

A pair is a (feature, node) combination, numbered slot * m + node, so that pairs ascend along the sorted front and the
best candidate of every pair is one segmented maximum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.decision_tree.front import Front


@dataclass
class Limits:
    """What a branch must hold: a number of rows and a weight (in the unit of the running sums)."""

    rows: int
    weight: float


@dataclass
class Splits:
    """The best split so far of each of the m nodes.

    Attributes
    ----------
    merit, gain : ndarray of shape (m,)
        What is maximised (gain or gain ratio), and the gain; -inf where a node has no split.
    feature : ndarray of shape (m,), int
    place : ndarray of shape (m,), int
        Of a numeric feature, where the last row of the left branch stands in the sorted front.
    missing_left : ndarray of shape (m,), bool
    """

    merit: np.ndarray
    gain: np.ndarray
    feature: np.ndarray
    place: np.ndarray
    missing_left: np.ndarray

    @classmethod
    def none(cls, m: int) -> Splits:
        """No split yet for any of m nodes."""
        worst = np.full(m, -np.inf)
        return cls(worst, worst.copy(), np.full(m, -1), np.full(m, -1), np.zeros(m, dtype=bool))

    def put(self, nodes: np.ndarray, other: Splits) -> None:
        """Write the splits of some nodes."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[nodes] = theirs

    def improve(self, other: Splits) -> None:
        """Take over what is better in other; of equals the lower feature, then what stood first."""
        tie = (other.merit == self.merit) & (other.feature < self.feature)
        better = np.flatnonzero((other.merit > self.merit) | (tie & np.isfinite(other.merit)))
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[better] = theirs[better]


class Block:
    """The front under b features, the same for every node or drawn for each: running sums at every place.

    Attributes
    ----------
    feature : ndarray of shape (b, m), int
    order : ndarray of shape (b, n)
        Rows, by node and value.
    changes : ndarray of shape (b, n), bool
        Whether the next place holds another value.
    total : ndarray of shape (p, m)
        The sums of each node, the weight first.
    missing : ndarray of shape (b, m), int
        Missing cells.
    """

    def __init__(self, front: Front, feature: np.ndarray) -> None:
        self.front, self.m = front, front.rows_in_node.size
        self.feature = feature if feature.shape[1] == self.m else np.repeat(feature, self.m, axis=1)
        self.node, self.start = front.node_of_place, front.start
        self.order, at = front.rows_by(feature, self.node)
        values = front.columns.ravel().take(at)
        self.changes = np.ones(values.shape, dtype=bool)
        np.not_equal(values[:, 1:], values[:, :-1], out=self.changes[:, :-1])
        self.unit = front.target.whole is None
        sums = front.sums
        self.before = np.cumsum(sums, axis=1) - sums  # (p, m)
        self.grand = sums.sum(axis=1)
        self.total = (np.vstack([front.rows_in_node, sums]) if self.unit else sums).astype(np.float64)
        self.missing = np.zeros(self.feature.shape, dtype=np.intp)  # (b, m)
        if front.has_missing:
            self.missing = np.add.reduceat(np.isinf(values), self.start, axis=1, dtype=np.intp)

    def left_sums(self, slot: np.ndarray, place: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the sums of the node's rows up to and including each place (q,), for ascending places: (p, q)."""
        upto = self.front.target.sums_upto(self.order.ravel(), slot * self.order.shape[1] + place)
        left = np.empty((self.total.shape[0], place.size))
        if self.unit:
            np.subtract(place + 1, self.start.take(node), out=left[0])
        for row, sums, before, grand in zip(left[int(self.unit) :], upto, self.before, self.grand, strict=True):
            np.subtract(sums, before.take(node) + slot * grand, out=row)
        return left


def first_best(gain: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """Return the index of the first largest gain of each run of equal pairs (q,), where it is finite."""
    begin = np.flatnonzero(np.concatenate([[True], pair[1:] != pair[:-1]]))
    length = np.diff(begin, append=pair.size)
    best = np.maximum.reduceat(gain, begin)
    hits = np.flatnonzero(gain == np.repeat(best, length))
    first = np.concatenate([[True], pair[hits[1:]] != pair[hits[:-1]]])
    where = hits[first]
    return where[np.isfinite(gain[where])]


def best_of_features(
    block: Block, pair: np.ndarray, merit: np.ndarray, gain: np.ndarray, place: np.ndarray, missing_left: bool
) -> Splits:
    """Of the best splits of (feature, node) pairs, keep for each node the one of largest merit, the first if equal."""
    b = block.feature.shape[0]
    best = Splits.none(block.m)
    if pair.size == 0:
        return best
    index = np.full(b * block.m, -1)
    index[pair] = np.arange(pair.size)
    table = np.where(index >= 0, merit[index], -np.inf).reshape(b, block.m)
    slot = np.argmax(table, axis=0)  # (m,)
    chosen = index.reshape(b, block.m)[slot, np.arange(block.m)]
    some = np.flatnonzero(chosen >= 0)
    chosen = chosen[some]
    best.merit[some], best.gain[some], best.place[some] = merit[chosen], gain[chosen], place[chosen]
    best.feature[some] = block.feature[slot[some], some]
    best.missing_left[some] = missing_left
    return best


def share_entropy(share: np.ndarray) -> np.ndarray:
    """Return the entropy in bits of splitting into ``share`` and the rest, for shares strictly between 0 and 1."""
    rest = 1 - share
    return -(share * np.log2(share) + rest * np.log2(rest))
