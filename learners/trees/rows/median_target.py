"""Numeric targets of trees whose nodes predict medians, and whose impurity is the mean absolute deviation from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.rows.numeric_target import NumericTarget
from bakeoff.learners.trees.rows.target import NodeStats


class RankedRows(NamedTuple):
    """What deviations from medians are computed from: all of one shape, int64.

    Attributes
    ----------
    rank : ndarray
        The place of each row's target among those of its node: 0, 1, ….
    weight : ndarray
        In fixed point.
    addend : ndarray
        The weight times the target, in steps of the node.
    """

    rank: np.ndarray
    weight: np.ndarray
    addend: np.ndarray


class MedianTarget(NumericTarget):
    """Real-valued targets y (n0,), whose median is predicted.

    The median of weighted rows is the middle of the smallest and the largest target with at most half of the weight on
    either side. Parameters and errors are those of `NumericTarget`.
    """

    def __init__(self, y: np.ndarray, weight: np.ndarray, tree_weight: float | None = None) -> None:
        super().__init__(y, weight, tree_weight)
        self._rank = np.zeros(y.size, dtype=np.int64)  # (n0,), in the node where a row now is

    def compute_stats(
        self,
        rows: np.ndarray,
        node: np.ndarray,
        n_positions: np.ndarray,
    ) -> tuple[NodeStats, np.ndarray]:
        stats, addends = super().compute_stats(rows, node, n_positions)
        start = n_positions.cumsum() - n_positions  # (m,)
        y = self.y.take(rows)  # (n,)
        by_target = np.lexsort((y, node))
        rank = np.empty(rows.size, dtype=np.int64)
        rank[by_target] = np.arange(rows.size) - start.take(node)
        median = self._find_medians(rows.take(by_target), start, n_positions)
        deviation = np.abs(y - median.take(node)) * self.weight.take(rows)
        mean_deviation = np.add.reduceat(deviation, start) / stats.weight
        # The base class measures squares of steps; a gain is later multiplied by the weight of its node.
        steps_to_deviation = np.sqrt(stats.gain_unit)
        if not self._has_exact_weights:
            steps_to_deviation = steps_to_deviation / self.fixed_point_scale
        summary = np.array([median, mean_deviation]).T
        stats = stats._replace(gain_unit=steps_to_deviation / stats.weight, summary=summary)
        return stats, np.stack([addends, rank])

    def _find_medians(self, sorted_rows: np.ndarray, start: np.ndarray, n_positions: np.ndarray) -> np.ndarray:
        """Return the medians of nodes (m,), given their rows by node and target (n,)."""
        weight = self._read_weights(sorted_rows)
        total = np.add.reduceat(weight, start)  # (m,)
        up_to = weight.cumsum()
        before_node = up_to.take(start) - weight.take(start)
        up_to -= before_node.repeat(n_positions)
        total_of_row = total.repeat(n_positions)
        n_below_half = np.add.reduceat(2 * up_to < total_of_row, start, dtype=np.intp)
        n_up_to_half = np.add.reduceat(2 * up_to <= total_of_row, start, dtype=np.intp)
        lower = self.y.take(sorted_rows.take(start + n_below_half))
        upper = self.y.take(sorted_rows.take(start + n_up_to_half))
        return np.asarray((lower + upper) / 2)

    def _read_weights(self, rows: np.ndarray) -> np.ndarray:
        if self.fixed_point_weight is None:
            return np.ones(rows.shape, dtype=np.int64)
        return self.fixed_point_weight.take(rows)

    def store_addends(self, rows: np.ndarray, addends: np.ndarray | None) -> None:
        assert addends is not None
        self._addend[rows], self._rank[rows] = addends

    def read_ranked_rows(self, rows: np.ndarray) -> RankedRows:
        """Return the ranks, weights and addends of rows in their nodes: each of the shape of rows."""
        return RankedRows(self._rank.take(rows), self._read_weights(rows), self._addend.take(rows))
