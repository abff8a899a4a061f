"""Cuts by the sum of absolute deviations from the median, which does not follow from sums of the branches.

The cost of a branch with targets y_i, weights w_i and median v is

    Σ w_i |y_i - v|  =  A - 2 A_< + v (2 W_< - W)

with W = Σ w_i and A = Σ w_i y_i over the branch, W_< and A_< over its rows before the median. For every prefix of the
sorted rows these four numbers are found by a descent through a wavelet tree: at each of its levels one bit of the rank
of the median is decided, for all prefixes of all nodes and features together.

Cost: O(n log n) per feature and level.

References
----------
L. Breiman et al., "Classification and Regression Trees", 1984 (least absolute deviation).
R. Grossi, A. Gupta, J. S. Vitter, "High-order entropy-compressed text indexes", SODA 2003 (wavelet trees).
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.trees.numeric_target import MedianTarget, RankedRows
from bakeoff.learners.trees.splitting.feature_block import FeatureBlock


def compute_deviation_gains(
    block: FeatureBlock,
    position: np.ndarray,
    pair: np.ndarray,
    *,
    missing_left: bool,
) -> np.ndarray:
    """Return by how much cuts decrease the sum of absolute deviations, in steps of the target.

    Parameters
    ----------
    block : FeatureBlock
    position, pair : ndarray of shape (q,), int
        The last position on the left of each cut, and its (feature, node) pair.
    missing_left : bool
        Whether missing cells, which come last in the block, are on the left.

    Returns
    -------
    ndarray of shape (q,)
    """
    target = block.frontier.target
    assert isinstance(target, MedianTarget)
    rows = target.read_ranked_rows(block.order.ravel())  # (b n,)
    n_positions = np.tile(block.frontier.n_positions, block.b)  # (b m,)
    begin_of_pair = n_positions.cumsum() - n_positions
    if missing_left:
        n_missing = block.n_missing.ravel()  # (b m,)
        rows = _move_missing_first(rows, begin_of_pair, n_positions, n_missing)
        position = position + n_missing.take(pair)
    begin = begin_of_pair.repeat(n_positions)  # (b n,)
    end = begin + n_positions.repeat(n_positions)
    n_cells = begin.size
    from_left = sum_running_deviations(rows, begin, end)
    reverse = RankedRows(*(column[::-1] for column in rows))
    from_right = sum_running_deviations(reverse, n_cells - end[::-1], n_cells - begin[::-1])[::-1]
    whole = from_right.take(begin_of_pair.take(pair))
    return np.asarray(whole - from_left.take(position) - from_right.take(position + 1))


def sum_running_deviations(rows: RankedRows, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the sum of absolute deviations of each segment's rows up to and including each position.

    Parameters
    ----------
    rows : RankedRows
        Of shape (n,). Ranks differ within a segment.
    begin, end : ndarray of shape (n,), int
        The segment of each position: its first position, and the one after its last.

    Returns
    -------
    ndarray of shape (n,)
        Exact as long as the sums of a segment are below 2^53.
    """
    n = begin.size
    tree = WaveletLevel(rows, begin, end)
    query_begin = begin
    query_end = np.arange(1, n + 1)
    weight, addend = tree.sum_rows(query_begin, query_end)
    weight_below = np.zeros(n, dtype=np.int64)
    addend_below = np.zeros(n, dtype=np.int64)
    bucket_end = end
    for bit in reversed(range(int(rows.rank.max()).bit_length())):
        is_low = (tree.rows.rank >> bit) & 1 == 0
        n_low, weight_low, addend_low = tree.sum_low_rows(is_low, query_begin, query_end)
        # The median is the first row at which the weight reaches half.
        goes_up = 2 * (weight_below + weight_low) < weight
        weight_below += np.where(goes_up, weight_low, 0)
        addend_below += np.where(goes_up, addend_low, 0)
        middle = tree.find_middles(is_low, query_begin, bucket_end)
        n_high = query_end - query_begin - n_low
        query_end = np.where(goes_up, middle + n_high, query_begin + n_low)
        bucket_end = np.where(goes_up, bucket_end, middle)
        query_begin = np.where(goes_up, middle, query_begin)
        tree = tree.descend(is_low)
    # A bucket now is the row of the median.
    median = tree.rows.addend.take(query_begin) / tree.rows.weight.take(query_begin)
    return np.asarray((addend - 2 * addend_below) + median * (2 * weight_below - weight))


class WaveletLevel:
    """Rows in buckets of a common beginning of the bits of their ranks, in the order of their positions.

    Parameters
    ----------
    rows : RankedRows
        Of shape (n,).
    begin, end : ndarray of shape (n,), int
        The bucket of each row.
    """

    def __init__(self, rows: RankedRows, begin: np.ndarray, end: np.ndarray) -> None:
        self.rows = rows
        self._begin = begin
        self._end = end

    def sum_rows(self, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weight and the sum of addends of the rows from ``begin`` to before ``end``, each (q,)."""
        # Integers: differences are right even if the sums along all rows overflow.
        return _sum_between(self.rows.weight, begin, end), _sum_between(self.rows.addend, begin, end)

    def sum_low_rows(
        self, is_low: np.ndarray, begin: np.ndarray, end: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the number, the weight and the sum of addends of the low rows in ranges, each (q,)."""
        n_low = _sum_between(is_low, begin, end)
        weight = _sum_between(np.where(is_low, self.rows.weight, 0), begin, end)
        addend = _sum_between(np.where(is_low, self.rows.addend, 0), begin, end)
        return n_low, weight, addend

    def find_middles(self, is_low: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return where the high rows of buckets (q,) will begin: (q,)."""
        return np.asarray(begin + _sum_between(is_low, begin, end))

    def descend(self, is_low: np.ndarray) -> WaveletLevel:
        """Return the next level, in which every bucket is divided into its low rows (n,) and the others."""
        position = np.arange(is_low.size)
        n_low_before = _sum_between(is_low, self._begin, position)
        middle = self.find_middles(is_low, self._begin, self._end)
        n_high_before = position - self._begin - n_low_before
        place = np.where(is_low, self._begin + n_low_before, middle + n_high_before)
        columns = []
        begin = np.where(is_low, self._begin, middle)
        end = np.where(is_low, middle, self._end)
        for column in (*self.rows, begin, end):
            moved = np.empty_like(column)
            moved[place] = column
            columns.append(moved)
        return WaveletLevel(RankedRows(*columns[:3]), columns[3], columns[4])


def _sum_between(addends: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the sums of addends (n,) from the positions ``begin`` to before ``end``: (q,)."""
    up_to = np.zeros(addends.size + 1, dtype=np.int64)
    np.cumsum(addends, out=up_to[1:])
    return up_to.take(end) - up_to.take(begin)


def _move_missing_first(
    rows: RankedRows, begin_of_pair: np.ndarray, n_positions: np.ndarray, n_missing: np.ndarray
) -> RankedRows:
    """Return the rows with those of missing cells first in their pairs, given the pairs' places and sizes (b m,)."""
    n_known = (n_positions - n_missing).repeat(n_positions)
    begin = begin_of_pair.repeat(n_positions)
    place_in_pair = np.arange(begin.size) - begin
    moved_by = np.where(place_in_pair < n_known, n_missing.repeat(n_positions), -n_known)
    source = np.empty(begin.size, dtype=np.intp)
    source[begin + place_in_pair + moved_by] = np.arange(begin.size)
    return RankedRows(*(column.take(source) for column in rows))
