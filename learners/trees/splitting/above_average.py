"""The choice of C4.5 among features: the largest gain ratio of those whose gain is at least average.

The average is over the features that can split the node, without nominal ones of very many values: such a feature has
a large gain whatever its values mean. The features that are left out of the average compete all the same.

Reference: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, section 2.2 and the program's ``besttree.c``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bakeoff.learners.trees.splitting.best_candidates import BoundTies
from bakeoff.learners.trees.splitting.c45_rules import LEAST_GAIN_BITS
from bakeoff.learners.trees.splitting.splits import Splits

SLACK_BITS = 1e-3
"""A gain may be smaller than the average by this much (a constant of C4.5)."""

MANY_VALUES_PER_ROW = 0.3
"""A nominal feature with at least this many values for each training row is left out of the average."""


def mark_averaged_features(n_values: np.ndarray, n_rows: int) -> np.ndarray:
    """Mark the features that count in the average gain, given their numbers of values (d,), 0 for numeric ones."""
    is_averaged = n_values < MANY_VALUES_PER_ROW * n_rows
    # If all features have many values, there is nothing else to compare them with.
    return is_averaged if is_averaged.any() else np.ones(n_values.size, dtype=bool)


def choose_above_average(candidates: Sequence[Splits], is_averaged: np.ndarray, bound_ties: BoundTies) -> Splits:
    """Return for each node the split of largest gain ratio among those whose gain is at least average.

    Parameters
    ----------
    candidates : sequence of Splits
        The best split of each of m nodes by one feature after another.
    is_averaged : ndarray of shape (d,), bool
        Which features count in the average.
    bound_ties : callable
        As in `Splits.improve`.
    """
    gain = np.stack([splits.gain for splits in candidates])  # (b, m)
    feature = np.stack([splits.feature for splits in candidates])  # (b, m)
    is_nominal = np.stack([np.isnan(splits.threshold) for splits in candidates])  # (b, m)
    # A cut without gain is no candidate, but a feature with a branch for each value always is.
    is_candidate = (feature >= 0) & (is_nominal | (gain > LEAST_GAIN_BITS))
    counts = is_candidate & is_averaged[feature]
    n_counted = counts.sum(axis=0)  # (m,)
    total = np.where(counts, gain, 0.0).sum(axis=0)
    # A node that no counted feature can split stays a leaf, as in C4.5.
    average = np.where(n_counted > 0, total / np.maximum(n_counted, 1), np.inf)
    is_allowed = is_candidate & (gain >= average - SLACK_BITS)
    allowed = _keep_allowed(candidates, is_allowed)
    best = next(allowed)
    for splits in allowed:
        best.improve(splits, bound_ties)
    return best


def _keep_allowed(candidates: Sequence[Splits], is_allowed: np.ndarray) -> Iterator[Splits]:
    """Yield the candidates without the splits that are not allowed (b, m), or that gain nothing."""
    for splits, allowed in zip(candidates, is_allowed, strict=True):
        is_kept = allowed & (splits.merit > LEAST_GAIN_BITS)
        splits.merit = np.where(is_kept, splits.merit, -np.inf)
        yield splits.with_gain(splits.gain, is_kept)
