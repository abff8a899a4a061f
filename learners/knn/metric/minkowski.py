r"""Distances between rows: what makes neighbours near.

For rows x and z with column weights w (1 unless given) the p-norm distance is

    d(x, z) = (Σ_j w_j |x_j - z_j|^p)^(1/p),        at p = ∞ the largest w_j |x_j - z_j|,

with p = 1 Manhattan and p = 2 Euclidean.  In a nominal column the difference is 0 or 1.  The others are p-norms in
other coordinates: Mahalanobis √((x-z)ᵀ V⁻¹ (x-z)) is Euclidean after multiplying by L⁻¹, V = LLᵀ; Gower is the mean
over columns of |x_j - z_j| / range_j and of nominal differences; Hamming is the fraction of columns that differ.

A missing cell leaves its column out, and the sum is scaled up to all columns: Σ w / Σ_present w.  Two rows that share
no column are infinitely far apart.

Terms are added column by column, always in the same order, so that every search gets bit-identical distances.
Cost: O(d) per pair.

Reference: J. C. Gower, "A general coefficient of similarity and some of its properties", Biometrics 27, 1971.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

POWER_BY_METRIC = {
    "euclidean": 2.0,
    "l2": 2.0,
    "manhattan": 1.0,
    "l1": 1.0,
    "chebyshev": np.inf,
    "linf": np.inf,
}
"""The p-norms that have names."""

MAX_COORDINATE = 1e150
"""The largest coordinate: its square, summed over columns, still fits a float."""

CELLS_PER_PAIR_BLOCK = 2**15
"""Cells of pairs compared at once: 256 KiB."""


class Metric(ABC):
    """Abstract: coordinates of rows, and distances between them.

    Attributes
    ----------
    unit : float
        One unit of the distances below is this much in the user's units: a power of two, 1 for ordinary data.
    """

    unit: float = 1.0

    @abstractmethod
    def compute_coordinates(self, C: np.ndarray) -> np.ndarray:
        """Return the coordinates (e, m) of a table C (d, m), which may be overwritten; see `copy_transposed`."""

    @abstractmethod
    def measure_all_pairs(self, Q: np.ndarray, T: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return all distances between Q (e, m) and T (e, n): shape (m, n); ``missing``: there may be NaN."""

    @abstractmethod
    def measure_pairs(
        self, Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray, *, missing: bool
    ) -> np.ndarray:
        """Return the distances between columns Q[:, query[i]] and T[:, row[i]]: shape of ``query``."""


class MinkowskiMetric(Metric):
    """A p-norm over scaled columns, some of them nominal, perhaps rotated.

    Parameters
    ----------
    p : float
        At least 1; may be infinite.
    columns : ndarray of shape (e,), int
        The columns of X that count.
    nominal : ndarray of shape (e,), bool
    factor : ndarray of shape (e,)
        What a difference in the column is multiplied by.
    share : ndarray of shape (e,)
        The column's weight in the scaling for missing cells, and in the mean.
    offset : ndarray of shape (e,), optional
        Subtracted before scaling.
    rotation : ndarray of shape (e, e), optional
        Multiplies the scaled row from the left.
    mean : bool
        Divide the sum by that of the shares.
    unit : float
    """

    def __init__(
        self,
        p: float,
        columns: np.ndarray,
        nominal: np.ndarray,
        factor: np.ndarray,
        share: np.ndarray,
        *,
        offset: np.ndarray | None = None,
        rotation: np.ndarray | None = None,
        mean: bool = False,
        unit: float = 1.0,
    ) -> None:
        self.p = p
        self.columns = columns
        self.nominal = nominal
        self.factor = factor
        self.share = share
        self.offset = np.zeros(columns.size) if offset is None else offset
        self._scale = np.where(nominal, 1.0, factor)  # a code is compared, not measured
        # Asked of every query: what need not be done.
        self._scaled, self._moved, self._mixed = bool((self._scale != 1).any()), self.offset.any(), nominal.any()
        self.rotation = rotation
        self.mean = mean
        self.unit = unit

    def compute_coordinates(self, C: np.ndarray) -> np.ndarray:
        """Return the coordinates, of shape (e, m), of a table C (d, m), which may be overwritten.

        Raises
        ------
        ValueError
            A cell lies so far out that its square is no float.
        """
        Z = C if self.columns.size == C.shape[0] else C[self.columns]  # (e, m)
        with np.errstate(over="ignore"):
            if self._moved:
                Z -= self.offset[:, None]
            if self._scaled:
                Z *= self._scale[:, None]
        if self.rotation is not None:
            # Column by column and not as a matrix product, whose last bits depend on the number of rows.
            Z = np.stack([_combine_rows(row, Z) for row in self.rotation])
        measured = Z[~self.nominal] if self._mixed else Z
        reach = np.fmax.reduce(measured, axis=None, initial=0.0), np.fmin.reduce(measured, axis=None, initial=0.0)
        if max(reach[0], -reach[1]) > MAX_COORDINATE:
            raise ValueError(
                f"X has values more than {MAX_COORDINATE:g} times what sets the training rows apart: "
                "no distance can be computed from them; correct or drop those rows."
            )
        return Z

    def measure_all_pairs(self, Q: np.ndarray, T: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return all distances between Q (e, m) and T (e, n): shape (m, n)."""

        def gap(j: int) -> np.ndarray:
            return self._compute_difference(j, Q[j][:, None], T[j][None, :], missing)

        return self.compute_norm(gap, missing=missing)

    def measure_pairs(
        self, Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray, *, missing: bool
    ) -> np.ndarray:
        """Return the distances between columns Q[:, query[i]] and T[:, row[i]]: shape of ``query``."""
        if self.p == 2 and not (missing or self.mean or self.nominal.any()):
            return self._euclidean_pairs(Q, query, T, row)

        def gap(j: int) -> np.ndarray:
            return self._compute_difference(j, Q[j][query], T[j][row], missing)

        return self.compute_norm(gap, missing=missing)

    def _euclidean_pairs(self, Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Return what `norm` would, with fewer calls: a sum over the first axis adds column by column, too.

        Not so the sum of a single pair, which therefore is taken twice.
        """
        size = query.size
        if size == 1:
            query, row = np.repeat(query, 2), np.repeat(row, 2)
        total = np.empty(query.size)
        step = max(2, CELLS_PER_PAIR_BLOCK // Q.shape[0])
        edges = [*range(0, query.size - 1, step), query.size]  # no part has a single pair
        for start, stop in itertools.pairwise(edges):
            gap = Q.take(query[start:stop], axis=1)
            gap -= T.take(row[start:stop], axis=1)
            np.square(gap, out=gap)
            np.add.reduce(gap, axis=0, out=total[start:stop])
        return np.sqrt(total[:size], out=total[:size])

    def compute_norm(self, gap: Callable[[int], np.ndarray], *, missing: bool = False) -> np.ndarray:
        """Return the norm of differences.

        Parameters
        ----------
        gap : callable
            From j in 0..e-1 to a new array of differences in column j, NaN where a cell is missing.
        missing : bool
            Whether there may be a NaN.
        """
        if self.p in (1.0, 2.0, np.inf):
            total = self._sum_terms(gap, self.p, missing)
            return np.sqrt(total, out=total) if self.p == 2 else total
        largest = self._sum_terms(gap, np.inf, missing)
        # Shares of the largest difference are powered, since |x|^p itself may leave the range of floats.
        per = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
        total = self._sum_terms(lambda j: gap(j) / per, self.p, missing)
        return per * total ** (1 / self.p)

    def _compute_difference(self, j: int, a: np.ndarray, b: np.ndarray, missing: bool) -> np.ndarray:
        if not self.nominal[j]:
            return a - b
        gap = (a != b) * self.factor[j]
        return np.where(np.isnan(a) | np.isnan(b), np.nan, gap) if missing else gap

    def _sum_terms(self, gap: Callable[[int], np.ndarray], p: float, missing: bool) -> np.ndarray:
        """Σ_j |gap_j|^p, scaled up for missing cells and divided for a mean; at p = ∞ the largest."""
        total: np.ndarray | None = None
        present: Any = 0.0
        whole = 0.0
        for j, share in enumerate(self.share.tolist()):
            term = gap(j)
            whole += share
            if missing:
                absent = np.isnan(term)
                term[absent] = 0.0
                present = present + share * ~absent
            term = np.square(term, out=term) if p == 2 else np.abs(term, out=term)
            if p not in (1.0, 2.0, np.inf):
                term **= p
            join = np.maximum if p == np.inf else np.add
            total = term if total is None else join(total, term, out=total)
        assert total is not None  # a metric has at least one column
        if missing:
            scale = 1.0 if p == np.inf else whole / np.where(present > 0, present, 1.0)
            total = np.where(present > 0, total * scale, np.inf)
        return total / whole if self.mean else total


def copy_transposed(X: np.ndarray) -> np.ndarray:
    """Return a copy of a table X (m, d) column by column: shape (d, m)."""
    columns = np.empty((X.shape[1], X.shape[0]))
    step = max(256, 2048 // X.shape[1])
    for start in range(0, X.shape[0], step):  # slices that fit the cache are turned twice as fast as the whole
        columns[:, start : start + step] = X[start : start + step].T
    return columns


def _combine_rows(coefficients: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Σ_j c_j Z_j of rows Z (e, m): shape (m,)."""
    total = np.zeros(Z.shape[1])
    for coefficient, z in zip(coefficients.tolist(), Z, strict=True):
        if coefficient:
            total += coefficient * z
    return total


def has_missing(Z: np.ndarray) -> bool:
    """Return whether a cell is NaN."""
    return bool(Z.size) and bool(np.isnan(Z.min()))  # the smallest of anything and NaN is NaN
