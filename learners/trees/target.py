"""The target of a growing tree: statistics of nodes, and prefix sums along sorted rows.

Sums are taken over integers: weights, and targets relative to their node, in fixed point. They are exact: gains do
not depend on the order of rows or on neighbouring nodes, not even in the last bit, and equal splits tie exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import NamedTuple, Self

import numpy as np

MIN_LARGEST_WEIGHT = 1e-280
"""Quotients of weights that are all smaller leave the range of floats."""

MAX_TOTAL = 2.0**52
"""The total weight in fixed point: every integer up to it is exact as a float."""


class NodeStats(NamedTuple):
    """Statistics of the m nodes of a level.

    Attributes
    ----------
    n_rows : ndarray of shape (m,), int
        The number of rows, counted with multiplicity.
    n_positions : ndarray of shape (m,), int
        The number of positions of the node in the frontier: rows without multiplicity.
    weight : ndarray of shape (m,)
    pure : ndarray of shape (m,), bool
        Whether all rows have the same target.
    gain_unit : ndarray of shape (m,)
        The factor from a gain of the sums, which are in fixed point, to a gain of the impurity.
    sums : ndarray of shape (m, p), int
        Fixed-point sums: the weight, unless every weight is 1; then each class but the first, or the target.
    summary : ndarray of shape (m, q)
        Weights of the classes, or mean and variance; `Target.describe_nodes` derives the entries of a tree from it.
    """

    n_rows: np.ndarray
    n_positions: np.ndarray
    weight: np.ndarray
    pure: np.ndarray
    gain_unit: np.ndarray
    sums: np.ndarray
    summary: np.ndarray


class Target(ABC):
    """Abstract: the targets and weights of the n0 training rows.

    Attributes
    ----------
    weight : ndarray of shape (n0,)
    max_weight : float
    fixed_point_weight : ndarray of shape (n0,), int64, or None
        None if every weight is 1.
    fixed_point_scale : float
        The fixed-point weight of a weight of 1.
    weights_are_counts : bool
        Whether a weight is the number of times that a row counts.
    allows_histogram : bool
        Whether rows may be counted by value without changing a tree in its last bit.
    mean_error : float
        The round-off of the mean of a branch, in the unit of the sums of rows of weight 1.
    """

    weight: np.ndarray
    max_weight: float
    fixed_point_weight: np.ndarray | None
    fixed_point_scale: float
    mean_error: float
    weights_are_counts: bool = False
    allows_histogram: bool = False

    def _set_weights(self, weight: np.ndarray, tree_weight: float | None) -> None:
        self.weight = weight
        self.max_weight = float(weight.max())
        if self.max_weight < MIN_LARGEST_WEIGHT:
            raise ValueError(
                f"sample_weight is at most {self.max_weight:.3g}, too small to divide by: "
                "multiply all weights by the same number."
            )
        self.fixed_point_weight = None
        self.fixed_point_scale = 1.0
        if not np.all(weight == 1.0):
            self.fixed_point_weight = convert_to_fixed_point(weight, tree_weight)
            self.fixed_point_scale = float(self.fixed_point_weight.sum() / weight.sum())

    def _is_fixed_point_exact(self) -> bool:
        """Return whether no weight was rounded or scaled on its way to fixed point."""
        if self.fixed_point_weight is None:
            return True
        return bool(np.all(self.fixed_point_weight == self.weight))

    def _repeat_weights(self, rows: np.ndarray, b: int) -> np.ndarray | None:
        """Return the fixed-point weights of rows (n,) under each of b features, as floats (b n,); None if all are 1."""
        if self.fixed_point_weight is None:
            return None
        weights = self.fixed_point_weight.take(rows).astype(np.float64)
        return np.tile(weights, b)

    def take_rows(self, rows: np.ndarray) -> Self:
        """Return the target of the given rows, which may repeat; the units of the sums stay the same."""
        part = copy(self)
        for name, column in vars(self).items():
            if isinstance(column, np.ndarray):
                setattr(part, name, column[rows])
        return part

    def with_counts(self, counts: np.ndarray, largest: int) -> Self:
        """Return the target in which rows of weight 1 count several times.

        Parameters
        ----------
        counts : ndarray of shape (n0,), int
            How often each row counts.
        largest : int
            The largest count of a node.
        """
        part = copy(self)
        part.weight = counts.astype(np.float64)
        part.fixed_point_weight = counts.astype(np.int64)
        part.weights_are_counts = True
        return part

    @abstractmethod
    def compute_stats(
        self,
        rows: np.ndarray,
        node: np.ndarray,
        n_positions: np.ndarray,
    ) -> tuple[NodeStats, np.ndarray | None]:
        """Compute statistics of m nodes from their rows.

        Parameters
        ----------
        rows : ndarray of shape (n,), int
            Node after node.
        node : ndarray of shape (n,), int
            The node of each row.
        n_positions : ndarray of shape (m,), int
            The number of rows of each node.

        Returns
        -------
        NodeStats
        ndarray of shape (n,), int, or None
            The contribution of each row to the sum of its node, for `store_addends`; None if it is the same in all
            nodes.
        """

    @abstractmethod
    def store_addends(self, rows: np.ndarray, addends: np.ndarray | None) -> None:
        """Store the contribution of each of these rows (n,) to the sum of its current node."""

    @abstractmethod
    def describe_nodes(self, stats: NodeStats) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of nodes, class fractions (m, c) or means (m, 1), and their impurity (m,)."""

    @abstractmethod
    def iter_prefix_sums(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield prefix sums along the last axis of rows, several sums packed into a word: each of the shape of rows."""

    @abstractmethod
    def sum_by_key(self, rows: np.ndarray, key: np.ndarray, n_keys: int) -> np.ndarray:
        """Return the sums, the weight first, over the rows of each key.

        Parameters
        ----------
        rows : ndarray of shape (n,), int
        key : ndarray of shape (b, n), int
            The key of each row, 0, …, n_keys - 1, under each of b features.
        n_keys : int

        Returns
        -------
        ndarray of shape (p, n_keys)
        """

    def pack_sums(self, sums: np.ndarray, n_positions: np.ndarray) -> list[np.ndarray]:
        """Return sums of nodes (p, m), and their numbers of rows (m,), packed as in `iter_prefix_sums`: each (m,)."""
        return list(sums)

    @abstractmethod
    def unpack_sums(self, words: list[np.ndarray]) -> list[np.ndarray]:
        """Return differences of prefix sums one by one, without the weight if every weight is 1: of the same shape."""

    @abstractmethod
    def mark_same_class(self, order: np.ndarray) -> np.ndarray | None:
        """Return whether neighbours along rows (b, n) are of one class, shape (b, n - 1); None without classes."""


def convert_to_fixed_point(weight: np.ndarray, total: float | None = None) -> np.ndarray:
    """Return positive weights (n,) as integers: unchanged if whole, else scaled so that ``total`` is 2^52.

    By default ``total`` is their sum.
    """
    if total is None:
        total = weight.sum()
    is_small = max(total, weight.max()) < MAX_TOTAL
    if is_small and np.all(weight == np.rint(weight)):
        return weight.astype(np.int64)
    scaled = np.rint(weight / total * MAX_TOTAL)
    return np.maximum(scaled, 1.0).astype(np.int64)
