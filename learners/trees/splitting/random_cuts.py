"""Random cuts: one threshold for each numeric feature of a node, drawn between its smallest and largest value there.

The best of the drawn cuts splits the node. If all known values are equal, the cut is between them and missing cells.

Reference: P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.trees.splitting.feature_block import FeatureBlock
from bakeoff.learners.trees.splitting.splits import Splits


def draw_thresholds(block: FeatureBlock, draws: np.ndarray) -> np.ndarray:
    """Return a threshold for each feature and node of a block.

    Parameters
    ----------
    block : FeatureBlock
        b features, m nodes.
    draws : ndarray of shape (m, d)
        Uniform numbers in [0, 1) for all features.

    Returns
    -------
    ndarray of shape (b, m)
        Above the smallest value, and at most the largest; infinite if all known values are equal and some are missing,
        NaN if nothing can be split.
    """
    cells = _read_cells(block)
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
    is_below = _read_cells(block) < threshold.take(block.node, axis=1)
    is_last = is_below.copy()
    is_last[:, :-1] &= ~is_below[:, 1:]
    # The first row of the next node may be below its own threshold.
    last_of_node = block.start[1:] - 1
    is_last[:, last_of_node] = is_below[:, last_of_node]
    return is_last


def set_thresholds(splits: Splits, block: FeatureBlock, threshold: np.ndarray) -> None:
    """Write the drawn thresholds (b, m) into the splits of m nodes."""
    is_split = splits.feature >= 0  # (m,)
    slot = (block.feature == splits.feature).argmax(axis=0)  # (m,)
    drawn = threshold[slot, np.arange(block.m)]
    splits.threshold = np.where(is_split, drawn, splits.threshold)


def _read_cells(block: FeatureBlock) -> np.ndarray:
    """Return the sorted cells of a block, infinite where missing: (b, n)."""
    offset_of_pair = block.frontier.column_offset(block.feature)
    offset = block.spread_over_positions(offset_of_pair)
    return block.frontier.table.cells.take(block.order + offset)
