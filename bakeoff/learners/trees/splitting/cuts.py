"""Few candidate cuts: histograms of features with few values, and random cuts.

*Histograms*: rows are counted by node, feature, bin and class; nothing is sorted.

If a node has N_k(v) rows of class k whose value of a feature is v, the left branch of the cut after v has

    L_k(v) = Σ_{u <= v} N_k(u)

rows of class k. Thus one count of all keys (node, feature, bin, class) and one prefix sum along bins yield the left
branches of all cuts. Cuts lie only between neighbouring values that occur in the node. Every bin is a single value, so
the trees equal those grown from sorted rows (see `numeric`) to the last bit.

Cost: O(n d) per level to count, and O(m d v c) to evaluate the cuts of m nodes with v values.

*Random cuts*: one threshold for each numeric feature of a node, drawn between its smallest and largest value there.

The best of the drawn cuts splits the node. If all known values are equal, the cut separates them from missing cells.

Reference: P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.trees.class_target import ClassTarget
from bakeoff.learners.trees.frontier import Frontier
from bakeoff.learners.trees.splitting.feature_block import FeatureBlock
from bakeoff.learners.trees.splitting.splits import SplitRules, Splits, mark_first_of_runs, sum_within_runs


class HistogramBlock(FeatureBlock):
    """The frontier under b features with at most v values, for classes.

    A position is a combination of feature, node and bin, numbered (slot * m + node) * v + code.
    """

    def __init__(self, frontier: Frontier, feature: np.ndarray, values: np.ndarray) -> None:
        super().__init__(frontier, feature)
        self._values = values
        self._n_bins = values.shape[1]
        target = frontier.target
        assert isinstance(target, ClassTarget)
        rows = frontier.order[0]
        self._shape = (target.c, self.b * self.m * self._n_bins)
        # Class and position of every cell as one integer.
        self._key = frontier.gather_bin_codes(feature)  # (b, n)
        self._key += target.codes.take(rows) * self._shape[1] + self.node * self._n_bins
        self._key += np.arange(self.b)[:, None] * (self.m * self._n_bins)
        counts = self._count_rows(target.repeat_weights(rows, self.b))
        self._occupied = np.flatnonzero(counts.any(axis=0))  # (q,), positions that hold rows
        self._counts = counts.take(self._occupied, axis=1)  # (c, q)

    def _count_rows(self, weight: np.ndarray | None) -> np.ndarray:
        """Sum the weights (b n,), or count rows if there are none, by class and position: (c, positions)."""
        counts = np.bincount(self._key.ravel(), weights=weight, minlength=self._shape[0] * self._shape[1])
        return counts.reshape(self._shape).astype(np.int64, copy=False)

    def find_pairs(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pair = position // self._n_bins
        return pair % self.m, pair

    def feature_at(self, position: np.ndarray, node: np.ndarray) -> np.ndarray:
        return self.feature_of_slot(position // (self.m * self._n_bins), node)

    def read_cut_values(self, position: np.ndarray, feature: np.ndarray, node: np.ndarray) -> np.ndarray:
        # The value above a cut is the next value in the node, at the next occupied position.
        index = np.searchsorted(self._occupied, position)
        following = self._occupied.take(index + 1)
        code = np.stack([position, following]) % self._n_bins  # (2, q)
        return self._values[feature, code]

    def list_cuts(self, rules: SplitRules) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions (q,) after which a cut leaves enough rows on each side, and the left sums (c, q)."""
        node, pair = self.find_pairs(self._occupied)
        is_first = mark_first_of_runs(pair)
        # No cut follows the last occupied bin of a pair.
        is_cut = np.append(~is_first[1:], False)
        left_classes = sum_within_runs(self._counts, is_first)  # (c, q)
        if rules.min_rows > 1:
            # A row counts once here, regardless of its weight.
            counts = self._count_rows(None).take(self._occupied, axis=1)
            left_rows = sum_within_runs(counts, is_first).sum(axis=0)
            right_rows = self.frontier.n_positions.take(node) - left_rows
            is_cut &= (left_rows >= rules.min_rows) & (right_rows >= rules.min_rows)
        chosen = np.flatnonzero(is_cut)
        sums = left_classes.take(chosen, axis=1).astype(np.float64)
        # Sums begin with the weight, which is stored in the row of the first class.
        sums[0] = sums.sum(axis=0)
        return self._occupied.take(chosen), sums


def draw_thresholds(block: FeatureBlock, draws: np.ndarray) -> np.ndarray:
    """Return a threshold for each feature and node of a block.

    Parameters
    ----------
    block : FeatureBlock
        A block of b features and m nodes.
    draws : ndarray of shape (m, d)
        Uniform numbers in [0, 1) for all features.

    Returns
    -------
    ndarray of shape (b, m)
        Greater than the smallest value and at most the largest; infinite if all known values are equal and some are
        missing, NaN if no split is possible.
    """
    cells = block.cells
    start = np.broadcast_to(block.start, (block.b, block.m))
    smallest = np.take_along_axis(cells, start, axis=1)  # (b, m)
    n_known = block.frontier.n_positions - block.n_missing
    last_known = start + np.maximum(n_known - 1, 0)
    largest = np.take_along_axis(cells, last_known, axis=1)
    feature = np.broadcast_to(block.feature, (block.b, block.m))
    share = draws[np.arange(block.m), feature]  # (b, m)
    varies = (n_known > 0) & (smallest < largest)
    with np.errstate(invalid="ignore"):
        threshold = largest * (1 - share) + smallest * share
        threshold = np.clip(threshold, np.nextafter(smallest, np.inf), largest)
    of_equal_values = np.where((n_known > 0) & (block.n_missing > 0), np.inf, np.nan)
    return np.where(varies, threshold, of_equal_values)


def mark_last_below(block: FeatureBlock, threshold: np.ndarray) -> np.ndarray:
    """Return whether each position is the last one below the threshold (b, m) of its node: (b, n)."""
    is_below = block.cells < threshold.take(block.node, axis=1)
    is_last = is_below.copy()
    is_last[:, :-1] &= ~is_below[:, 1:]
    # The first row of the next node may be below the threshold of that node.
    last_of_node = block.start[1:] - 1
    is_last[:, last_of_node] = is_below[:, last_of_node]
    return is_last


def set_thresholds(splits: Splits, block: FeatureBlock, threshold: np.ndarray) -> None:
    """Write the drawn thresholds (b, m) into the splits of m nodes."""
    is_split = splits.feature >= 0  # (m,)
    slot = (block.feature == splits.feature).argmax(axis=0)  # (m,)
    drawn = threshold[slot, np.arange(block.m)]
    splits.threshold = np.where(is_split, drawn, splits.threshold)
