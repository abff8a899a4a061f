"""Many features of a whole level at once: running sums at every place, and how the best split is told from them.

A pair is a (feature, node) combination, numbered slot * m + node, so that pairs ascend along the sorted front and the
best candidate of every pair is one segmented maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bakeoff.learners.trees.rows.frontier import Frontier


@dataclass
class BranchLimits:
    """What a branch must hold: a number of rows and a weight (in the unit of the running sums)."""

    min_rows: int
    min_weight: float


@dataclass
class Splits:
    """The best split so far of each of the m nodes.

    Attributes
    ----------
    merit, gain : ndarray of shape (m,)
        What is maximised (gain or gain ratio), and the gain; -inf where a node has no split.
    feature : ndarray of shape (m,), int
    threshold : ndarray of shape (m,)
        Of a numeric feature, else NaN.
    missing_left : ndarray of shape (m,), bool
    """

    merit: np.ndarray
    gain: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray

    @classmethod
    def none(cls, m: int) -> Splits:
        """No split yet for any of m nodes."""
        worst = np.full(m, -np.inf)
        return cls(worst, worst.copy(), np.full(m, -1), np.full(m, np.nan), np.zeros(m, dtype=bool))

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


class FeatureBlock:
    """The front under b features, the same for every node or drawn for each: running sums at every place.

    A place is numbered along the flattened table of b features by n rows.

    Attributes
    ----------
    feature : ndarray of shape (b, m) or (b, 1), int
    total : ndarray of shape (p, m)
        The sums of each node, the weight first.
    """

    def __init__(self, frontier: Frontier, feature: np.ndarray) -> None:
        self.frontier, self.m = frontier, frontier.rows_in_node.size
        self.feature = feature
        self.node, self.start, self.n = frontier.node_of_position, frontier.start, frontier.order.shape[1]
        self.unit = frontier.target.fixed_point_weight is None
        self.whole_rows = self.unit or frontier.target.weights_are_counts  # whether weights are numbers of rows
        self.total = np.empty((frontier.sums.shape[0] + self.unit, self.m))
        self.total[0], self.total[self.unit :] = frontier.rows_in_node, frontier.sums

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        return self.frontier.sort_rows(self.feature)

    @property
    def order(self) -> np.ndarray:
        """Rows, by node and value, shape (b, n)."""
        return self._sorted[0]

    @property
    def changes(self) -> np.ndarray:
        """Whether the next place holds another value, shape (b, n), bool."""
        return self._sorted[1]

    @cached_property
    def missing(self) -> np.ndarray:
        """Missing cells, shape (b, m), int."""
        zero = self.frontier.column_offset(self.feature)
        zero = zero.take(self.node, axis=1) if zero.shape[1] > 1 else zero
        cells = self.frontier.columns.ravel().take(self.order + zero)
        return np.add.reduceat(np.isinf(cells), self.start, axis=1, dtype=np.intp)

    def feature_at(self, at: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the feature at places (q,) in these nodes: shape (q,)."""
        slot = at // self.n
        return self.feature[slot, node] if self.feature.shape[1] > 1 else self.feature[:, 0].take(slot)

    def cells(self, at: np.ndarray, feature: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the cells at places (..., q), which are of these features and nodes (q,): shape (..., q)."""
        n0 = self.frontier.columns.shape[1]
        row_zero = (feature - self.frontier.tree.take(node) if self.frontier.has_several_trees else feature) * n0
        return self.frontier.columns.ravel().take(self.order.ravel().take(at) + row_zero)

    def values_beside_cuts(self, at: np.ndarray, feature: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the values below and above the cuts after places (q,), of these features and nodes: (2, q)."""
        return self.cells(np.array([at, at + 1]), feature, node)

    def pairs(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the node of each place (q,), and its (feature, node) pair."""
        slot = at // self.n
        node = self.node.take(at - slot * self.n)
        return node, slot * self.m + node

    def before(self, own: np.ndarray) -> np.ndarray:
        """Sum what nodes (m,) hold over all that stand before each of the b m pairs: every feature has all the rows."""
        upto = np.cumsum(own)
        before: np.ndarray = np.arange(self.feature.shape[0], dtype=own.dtype)[:, None] * upto[-1] + (upto - own)
        return before.ravel()

    def sum_left(self, at: np.ndarray, pair: np.ndarray) -> np.ndarray:
        """Return the sums of the node's rows up to and including each place (q,), for ascending places: (p, q)."""
        target, left = self.frontier.target, np.empty((self.total.shape[0], at.size))
        runs = [
            run.take(at) for run in target.iter_prefix_sums(self.order.ravel())
        ]  # one after the other: they are large
        for run, own in zip(runs, target.pack_sums(self.frontier.sums, self.frontier.rows_in_node), strict=True):
            run -= self.before(own).take(pair)
        if self.unit:  # places are rows
            np.subtract(at + 1, self.before(self.frontier.rows_in_node).take(pair), out=left[0])
        for row, column in zip(left[self.unit :], target.unpack_sums(runs), strict=True):
            row[:] = column
        return left

    def sum_left_densely(self) -> list[np.ndarray]:
        """Return the sums of the node's rows up to and including each place, the weight first: each (b, n) or (n,)."""
        target, frontier = self.frontier.target, self.frontier
        runs = list(target.iter_prefix_sums(self.order))
        for run, own in zip(runs, target.pack_sums(frontier.sums, frontier.rows_in_node), strict=True):
            run -= (own.cumsum() - own).take(self.node)
        sums = target.unpack_sums(runs)
        return [self.rows_up_to, *sums] if self.unit else sums

    @cached_property
    def rows_up_to(self) -> np.ndarray:
        """How many rows of its node stand at a place or before it, whatever the feature: (n,)."""
        return np.arange(1, self.n + 1) - self.start.take(self.node)


def find_first_best(gain: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """Return the index of the first largest gain of each run of equal pairs (q,), where it is finite."""
    begin = np.flatnonzero(np.concatenate([[True], pair[1:] != pair[:-1]]))
    length = np.diff(begin, append=pair.size)
    best = np.maximum.reduceat(gain, begin)
    hits = np.flatnonzero(gain == np.repeat(best, length))
    first = np.concatenate([[True], pair[hits[1:]] != pair[hits[:-1]]])
    where = hits[first]
    return where[np.isfinite(gain[where])]


def choose_features(
    block: FeatureBlock,
    pair: np.ndarray,
    merit: np.ndarray,
    gain: np.ndarray,
    threshold: np.ndarray,
    missing_left: bool,
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
    some = np.flatnonzero(np.isfinite(table.max(axis=0)))
    chosen = chosen[some]
    best.merit[some], best.gain[some], best.threshold[some] = merit[chosen], gain[chosen], threshold[chosen]
    best.feature[some] = block.feature[slot[some], some if block.feature.shape[1] > 1 else 0]
    best.missing_left[some] = missing_left
    return best


def compute_split_information(share: np.ndarray) -> np.ndarray:
    """Return the entropy in bits of splitting into ``share`` and the rest, for shares strictly between 0 and 1."""
    rest = 1 - share
    return -(share * np.log2(share) + rest * np.log2(rest))
