"""Cuts of numeric features of few values: rows are counted by node, feature, value and class, and nothing is sorted.

With N_k(v) the rows of class k that have value v of a feature in a node, the left branch of the cut after v holds

    L_k(v) = Σ_{u <= v} N_k(u)

so one count of all keys (node, feature, value, class), and one running sum along values, give what lies left of every
cut.  A cut is only between neighbouring values that the node holds.  The rest is as with sorted rows (see `numeric`),
and so are the trees, to the last bit.

Cost: O(n d) a level to count, and O(m d v c) to sum and judge m nodes with v values.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.trees.rows.binning import Bins
from bakeoff.learners.trees.rows.class_target import ClassTarget
from bakeoff.learners.trees.rows.frontier import Frontier
from bakeoff.learners.trees.splitting.feature_block import BranchLimits, FeatureBlock


class HistogramBlock(FeatureBlock):
    """The front under b neighbouring features, the same for every node.

    A place is a combination of node, feature and value, numbered (node * b + slot) * v + rank.
    """

    def __init__(self, frontier: Frontier, feature: np.ndarray, bins: Bins) -> None:
        super().__init__(frontier, feature)
        assert isinstance(frontier.target, ClassTarget)
        self.labels, self.bins = frontier.target, bins
        self.b, self.v = feature.shape[0], bins.values.shape[1]
        node = np.full(bins.flat_codes.shape[1], self.m)  # (n0,): rows that are done have a node of their own
        node[frontier.order[0]] = self.node
        cells, first = self.b * self.v, int(feature[0, 0])
        self.size = (self.m + 1) * cells
        own = self.labels.codes * self.size + node * cells - first * self.v  # (n0,)
        self.key = (bins.flat_codes[first : first + self.b] + own).ravel()  # of class and place
        counts = self._count(self.labels.fixed_point_weight)
        self.occupied = np.flatnonzero(counts[:, : self.m * cells].any(axis=0))
        self.counts = counts.take(self.occupied, axis=1)  # (c, q)

    def _count(self, weight: np.ndarray | None) -> np.ndarray:
        """Sum the weights (n0,), or count rows, by class and place: (c, places)."""
        weights = None if weight is None else np.tile(weight.astype(np.float64), self.b)
        counts = np.bincount(self.key, weights=weights, minlength=self.labels.c * self.size)
        return counts.reshape(self.labels.c, self.size).astype(np.int64, copy=False)

    def pairs(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        node, slot = np.divmod(at // self.v, self.b)
        return node, slot * self.m + node

    def feature_at(self, at: np.ndarray, node: np.ndarray) -> np.ndarray:
        return self.feature[at // self.v % self.b, 0]

    def values_beside_cuts(self, at: np.ndarray, feature: np.ndarray, node: np.ndarray) -> np.ndarray:
        after = self.occupied.take(np.searchsorted(self.occupied, at) + 1)
        return self.bins.values[feature, np.stack([at, after]) % self.v]

    def cuts(self, limits: BranchLimits) -> tuple[np.ndarray, np.ndarray]:
        """Return the places (q,) after which a cut leaves enough rows on each side, and the sums left of it (p, q)."""
        feature = self.occupied // self.v
        opens = np.append(True, feature[1:] != feature[:-1])
        cut = np.append(~opens[1:], False)
        left = _within(self.counts, opens)
        if limits.min_rows > 1:
            rows = _within(self._count(None).take(self.occupied, axis=1), opens).sum(axis=0)
            rest = self.frontier.rows_in_node.take(feature // self.b) - rows
            cut &= (rows >= limits.min_rows) & (rest >= limits.min_rows)
        chosen = np.flatnonzero(cut)
        sums = left.take(chosen, axis=1).astype(np.float64)
        sums[0] = sums.sum(axis=0)
        return self.occupied.take(chosen), sums


def _within(counts: np.ndarray, opens: np.ndarray) -> np.ndarray:
    """Sum whole numbers (c, q) along runs that open where told (q,); what overflows in between does no harm."""
    upto = np.cumsum(counts, axis=1)
    begin = np.flatnonzero(opens)
    before = upto.take(begin, axis=1) - counts.take(begin, axis=1)
    upto -= np.repeat(before, np.diff(begin, append=opens.size), axis=1)
    return upto
