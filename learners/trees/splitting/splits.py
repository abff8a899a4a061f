"""The best split of each node of a level: the result of the search, which the grower carries out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import Criterion
from bakeoff.learners.trees.splitting.best_candidates import BoundTies
from bakeoff.learners.trees.splitting.c45_rules import NO_RULES, C45Rules


@dataclass
class SplitRules:
    """The criterion of splits, and which splits are allowed.

    Attributes
    ----------
    criterion : Criterion
    min_rows : int
        The least number of rows in a branch.
    min_weight : float
        The least weight of a branch, in units of the fixed-point sums.
    multiway : bool
        Whether a nominal split has a branch for every value, or splits the values into two groups.
    c45 : C45Rules
        The rules of C4.5 that apply; none by default.
    row_weight : float
        The fixed-point weight of a row of weight 1.
    draws : ndarray of shape (m, d), optional
        If thresholds are random: uniform numbers in [0, 1) for the features of each node.
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

    @property
    def limits_weight(self) -> bool:
        """Whether a side of a numeric cut may have too little weight."""
        return self.min_weight > 0 or self.c45.cut_minimum

    def limit_cut_weight(self, node_weight: np.ndarray) -> np.ndarray:
        """Return the least weight of a side of a numeric cut in each node, given their weights (m,): shape (m,)."""
        if not self.c45.cut_minimum:
            return np.full(node_weight.size, self.min_weight)
        least = self.c45.limit_cut_weight(node_weight, self.row_weight)
        return np.maximum(least, self.min_weight)


class Routes(NamedTuple):
    """The branches of nominal splits: one entry for each value that a node holds.

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
"""The fields of `Splits` that hold one entry for each node."""


@dataclass
class Splits:
    """The best split found so far for each of the m nodes.

    Attributes
    ----------
    merit : ndarray of shape (m,)
        What the search maximises, the gain or the gain ratio; -inf where a node has no split.
    gain : ndarray of shape (m,)
    feature : ndarray of shape (m,), int
        -1 where a node has no split.
    threshold : ndarray of shape (m,)
        Of a numeric feature; NaN if the feature is nominal.
    missing_left : ndarray of shape (m,), bool
        Whether missing cells of a numeric feature go left.
    routes : Routes
        Of the nodes that are split by a nominal feature.
    """

    merit: np.ndarray
    gain: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    routes: Routes = field(default=NO_ROUTES)

    @classmethod
    def none(cls, m: int) -> Splits:
        """Return no split for any of m nodes."""
        return cls(
            merit=np.full(m, -np.inf),
            gain=np.full(m, -np.inf),
            feature=np.full(m, -1),
            threshold=np.full(m, np.nan),
            missing_left=np.zeros(m, dtype=bool),
        )

    @classmethod
    def spread(cls, found: Splits, nodes: np.ndarray, m: int) -> Splits:
        """Return the splits found for some nodes (k,), ascending, and none for the others of m nodes."""
        if nodes.size == m:
            return found
        splits = cls.none(m)
        splits.put(nodes, found)
        return splits

    def put(self, nodes: np.ndarray, other: Splits) -> None:
        """Replace the splits of these nodes (k,) by the k splits of ``other``."""
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
        largest[largest == -np.inf] = np.inf  # is reached by no merit
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
        """Return splits of these gains (m,), and none for the nodes that are not kept (m,)."""
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
