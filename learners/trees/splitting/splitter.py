"""The splitter: the best split of every node of a level, the search of Split(R, T) of the lectures.

`bakeoff.learners.definitions.splits` states the search of one node, candidate by candidate. This one finds the same
splits faster: prefix sums along presorted rows give the branches of all candidates of all nodes, and their gains are
one array expression. Features are searched in blocks that fit into cache: numeric ones by candidate cuts, a dense scan
or histograms (see `numeric`, `dense_scan`, `histogram`), nominal ones by groups of values (see `nominal`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from bakeoff.learners.trees.rows.frontier import Frontier
from bakeoff.learners.trees.rows.presort import MAX_CELLS_PER_BLOCK
from bakeoff.learners.trees.splitting.above_average import choose_above_average
from bakeoff.learners.trees.splitting.feature_block import FeatureBlock
from bakeoff.learners.trees.splitting.histogram import HistogramBlock
from bakeoff.learners.trees.splitting.known_cuts import find_known_splits
from bakeoff.learners.trees.splitting.nominal import find_nominal_splits
from bakeoff.learners.trees.splitting.numeric import find_histogram_splits, find_numeric_splits
from bakeoff.learners.trees.splitting.splits import SplitRules, Splits

MAX_CELLS_PER_HISTOGRAM_BLOCK = 4 * MAX_CELLS_PER_BLOCK
"""Counting a cell takes a quarter of the cache that sorting it takes."""


def find_best_splits(frontier: Frontier, features: np.ndarray, rules: SplitRules) -> Splits:
    """Return the best split of every node.

    Parameters
    ----------
    frontier : Frontier
        n rows in m nodes.
    features : ndarray of shape (b, 1) or (b, m)
        The features to try, ascending: for all nodes, or for each node.
    rules : SplitRules

    Returns
    -------
    Splits
        The best split of each node; ties go to the lowest feature.
    """
    bound_ties = partial(frontier.bound_ties, rules.criterion)
    if rules.c45.average_gain:
        # The average is over features, so that the best split of each of them must be known.
        by_feature = [_search_features(frontier, feature[None, :], rules) for feature in features]
        return choose_above_average(by_feature, rules.c45.is_averaged, bound_ties)
    best: Splits | None = None
    for some_features in _divide_features(frontier, features):
        splits = _search_features(frontier, some_features, rules)
        if best is None:
            best = splits
        else:
            best.improve(splits, bound_ties)
    assert best is not None
    return best


def _search_features(frontier: Frontier, features: np.ndarray, rules: SplitRules) -> Splits:
    """Return the best split of every node by features (b, 1) or (b, m) that are searched together."""
    if frontier.bins is not None:
        histogram = HistogramBlock(frontier, features, frontier.bins)
        return find_histogram_splits(histogram, rules)
    block = FeatureBlock(frontier, features)
    searches = _search_block(block, rules)
    best = next(searches)
    for splits in searches:
        best.improve(splits, partial(frontier.bound_ties, rules.criterion))
    return best


def _divide_features(frontier: Frontier, features: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the features in as many blocks as needed, of about the same size."""
    max_cells = MAX_CELLS_PER_BLOCK if frontier.bins is None else MAX_CELLS_PER_HISTOGRAM_BLOCK
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
