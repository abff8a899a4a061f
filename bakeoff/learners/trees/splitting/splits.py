"""The best splits of the nodes of a level, the choice among candidates, and the rules of C4.5.

The best of many candidates is chosen for each (feature, node) pair, for each node, and among features. Candidates are
in ascending order of their pair, slot * m + node, so that one segmented maximum finds the best of every pair. Ties go
to the first candidate: the lowest feature, and then the lowest threshold. A merit ties with the largest one if it
reaches the latter's bound (see `Criterion.bound_ties`).

C4.5 has rules that ID3 and CART do not have; each rule is an option, and `bakeoff.learners.definitions.c45` defines
them node by node.

*Average gain*: features compete by gain ratio only if their gain is at least the average gain of all features that can
split the node, so that a ratio is not large just because its divisor is small (see `choose_above_average`).
*Minimum of a cut*: each side of a numeric cut has a tenth of an equal share of the classes, n / (10 c), or 25 rows.
*Two branches*: only two branches of a multiway split, instead of all, must have the minimum number of rows of a leaf.
*Description length*: the gain of a numeric feature is reduced by log2(number of cuts) / n bits, the cost of naming one
of the cuts allowed in a node of n rows; a feature whose remaining gain is not positive is not used.

References: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, chapters 2 and 3, and "Improved use of
continuous attributes in C4.5", Journal of Artificial Intelligence Research 4, 1996 (description length).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import ROUND_OFF, Criterion

CUT_PARTS = 10
"""Each side of a numeric cut holds at least one of this many parts of an equal share of the classes, n / c."""

MAX_CUT_ROWS = 25.0
"""The minimum weight of a side of a numeric cut never exceeds this number of rows."""

LEAST_GAIN_BITS = 1e-6
"""A gain, or a gain ratio, up to this value counts as zero."""


@dataclass(frozen=True, eq=False)
class C45Rules:
    """The rules that apply.

    Attributes
    ----------
    average_gain, cut_minimum, two_branches, description_length : bool
    n_classes : int
        c, used for the minimum of a cut.
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
        """Whether cuts between rows of one class matter, because they are counted or better cuts may not be allowed."""
        return self.cut_minimum or self.description_length

    def limit_cut_weight(self, node_weight: np.ndarray, unit: float) -> np.ndarray:
        """Return the minimum weight of a side of a cut in nodes of this weight (q,), if a row has weight ``unit``."""
        share = node_weight / (CUT_PARTS * self.n_classes)
        return np.minimum(share, MAX_CUT_ROWS * unit)


NO_RULES = C45Rules()


def charge_cuts(gain: np.ndarray, pair: np.ndarray, node_weight: np.ndarray) -> np.ndarray:
    """Return the gains (q,) minus the cost of naming a cut of the (feature, node) pair; -inf if no gain remains.

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


@dataclass
class SplitRules:
    """The criterion of splits, and which splits are allowed.

    Attributes
    ----------
    criterion : Criterion
    min_rows : int
        The minimum number of rows in a branch.
    min_weight : float
        The minimum weight of a branch, in units of the fixed-point sums.
    multiway : bool
        Whether a nominal split has a branch for every value, or splits the values into two groups.
    c45 : C45Rules
        The rules of C4.5 that apply; none by default.
    row_weight : float
        The fixed-point weight of a row of weight 1.
    draws : ndarray of shape (m, d), optional
        Uniform numbers in [0, 1) for the features of each node, if thresholds are random.
    """

    criterion: Criterion
    min_rows: int
    min_weight: float
    multiway: bool
    c45: C45Rules = NO_RULES
    row_weight: float = 1.0
    draws: np.ndarray | None = None

    def select_nodes(self, nodes: np.ndarray) -> SplitRules:
        """Return the rules of some of the nodes (k,)."""
        if self.draws is None:
            return self
        return replace(self, draws=self.draws[nodes])

    def exclude_light_branches(self, merit: np.ndarray, left: np.ndarray, total: np.ndarray) -> None:
        """Set the merit of numeric cuts with too little weight on a side to -inf.

        Parameters
        ----------
        merit : ndarray of shape (..., q)
        left, total : ndarray of shape (..., q) or (q,)
            The weight of the left branch, and of both branches.
        """
        least: float | np.ndarray = self.min_weight
        if self.c45.cut_minimum:
            least = np.maximum(least, self.c45.limit_cut_weight(total, self.row_weight))
        elif least == 0:
            return
        is_light = (left < least) | (total - left < least)
        merit[..., is_light] = -np.inf


class Routes(NamedTuple):
    """The branches of nominal splits, with one entry for each value that occurs in a node.

    Attributes
    ----------
    node : ndarray of shape (r,), int
        Entries of one node are contiguous, in ascending order of the code.
    code : ndarray of shape (r,)
        The code of the value; +inf for a missing cell.
    branch : ndarray of shape (r,), int
    """

    node: np.ndarray
    code: np.ndarray
    branch: np.ndarray

    def take(self, chosen: np.ndarray) -> Routes:
        """Return the chosen entries."""
        return Routes(self.node[chosen], self.code[chosen], self.branch[chosen])

    def join(self, other: Routes) -> Routes:
        """Return the entries of both."""
        node = np.concatenate([self.node, other.node])
        code = np.concatenate([self.code, other.code])
        branch = np.concatenate([self.branch, other.branch])
        return Routes(node, code, branch)


NO_ROUTES = Routes(
    node=np.empty(0, dtype=np.intp),
    code=np.empty(0),
    branch=np.empty(0, dtype=np.intp),
)

PER_NODE = ("merit", "gain", "feature", "threshold", "missing_left")
"""The fields of `Splits` with one entry for each node."""


@dataclass
class Splits:
    """The best split found so far for each of the m nodes.

    Attributes
    ----------
    merit : ndarray of shape (m,)
        The quantity to be maximised, which is the gain or the gain ratio; -inf where a node has no split.
    gain : ndarray of shape (m,)
    feature : ndarray of shape (m,), int
        -1 where a node has no split.
    threshold : ndarray of shape (m,)
        The threshold of a numeric feature; NaN if the feature is nominal.
    missing_left : ndarray of shape (m,), bool
        Whether missing cells of a numeric feature go left.
    routes : Routes
        The routes of the nodes that are split by a nominal feature.
    """

    merit: np.ndarray
    gain: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    routes: Routes = field(default=NO_ROUTES)

    @classmethod
    def none(cls, m: int) -> Splits:
        """Return an instance without a split for any of m nodes."""
        return cls(
            merit=np.full(m, -np.inf),
            gain=np.full(m, -np.inf),
            feature=np.full(m, -1),
            threshold=np.full(m, np.nan),
            missing_left=np.zeros(m, dtype=bool),
        )

    @classmethod
    def spread(cls, found: Splits, nodes: np.ndarray, m: int) -> Splits:
        """Return the splits found for some nodes (k,), ascending, and no splits for the others of m nodes."""
        if nodes.size == m:
            return found
        splits = cls.none(m)
        splits.put(nodes, found)
        return splits

    def put(self, nodes: np.ndarray, other: Splits) -> None:
        """Replace the splits of these nodes (k,) with the k splits of ``other``."""
        for name in PER_NODE:
            getattr(self, name)[nodes] = getattr(other, name)
        routes = other.routes
        if routes.node.size:
            routes = routes._replace(node=nodes.take(routes.node))
        self._replace_routes(nodes, routes)

    def improve(self, other: Splits, bound_ties: BoundTies) -> None:
        """Adopt the better splits of ``other``.

        Ties go to the lower feature, then to the lower threshold, and then to the existing split.
        """
        is_larger = other.merit > self.merit
        largest = np.maximum(self.merit, other.merit)
        largest[largest == -np.inf] = np.inf  # which no merit reaches
        is_tied = np.minimum(self.merit, other.merit) >= bound_ties(largest, None)
        is_lower = other.threshold < self.threshold
        is_before = (other.feature < self.feature) | ((other.feature == self.feature) & is_lower)
        is_better = np.where(is_tied, is_before, is_larger)
        better = np.flatnonzero(is_better)
        for name in PER_NODE:
            getattr(self, name)[better] = getattr(other, name)[better]
        routes = other.routes
        if routes.node.size:
            routes = routes.take(is_better.take(routes.node))
        self._replace_routes(better, routes)

    def with_gain(self, gain: np.ndarray, kept: np.ndarray) -> Splits:
        """Return the splits with these gains (m,), without those of the nodes that are not kept (m,)."""
        feature = np.where(kept, self.feature, -1)
        routes = self.routes
        if routes.node.size:
            routes = routes.take(kept.take(routes.node))
        return Splits(self.merit, gain, feature, self.threshold, self.missing_left, routes)

    def _replace_routes(self, nodes: np.ndarray, routes: Routes) -> None:
        """Drop the routes of these nodes, and add others."""
        if self.routes.node.size:
            is_kept = np.ones(self.feature.size, dtype=bool)
            is_kept[nodes] = False
            kept = self.routes.take(is_kept.take(self.routes.node))
            routes = kept.join(routes)
        self.routes = routes


BoundTies = Callable[[np.ndarray, np.ndarray | None], np.ndarray]
"""Maps the largest merits of nodes (k,), and these nodes (k,) or None for all, to the smallest that tie: (k,)."""


def mark_first_of_runs(keys: np.ndarray) -> np.ndarray:
    """Return whether each key (q,) is the first in a run of equal keys: (q,)."""
    changes = keys[1:] != keys[:-1]
    return np.concatenate([[True], changes])


def sum_within_runs(entries: np.ndarray, is_first: np.ndarray) -> np.ndarray:
    """Return prefix sums of integers (..., q) along runs that begin where marked (q,): (..., q)."""
    begin = np.flatnonzero(is_first)
    length = np.diff(begin, append=is_first.size)
    # Sums along all runs may overflow; differences of integers are still correct.
    up_to: np.ndarray = np.cumsum(entries, axis=-1)
    before_run = up_to.take(begin, axis=-1) - entries.take(begin, axis=-1)
    up_to -= before_run.repeat(length, axis=-1)
    return up_to


def find_first_of_pairs(merit: np.ndarray, pair: np.ndarray, m: int, bound_ties: BoundTies) -> np.ndarray:
    """Return the index of the largest merit of each run of equal pairs (q,), if it is finite; ties go to the first."""
    begin = np.flatnonzero(mark_first_of_runs(pair))
    length = np.diff(begin, append=pair.size)
    largest = np.maximum.reduceat(merit, begin)
    largest[largest == -np.inf] = np.inf  # which no merit reaches
    bound = bound_ties(largest, pair[begin] % m)
    hits = np.flatnonzero(merit >= np.repeat(bound, length))
    if hits.size == 0:
        return hits
    is_first_hit = mark_first_of_runs(pair[hits])
    return hits[is_first_hit]


def find_largest_of_nodes(merit: np.ndarray, node: np.ndarray, m: int) -> np.ndarray:
    """Return the largest merit (q,) of each of the m nodes, or +inf, which no merit reaches: (m,)."""
    largest = np.full(m, -np.inf)
    np.maximum.at(largest, node, merit)
    largest[largest == -np.inf] = np.inf
    return largest


def find_first_of_nodes(merit: np.ndarray, node: np.ndarray, m: int, bound_ties: BoundTies) -> np.ndarray:
    """Return the index of the first of the largest merits (q,) in each of the m nodes with a finite one, by node."""
    largest = find_largest_of_nodes(merit, node, m)
    bound = bound_ties(largest, None)
    hits = np.flatnonzero(merit >= bound.take(node))
    first = find_first_hits(hits, node.take(hits), m)
    return first[first >= 0]


def find_first_hits(hits: np.ndarray, node: np.ndarray, m: int) -> np.ndarray:
    """Return the first of ascending hits (k,) in these nodes (k,) for each of m nodes, or -1: (m,)."""
    first = np.full(m, -1)
    # Among several hits in a node, the last one written remains, which in reversed order is the first.
    first[node[::-1]] = hits[::-1]
    return first


def choose_pairs(
    merit: np.ndarray,
    pair: np.ndarray,
    n_slots: int,
    m: int,
    bound_ties: BoundTies,
) -> np.ndarray:
    """Return the index of the pair (q,) with the largest merit in each of the m nodes with a finite one, by node."""
    if pair.size == 0:
        return np.empty(0, dtype=np.intp)
    # Arrange the pairs in a table of slots by nodes; argmax selects the first slot whose merit reaches the bound.
    candidate = np.full(n_slots * m, -1)
    candidate[pair] = np.arange(pair.size)
    merit_of_pair = np.where(candidate >= 0, merit[candidate], -np.inf)
    table = merit_of_pair.reshape(n_slots, m)
    largest = table.max(axis=0)  # (m,)
    has_split = np.isfinite(largest)
    largest[~has_split] = np.inf
    best_slot = np.argmax(table >= bound_ties(largest, None), axis=0)  # (m,)
    chosen = candidate[best_slot * m + np.arange(m)]
    return chosen[has_split]


def compute_gain_ratio(gain: np.ndarray, branches: Sequence[np.ndarray], total: np.ndarray) -> np.ndarray:
    """Return gains (q,) divided by the entropy in bits of branches with weights (q,) in nodes of weight ``total`` (q,).

    C4.5 divides the gain by this *split information*.
    """
    # A gain that is 0 up to rounding would be magnified by a small split information.
    gain = np.where(gain > ROUND_OFF, gain, 0.0)
    information = np.zeros(total.shape)
    for weight in branches:
        share = weight / total
        # An empty branch adds 0 log2(1).
        bits = np.log2(share, out=np.zeros(share.shape), where=share > 0)
        bits *= share
        information -= bits
    return gain / information
