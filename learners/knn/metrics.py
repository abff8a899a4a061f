"""What all metrics share: their interface, their names, tables of coordinates, and units.

A metric turns rows into coordinates, stored column by column, shape (columns, rows), and measures distances between
coordinates, in units in which the squares of differences neither overflow nor underflow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np


class Metric(ABC):
    """Abstract: coordinates of rows, and distances between them.

    Attributes
    ----------
    unit : float
        The factor by which the distances below must be multiplied: a power of two, 1 for ordinary data.
    """

    unit: float = 1.0

    def measure_magnitudes(self, Q: np.ndarray) -> np.ndarray:
        """Return the magnitude of queries Q (e, m), to which the rounding of their distances is relative: (m,).

        It is 0 where rounding is relative to the distance alone.
        """
        return np.zeros(Q.shape[1])

    @abstractmethod
    def compute_coordinates(self, C: np.ndarray) -> np.ndarray:
        """Return the coordinates (e, m) of rows C (d, m), which may be overwritten.

        C contains the rows column by column; see `bakeoff.learners.knn.metrics.copy_transposed`.
        """

    @abstractmethod
    def measure_all_pairs(self, Q: np.ndarray, T: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return all distances between Q (e, m) and T (e, n): shape (m, n).

        ``missing`` is whether there may be NaN.
        """

    @abstractmethod
    def measure_pairs(
        self, Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray, *, missing: bool
    ) -> np.ndarray:
        """Return the distances between columns Q[:, query[i]] and T[:, row[i]]: shape of ``query``."""


POWER_BY_METRIC = {
    "euclidean": 2.0,
    "l2": 2.0,
    "nan_euclidean": 2.0,
    "manhattan": 1.0,
    "l1": 1.0,
    "cityblock": 1.0,
    "chebyshev": np.inf,
    "linf": np.inf,
    "infinity": np.inf,
}
"""The p-norms that have names."""

METRIC_BY_POWER = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}
"""One name for each of them."""

BOOLEAN_METRICS = frozenset(
    {"dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"},
)
"""Metrics that only ask whether a cell is zero."""

PAIRWISE_METRICS = BOOLEAN_METRICS | {
    "braycurtis",
    "canberra",
    "correlation",
    "cosine",
    "haversine",
    "seuclidean",
    "sqeuclidean",
}
"""Metrics that compare numeric rows as wholes: see `bakeoff.learners.knn.pairwise_metric`."""

METRICS_OF_COLUMNS = {*POWER_BY_METRIC, "minkowski", "p", "hamming", "gower"}
"""Metrics that are sums over columns, so that a column with a missing cell can be left out."""

METRICS = {*METRICS_OF_COLUMNS, *PAIRWISE_METRICS, "mahalanobis", "precomputed"}
"""All values of ``metric`` that are names."""

NON_METRICS = frozenset({"correlation", "cosine", "nan_euclidean", "precomputed", "sqeuclidean", "yule"})
"""Names for which the triangle inequality does not hold, or cannot be relied on, so that no tree can use them."""


def name_metric(metric: str | Callable[..., float], p: float) -> str | Callable[..., float]:
    """Return the canonical name of a metric with several names, or the callable; p is the power of "minkowski"."""
    if callable(metric):
        return metric
    if metric in ("minkowski", "p"):
        return METRIC_BY_POWER.get(float(p), "minkowski")
    if metric in POWER_BY_METRIC:
        return METRIC_BY_POWER[POWER_BY_METRIC[metric]]
    return metric


MIN_ROWS_PER_TILE = 256
"""Rows transposed at once, at least."""

CELLS_PER_TILE = 2048
"""Cells transposed at once: tiles that fit the cache are transposed twice as fast as the whole table."""


def copy_transposed(X: np.ndarray) -> np.ndarray:
    """Return a copy of a table X (m, d), column by column: shape (d, m)."""
    m, d = X.shape
    columns = np.empty((d, m))
    step = max(MIN_ROWS_PER_TILE, CELLS_PER_TILE // d)
    for start in range(0, m, step):
        columns[:, start : start + step] = X[start : start + step].T
    return columns


def has_missing(Z: np.ndarray) -> bool:
    """Return whether a cell is NaN."""
    return bool(Z.size) and bool(np.isnan(Z.min()))  # the minimum of NaN and any number is NaN


MIN_ORDINARY_SIZE = 1e-140
MAX_ORDINARY_SIZE = 1e150
"""Sizes between which the unit is 1."""

MAX_UNIT_EXPONENT = 1000
"""The largest unit, and the inverse of the smallest, is 2 to this power."""


def compute_half_ranges(C: np.ndarray) -> np.ndarray:
    """Return (largest - smallest) / 2 of each column of C (d, n): shape (d,), 0 for a column without a value.

    Both are halved first, since the range itself may overflow.
    """
    largest = np.fmax.reduce(C, axis=1)  # (d,)
    smallest = np.fmin.reduce(C, axis=1)  # (d,)
    half = largest / 2 - smallest / 2
    return np.where(np.isnan(half), 0.0, half)


def choose_unit(size: float) -> float:
    """Return a unit in which the size has ordinary magnitude: a power of two, so that scaling by it is exact."""
    if size == 0 or MIN_ORDINARY_SIZE <= size <= MAX_ORDINARY_SIZE:
        return 1.0
    exponent = np.clip(np.frexp(size)[1], -MAX_UNIT_EXPONENT, MAX_UNIT_EXPONENT)
    return float(2.0**exponent)
