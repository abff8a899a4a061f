"""The splitter, which finds the best split of every node of a level, as in Split(R, T) of the lectures.

`bakeoff.learners.definitions.splits` defines the search at one node, candidate by candidate. This implementation finds
the same splits faster: prefix sums along sorted rows give the branches of all candidates of all nodes, and one array
expression computes their gains. Features are searched in blocks that fit into cache: numeric ones by candidate cuts, a
dense scan or histograms (see `numeric` and `dense_scan`), nominal ones by groups of values (see `nominal`).

*The choice among features in C4.5*: the largest gain ratio among features whose gain is at least average.

The average is over the features that can split the node, except nominal ones with very many values: such a feature has
a large gain even if its values are meaningless. Features that are excluded from the average still compete.

Reference: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, section 2.2 and the program's ``besttree.c``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from bakeoff.learners.trees.frontier import Frontier
from bakeoff.learners.trees.splitting.bins import HistogramBlock, SquareBlock, pays_to_add_squares
from bakeoff.learners.trees.splitting.nominal import find_nominal_splits
from bakeoff.learners.trees.splitting.numeric import (
    find_histogram_splits,
    find_known_splits,
    find_numeric_splits,
    find_splits_by_squares,
)
from bakeoff.learners.trees.splitting.partition import FeatureBlock
from bakeoff.learners.trees.splitting.splits import LEAST_GAIN_BITS, BoundTies, SplitRules, Splits
from bakeoff.learners.trees.training_table import MAX_CELLS_PER_BLOCK

MAX_CELLS_PER_HISTOGRAM_BLOCK = 2 * MAX_CELLS_PER_BLOCK
"""Counting a cell takes half of the cache that sorting it takes."""


def find_best_splits(frontier: Frontier, features: np.ndarray, rules: SplitRules) -> Splits:
    """Return the best split of every node.

    Parameters
    ----------
    frontier : Frontier
        A frontier with n rows in m nodes.
    features : ndarray of shape (b, 1) or (b, m)
        The features to try, ascending, for all nodes or for each node.
    rules : SplitRules

    Returns
    -------
    Splits
        The best split of each node; ties go to the lowest feature.
    """
    bound_ties = partial(frontier.bound_ties, rules.criterion)
    if rules.c45.average_gain:
        # The average is over features, so the best split of each feature must be known.
        by_feature = [_search_features(frontier, feature[None, :], rules) for feature in features]
        return choose_above_average(by_feature, rules.c45.is_averaged, bound_ties)
    blocks = _divide_features(frontier, features)
    return _choose_best((_search_features(frontier, block, rules) for block in blocks), bound_ties)


def _choose_best(candidates: Iterator[Splits], bound_ties: BoundTies) -> Splits:
    """Return the best of several splits of each node."""
    best = next(candidates)
    for splits in candidates:
        best.improve(splits, bound_ties)
    return best


def _search_features(frontier: Frontier, features: np.ndarray, rules: SplitRules) -> Splits:
    """Return the best split of every node on features (b, 1) or (b, m) that are searched together."""
    if pays_to_add_squares(frontier, rules.criterion):
        return find_splits_by_squares(SquareBlock(frontier, features), rules)
    if frontier.values is not None:
        return find_histogram_splits(HistogramBlock(frontier, features), rules)
    searches = _search_block(FeatureBlock(frontier, features), rules)
    return _choose_best(searches, partial(frontier.bound_ties, rules.criterion))


def _divide_features(frontier: Frontier, features: np.ndarray) -> Iterator[np.ndarray]:
    """Divide the features into as many blocks as needed, of about the same size."""
    max_cells = MAX_CELLS_PER_BLOCK if frontier.values is None else MAX_CELLS_PER_HISTOGRAM_BLOCK
    max_features = max(1, max_cells // frontier.order.shape[1])
    n_features = features.shape[0]
    n_blocks = -(-n_features // max_features)
    step = -(-n_features // n_blocks)
    for first in range(0, n_features, step):
        yield features[first : first + step]


def _search_block(block: FeatureBlock, rules: SplitRules) -> Iterator[Splits]:
    """Yield the best numeric splits, with missing cells on either side, and the best nominal splits."""
    table = block.frontier.table
    nominal = table.nominal[block.feature] if table.has_nominal else None  # (b, m) or (b, 1)
    if nominal is None or not nominal.all():
        numeric = None if nominal is None else ~nominal
        has_missing = table.has_missing and bool(block.n_missing.any())
        if has_missing and rules.criterion.by_ratio:
            yield find_known_splits(block, numeric, rules)
        else:
            yield find_numeric_splits(block, numeric, rules, missing_left=False)
        if has_missing and not rules.criterion.by_ratio:
            lacks_cells = block.n_missing > 0  # (b, m)
            wanted = lacks_cells if numeric is None else numeric & lacks_cells
            yield find_numeric_splits(block, wanted, rules, missing_left=True)
    if nominal is not None and nominal.any():
        yield find_nominal_splits(block, nominal, rules)


SLACK_BITS = 1e-3
"""A gain may be below the average by this amount (a constant of C4.5)."""

MANY_VALUES_PER_ROW = 0.3
"""A nominal feature with at least this many values for each training row is left out of the average."""


def mark_averaged_features(n_values: np.ndarray, n_rows: int) -> np.ndarray:
    """Mark the features to include in the average gain, given their numbers of values (d,), 0 for numeric ones."""
    is_averaged = n_values < MANY_VALUES_PER_ROW * n_rows
    # If all features have many values, there are no other features to compare them with.
    return is_averaged if is_averaged.any() else np.ones(n_values.size, dtype=bool)


def choose_above_average(candidates: Sequence[Splits], is_averaged: np.ndarray, bound_ties: BoundTies) -> Splits:
    """Return for each node the split with the largest gain ratio among those whose gain is at least average.

    Parameters
    ----------
    candidates : sequence of Splits
        The best split of each of m nodes, for one feature after another.
    is_averaged : ndarray of shape (d,), bool
        Which features are included in the average.
    bound_ties : callable
        As in `Splits.improve`.
    """
    gain = np.stack([splits.gain for splits in candidates])  # (b, m)
    feature = np.stack([splits.feature for splits in candidates])  # (b, m)
    is_nominal = np.stack([np.isnan(splits.threshold) for splits in candidates])  # (b, m)
    # A cut without gain is not a candidate, but a feature with a branch for each value always is.
    is_candidate = (feature >= 0) & (is_nominal | (gain > LEAST_GAIN_BITS))
    counts = is_candidate & is_averaged[feature]
    n_counted = counts.sum(axis=0)  # (m,)
    total = np.where(counts, gain, 0.0).sum(axis=0)
    # A node that none of the averaged features can split stays a leaf, as in C4.5.
    average = np.where(n_counted > 0, total / np.maximum(n_counted, 1), np.inf)
    is_allowed = is_candidate & (gain >= average - SLACK_BITS)
    return _choose_best(_keep_allowed(candidates, is_allowed), bound_ties)


def _keep_allowed(candidates: Sequence[Splits], is_allowed: np.ndarray) -> Iterator[Splits]:
    """Yield the candidates without the splits that are not allowed (b, m) or have no gain."""
    for splits, allowed in zip(candidates, is_allowed, strict=True):
        is_kept = allowed & (splits.merit > LEAST_GAIN_BITS)
        splits.merit = np.where(is_kept, splits.merit, -np.inf)
        yield splits.with_gain(splits.gain, is_kept)
