"""The rules of C4.5 that ID3 and CART do not have; each is an option.

*Average gain*: features compete by gain ratio only if their gain is at least the average gain of all features that can
split the node, so that a ratio is not large just because its divisor is small (see `above_average`).
*Minimum of a cut*: both sides of a numeric cut hold a tenth of an equal share of the classes, n / (10 c), at most 25.
*Two branches*: only two branches of a multiway split must have the least number of rows of a leaf, instead of all.
*Description length*: the gain of a numeric feature is lowered by log2(number of cuts) / n bits, the cost of naming one
of its cuts among those that are allowed in a node of n rows; a feature without a positive gain left is not asked.

`bakeoff.learners.definitions.c45` states them node by node.

References: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, chapters 2 and 3, and "Improved use of
continuous attributes in C4.5", Journal of Artificial Intelligence Research 4, 1996 (description length).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

CUT_PARTS = 10
"""Each side of a numeric cut holds at least one of this many parts of an equal share of the classes, n / c."""

MAX_CUT_ROWS = 25.0
"""The least weight of a side of a numeric cut never exceeds this number of rows."""

LEAST_GAIN_BITS = 1e-6
"""A gain, or a gain ratio, up to this is none."""


@dataclass(frozen=True, eq=False)
class C45Rules:
    """The rules that apply.

    Attributes
    ----------
    average_gain, cut_minimum, two_branches, description_length : bool
    n_classes : int
        c, for the minimum of a cut.
    is_averaged : ndarray of shape (d,), bool
        Which features count in the average gain.
    """

    average_gain: bool = False
    cut_minimum: bool = False
    two_branches: bool = False
    description_length: bool = False
    n_classes: int = 1
    is_averaged: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=bool))

    @property
    def judges_all_cuts(self) -> bool:
        """Whether a cut between rows of one class matters: it is counted, or the better ones are not allowed."""
        return self.cut_minimum or self.description_length

    def limit_cut_weight(self, node_weight: np.ndarray, unit: float) -> np.ndarray:
        """Return the least weight of a side of a cut in nodes of weight (m,), where ``unit`` is the weight of a row."""
        share = node_weight / (CUT_PARTS * self.n_classes)
        return np.minimum(share, MAX_CUT_ROWS * unit)


NO_RULES = C45Rules()


def charge_cuts(gain: np.ndarray, pair: np.ndarray, node_weight: np.ndarray) -> np.ndarray:
    """Return the gains (q,) less the cost of naming a cut of their (feature, node) pair; -inf if nothing is left.

    Parameters
    ----------
    gain : ndarray of shape (q,)
        -inf where a cut is not allowed.
    pair : ndarray of shape (q,), int
    node_weight : ndarray of shape (q,)
        The weight of the node of each cut, in rows.
    """
    n_cuts = np.bincount(pair, weights=np.isfinite(gain))  # of each pair
    bits = np.log2(np.maximum(n_cuts, 1.0)).take(pair)
    charged = gain - bits / node_weight
    return np.where(charged > LEAST_GAIN_BITS, charged, -np.inf)
