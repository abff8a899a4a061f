"""Cuts of numeric features with few values: rows are counted by bin, and nothing is sorted by value.

Every bin is a single value, so the trees equal those grown from sorted rows to the last bit.

*Histograms*: rows are counted by node, feature, bin and class. If a node has N_k(v) rows of class k whose value of a
feature is v, the left branch of the cut after v has

    L_k(v) = Σ_{u <= v} N_k(u)

rows of class k. Thus one count of all keys (node, feature, bin, class) and one prefix sum along bins yield the left
branches of all cuts. Cuts lie only between neighbouring values that occur in the node. Cost: O(n d) per level to count,
and O(m d v c) to evaluate the cuts of m nodes with v values.

*Squares*: with many classes and nodes, most of these counts are 0. Gini impurity only requires Σ L_k², Σ T_k L_k and
Σ L_k, where T_k is the weight of class k in the node (see `square_sums`). Rows are sorted by node, class and bin, so
that a prefix sum within a class gives the weight o of the class up to each row. A row of weight w then adds w (2o - w),
w T_k and w to the three sums of its bin; all three are fields of one word, as wide as the sums of the largest node.
Rows of one class and bin may come in any order, because the squares telescope. Cost: O(n d) per level, and O(m d v).
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.trees.criteria import Criterion
from bakeoff.learners.trees.frontier import MAX_SMALL_KEY, Frontier
from bakeoff.learners.trees.splitting.partition import FeatureBlock
from bakeoff.learners.trees.splitting.splits import SplitRules, mark_first_of_runs, sum_within_runs
from bakeoff.learners.trees.splitting.square_sums import (
    SquareSums,
    count_classes,
    sum_before_classes,
    supports_square_sums,
)
from bakeoff.learners.trees.target import SUM_BITS_PER_WORD, ClassTarget

MIN_CLASSES_ADDED = 16
"""With fewer classes, histograms and sorted rows are as fast as squares."""

MAX_ROWS_PER_BIN = 16
"""With more rows than this for each combination of a node and a bin, histograms are faster than squares."""

MAX_BINS_PER_ROW = 8
"""With more combinations of a node and a bin than this for each row, most bins are empty."""

FACTORS_IN_WORD = 5
"""Σ L_k², Σ T_k L_k and Σ L_k together have as many bits as five factors that are weights."""


class BinBlock(FeatureBlock):
    """The frontier under b features with at most v values.

    A position is a combination of feature, node and bin, numbered (slot * m + node) * v + code.

    Attributes
    ----------
    n_bins : int
        v, the largest number of values.
    occupied : ndarray of shape (q,), int
        The positions that hold rows, ascending.
    """

    occupied: np.ndarray

    def __init__(self, frontier: Frontier, feature: np.ndarray) -> None:
        super().__init__(frontier, feature)
        assert frontier.table.values is not None
        self._values = frontier.table.values  # (d, v)
        self.n_bins = self._values.shape[1]

    def find_pairs(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pair = position // self.n_bins
        return pair % self.m, pair

    def feature_at(self, position: np.ndarray, node: np.ndarray) -> np.ndarray:
        return self.feature_of_slot(position // (self.m * self.n_bins), node)

    def read_cut_values(self, position: np.ndarray, feature: np.ndarray, node: np.ndarray) -> np.ndarray:
        # The value above a cut is the next value in the node, at the next occupied position.
        index = np.searchsorted(self.occupied, position)
        following = self.occupied.take(index + 1)
        code = np.stack([position, following]) % self.n_bins  # (2, q)
        return self._values[feature, code]


class HistogramBlock(BinBlock):
    """The weight of each class in each bin."""

    def __init__(self, frontier: Frontier, feature: np.ndarray) -> None:
        super().__init__(frontier, feature)
        target = frontier.target
        assert isinstance(target, ClassTarget)
        rows = frontier.order[0]
        self._shape = (target.c, self.b * self.m * self.n_bins)
        # Class and position of every cell as one integer.
        self._key = frontier.gather_bin_codes(feature)  # (b, n)
        self._key += target.codes.take(rows) * self._shape[1] + self.node * self.n_bins
        self._key += np.arange(self.b)[:, None] * (self.m * self.n_bins)
        counts = self._count_rows(target.repeat_weights(rows, self.b))
        self.occupied = np.flatnonzero(counts.any(axis=0))
        self._counts = counts.take(self.occupied, axis=1)  # (c, q)

    def _count_rows(self, weight: np.ndarray | None) -> np.ndarray:
        """Sum the weights (b n,), or count rows if there are none, by class and position: (c, positions)."""
        counts = np.bincount(self._key.ravel(), weights=weight, minlength=self._shape[0] * self._shape[1])
        return counts.reshape(self._shape).astype(np.int64, copy=False)

    def list_cuts(self, rules: SplitRules) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions (q,) after which a cut leaves enough rows on each side, and the left sums (c, q)."""
        node, pair = self.find_pairs(self.occupied)
        is_first = mark_first_of_runs(pair)
        # No cut follows the last occupied bin of a pair.
        is_cut = np.append(~is_first[1:], False)
        left_classes = sum_within_runs(self._counts, is_first)  # (c, q)
        if rules.min_rows > 1:
            # A row counts once here, regardless of its weight.
            counts = self._count_rows(None).take(self.occupied, axis=1)
            left_rows = sum_within_runs(counts, is_first).sum(axis=0)
            right_rows = self.frontier.n_positions.take(node) - left_rows
            is_cut &= (left_rows >= rules.min_rows) & (right_rows >= rules.min_rows)
        chosen = np.flatnonzero(is_cut)
        sums = left_classes.take(chosen, axis=1).astype(np.float64)
        # Sums begin with the weight, which is stored in the row of the first class.
        sums[0] = sums.sum(axis=0)
        return self.occupied.take(chosen), sums


class SquareBlock(BinBlock):
    """The sums of squares of cuts after each bin, if `pays_to_add_squares`.

    Attributes
    ----------
    is_occupied : ndarray of shape (b, m v), bool
        Whether each position holds rows.
    squares : SquareSums
        Of shape (b, m v).
    """

    def __init__(self, frontier: Frontier, feature: np.ndarray) -> None:
        super().__init__(frontier, feature)
        node_classes = count_classes(self)  # (c, m)
        bits = int(self.total[0].max()).bit_length()
        step, position = self._list_steps(node_classes, bits)
        steps_of_bin = np.zeros(self.b * self.m * self.n_bins, dtype=np.int64)
        np.add.at(steps_of_bin, position.ravel(), step.ravel())
        steps_of_bin = steps_of_bin.reshape(self.b, -1)  # (b, m v)
        self.is_occupied = steps_of_bin > 0
        self.occupied = np.flatnonzero(self.is_occupied)

        up_to = steps_of_bin.reshape(self.b, self.m, self.n_bins).cumsum(axis=2).reshape(self.b, -1)
        weight = up_to & ((1 << bits) - 1)
        left = up_to >> 3 * bits
        # Compute Σ R² = Σ T² - 2 Σ T L + Σ L² in place.
        right = up_to >> bits
        right &= (1 << 2 * bits) - 1
        right *= -2
        right += left
        right += np.einsum("km,km->m", node_classes, node_classes).repeat(self.n_bins)
        self.squares = SquareSums(weight, left, right)

    def _list_steps(self, node_classes: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what each row adds to the word of its bin, and the position of the bin: both (b, n).

        Parameters
        ----------
        node_classes : ndarray of shape (c, m), int
            The T_k of every node.
        bits : int
            The width of a weight.
        """
        target = self.frontier.target
        assert isinstance(target, ClassTarget)
        rows = self.frontier.order[0]
        class_in_node = self.node * target.c + target.small_codes.take(rows)  # (n,)
        weight: int | np.ndarray = 1
        weight_bits = 0
        key_of_row = class_in_node * self.n_bins
        if target.fixed_point_weight is not None:
            weights = target.fixed_point_weight.take(rows)
            weight_bits = int(weights.max()).bit_length()
            key_of_row = key_of_row << weight_bits | weights

        # Sorting integers by themselves is many times faster than sorting positions by integers.
        end = node_classes.size * self.n_bins << weight_bits
        dtype = np.uint32 if end <= MAX_SMALL_KEY else np.uint64
        key = self.frontier.gather_bin_codes(self.feature, dtype)  # (b, n)
        key <<= dtype(weight_bits)
        key += key_of_row.astype(dtype)
        key.sort(axis=1)
        up_to = np.arange(1, self.n + 1)[None, :]
        if weight_bits:
            weight = (key & dtype((1 << weight_bits) - 1)).astype(np.int64)  # (b, n)
            key >>= dtype(weight_bits)
            up_to = weight.cumsum(axis=1)

        # Every feature has the same number of rows of a class in a node.
        class_in_node = (key[0] // dtype(self.n_bins)).astype(np.intp)
        steps = up_to - sum_before_classes(node_classes).take(class_in_node)  # the o
        # Compute w (2o - w), w T_k and w as fields of one word, in place.
        steps += steps
        steps -= weight
        steps <<= 3 * bits
        steps += ((node_classes.T.ravel() << bits) + 1).take(class_in_node)
        steps *= weight

        # The position of a bin has the number of its node instead of that of its class.
        key -= ((class_in_node - self.node) * self.n_bins).astype(dtype)
        key += (np.arange(self.b) * (self.m * self.n_bins)).astype(dtype)[:, None]
        return np.broadcast_to(steps, key.shape), key.astype(np.intp)


def pays_to_add_squares(frontier: Frontier, criterion: Criterion) -> bool:
    """Return whether the best cuts of a level are found by `SquareBlock`, and sooner than by other means."""
    table = frontier.table
    target = frontier.target
    if table.values is None or not (table.has_few_values and supports_square_sums(target, criterion)):
        return False
    if target.n_sums < MIN_CLASSES_ADDED - 1:
        return False
    bits = int(frontier.node_weights.max()).bit_length()
    n = frontier.order.shape[1]
    n_bins = frontier.tree.size * table.values.shape[1]
    has_medium_nodes = n < MAX_ROWS_PER_BIN * n_bins and n_bins <= MAX_BINS_PER_ROW * n
    return has_medium_nodes and FACTORS_IN_WORD * bits <= SUM_BITS_PER_WORD
