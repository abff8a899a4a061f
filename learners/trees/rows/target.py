"""What is being predicted, as the growing of a tree sees it: sums along sorted rows, and the content of nodes.

Sums are taken in whole numbers (weights, and targets relative to their node, in fixed point), which are exact: no
order of rows and no neighbouring node can change the last bit of a gain, and equal splits tie exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import NamedTuple, Self

import numpy as np


class NodeStats(NamedTuple):
    """What the nodes of one level hold.

    rows : (m,) int, each as often as it counts; places : (m,) int, how many stand in the front; weight : (m,);
    pure : (m,) bool; unit : (m,) what a gain in the sums' own unit is multiplied with to be in the unit of the
    impurity; sums : (m, p) whole sums: weight (if not all 1), then each class but the first, or y; told : (m, q) what
    `Target.describe` makes the nodes' entries of: weights of the classes, or mean and variance.
    """

    n_rows: np.ndarray
    n_positions: np.ndarray
    weight: np.ndarray
    pure: np.ndarray
    gain_unit: np.ndarray
    sums: np.ndarray
    summary: np.ndarray


MIN_LARGEST_WEIGHT = 1e-280
"""Weights that are all below it have quotients beyond the range of floats."""


class Target(ABC):
    """Abstract: the targets and weights of the n0 training rows."""

    weight: np.ndarray  # (n0,)
    fixed_point_weight: np.ndarray | None  # (n0,) int64 weights in fixed point; None if every weight is 1
    weights_are_counts: bool = False  # whether a weight says how many rows a row is
    allows_histogram: bool = False  # whether rows may be counted by value, without changing a tree in its last bit
    fixed_point_scale: float  # how many whole units make a weight of 1

    def _set_weights(self, weight: np.ndarray, mass: float | None) -> None:
        self.weight, self.heaviest = weight, float(weight.max())
        if self.heaviest < MIN_LARGEST_WEIGHT:
            raise ValueError(
                f"sample_weight is {self.heaviest:.3g} at most, which is no weight: multiply all by one number."
            )
        self.fixed_point_weight = None if np.all(weight == 1.0) else fixed_point(weight, mass)
        self.fixed_point_scale = (
            1.0 if self.fixed_point_weight is None else float(self.fixed_point_weight.sum() / weight.sum())
        )

    def take_rows(self, rows: np.ndarray) -> Self:
        """Return the target of the given rows, which may repeat; the units of the sums stay the same."""
        part = copy(self)
        for name, column in vars(self).items():
            if isinstance(column, np.ndarray):
                setattr(part, name, column[rows])
        return part

    def with_counts(self, times: np.ndarray, largest: int) -> Self:
        """Return the target in which a row of weight 1 counts as so many rows (n0,), at most ``largest`` in a node."""
        part = copy(self)
        part.weight, part.fixed_point_weight, part.weights_are_counts = (
            times.astype(np.float64),
            times.astype(np.int64),
            True,
        )
        return part

    @abstractmethod
    def compute_stats(self, rows: np.ndarray, node: np.ndarray, places: np.ndarray) -> NodeStats:
        """Weigh m nodes, given their rows (n,), node after node, the node of each (n,), and how many there are (m,)."""

    @abstractmethod
    def describe_nodes(self, stats: NodeStats) -> tuple[np.ndarray, np.ndarray]:
        """Return what nodes say, class weights as fractions (m, c) or means (m, 1), and their impurity (m,)."""

    @abstractmethod
    def iter_prefix_sums(self, order: np.ndarray) -> Iterator[np.ndarray]:
        """Yield running sums along the last axis of rows, several in a word: each of the shape of ``order``."""

    @abstractmethod
    def sum_by_key(self, rows: np.ndarray, key: np.ndarray, size: int) -> np.ndarray:
        """Return the sums, the weight first, over the rows (n,) that have each key 0, …, size - 1.

        Each of b features gives a row a key of its own, (b, n); shape (p, size).
        """

    def pack_sums(self, sums: np.ndarray, places: np.ndarray) -> list[np.ndarray]:
        """Return the sums (p, m) of nodes with this many positions (m,) packed into words: each (m,)."""
        return list(sums)

    @abstractmethod
    def unpack_sums(self, runs: list[np.ndarray]) -> list[np.ndarray]:
        """Return differences of runs as sums, without the weight where places are rows: of the same shape."""

    @abstractmethod
    def mark_same_class(self, order: np.ndarray) -> np.ndarray | None:
        """Return which neighbours along ``order`` are of one class, shape (b, n - 1); None for targets."""


def fixed_point(weight: np.ndarray, mass: float | None = None) -> np.ndarray:
    """Return positive weights (n,) as whole numbers: as they are if whole, else scaled so that ``mass`` is 2^52.

    Without ``mass`` it is their sum.
    """
    total = weight.sum() if mass is None else mass
    if max(total, weight.max()) < 2.0**52 and np.all(weight == np.rint(weight)):
        return weight.astype(np.int64)
    return np.maximum(np.rint(weight / total * 2.0**52), 1.0).astype(np.int64)
