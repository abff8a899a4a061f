"""The matrix of kernel values between the training rows, which the solvers ask for in pieces.

Few rows: the matrix is computed once and kept.  More: pieces are computed whenever they are asked for, and the memory
is O(n d).  One against one, each pair of classes has a matrix of its own, computed when its turn comes: of two
classes a and b, the block between a and b appears in no other pair, and the block within a is kept for the next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any, final

import numpy as np

from bakeoff.learners.svm.kernel.functions import Kernel

MAX_STORED_ROWS = 1024
"""Up to so many rows the matrix is computed once and kept (8 MB)."""

MAX_COPIED_RUNS = 4
"""Up to so many runs of rows are copied block by block."""


class Gram(ABC):
    """Abstract: the n × n matrix K of kernel values between training rows, computed as it is asked for.

    Attributes
    ----------
    diagonal : ndarray of shape (n,)
    level : ndarray of shape (n,)
        What K_ij lacks of the kernel is level_i + level_j and a constant.  As Σ β = 0, that shifts only b, by -Σ β_i
        level_i; without it, values that are large and nearly equal keep more digits.
    """

    diagonal: np.ndarray
    level: np.ndarray

    def is_finite(self) -> bool:
        """Whether no kernel value overflows, so far as they are known."""
        return bool(np.isfinite(self.diagonal).all())

    @abstractmethod
    def take_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return K between the given rows and all, of shape (r, n)."""

    @abstractmethod
    def take_block(self, rows: np.ndarray) -> np.ndarray:
        """Return K between the given rows, of shape (r, r)."""

    @abstractmethod
    def multiply_columns(self, columns: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return K[:, columns] @ coefficients, of shape (n,)."""

    @abstractmethod
    def restrict_to(self, rows: np.ndarray) -> Gram:
        """Return the matrix between the given rows alone."""


@final
class StoredGram(Gram):
    """The whole matrix in memory: few rows, or values that the user gives."""

    def __init__(self, values: np.ndarray, level: np.ndarray) -> None:
        self.values, self.level = values, level
        self.diagonal = values.diagonal().copy()

    def take_rows(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        return self.values.take(rows, axis=0)

    def take_block(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        return self.values if rows.size == self.values.shape[0] else self.values[np.ix_(rows, rows)]

    def multiply_columns(self, columns: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        return coefficients @ self.values[columns]

    def restrict_to(self, rows: np.ndarray) -> Gram:
        """See `Gram`."""
        runs, values = _runs(rows), np.empty((rows.size, rows.size))
        if len(runs) > MAX_COPIED_RUNS:
            return StoredGram(self.values[np.ix_(rows, rows)], self.level[rows])
        for here, there in runs:  # slices copy several times faster than indices
            for across, along in runs:
                values[here, across] = self.values[there, along]
        return StoredGram(values, self.level[rows])


@final
class ComputedGram(Gram):
    """Values computed from the rows whenever they are asked for: memory O(n d)."""

    def __init__(self, kernel: Kernel, X: np.ndarray) -> None:
        self.kernel, self.X = kernel, X
        self.diagonal = kernel.diagonal(X)
        self.level = np.zeros(X.shape[0])
        self._factors: tuple[np.ndarray, np.ndarray] | None = None
        self._kept: dict[int, np.ndarray] = {}

    def take_rows(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        return self.kernel(self.X[rows], self.X)

    def take_block(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        return self.kernel(self.X[rows], self.X[rows])

    def multiply_columns(self, columns: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        if self.kernel.name == "linear":
            return self.X @ (coefficients @ self.X[columns])  # w first: O(n d)
        return self.kernel.product(self.X, self.X[columns], coefficients)

    def restrict_to(self, rows: np.ndarray) -> Gram:
        """See `Gram`."""
        runs = _runs(rows)
        if rows.size > MAX_STORED_ROWS or len(runs) > MAX_COPIED_RUNS:
            return make_gram(self.kernel, self.X[rows])
        values = np.empty((rows.size, rows.size))
        for place, (here, there) in enumerate(runs):
            values[here, here] = self._within(there)
            for across, along in runs[:place]:
                between = self._between(there, along)
                values[here, across], values[across, here] = between, between.T
        return _stored(self.kernel, values)

    def _within(self, rows: slice) -> np.ndarray:
        """Return K between rows of a run; kept for the next, if there is room."""
        known = self._kept.get(rows.start)
        if known is not None and known.shape[0] == rows.stop - rows.start:
            return known
        values = self._between(rows, rows)
        if sum(kept.size for kept in self._kept.values()) + values.size <= MAX_STORED_ROWS**2:
            self._kept[rows.start] = values
        return values

    def _between(self, rows: slice, others: slice) -> np.ndarray:
        if self._factors is None:
            self._factors = self.kernel.factors(self.X, self.X)
        values: np.ndarray = self._factors[0][rows] @ self._factors[1][:, others]
        self.kernel.map(values)
        return values


def make_gram(kernel: Kernel, X: np.ndarray, *, whole: bool = True) -> Gram:
    """Return the kernel matrix of the rows X (n, d), stored where it is small, unless parts are asked for ``whole``."""
    if whole and X.shape[0] <= MAX_STORED_ROWS:
        return _stored(kernel, kernel(X, X))
    return ComputedGram(kernel, X)


def make_gram_of_values(values: Any) -> StoredGram:
    """Return the kernel matrix that the user gives, by hand or through a callable, checked."""
    K = np.asarray(values, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"kernel: the values between the training rows must be a square matrix, got shape {K.shape}.")
    if not np.isfinite(K).all():
        raise ValueError("kernel: some values between the training rows are infinite or NaN.")
    if not np.allclose(K, K.T, rtol=1e-6, atol=1e-8 * float(np.abs(K).max())):
        raise ValueError("kernel: K(x, z) and K(z, x) differ for some training rows; a kernel is symmetric.")
    return _centred(K)


def _stored(kernel: Kernel, K: np.ndarray) -> StoredGram:
    # Of the linear kernel the rows are centred instead; the Gaussian has values up to 1 only.
    return _centred(K) if kernel.name in ("poly", "sigmoid") else StoredGram(K, np.zeros(K.shape[0]))


def _centred(K: np.ndarray) -> StoredGram:
    """Take the mean of each row and column out of K."""
    level = K.mean(axis=1)
    level -= 0.5 * level.mean()
    return StoredGram(K - level[:, None] - level[None, :], level)


def _runs(rows: np.ndarray) -> list[tuple[slice, slice]]:
    """Return where each run of consecutive rows stands among the given ones, and among all."""
    edges = [0, *(np.flatnonzero(np.diff(rows) != 1) + 1).tolist(), rows.size]
    return [(slice(a, b), slice(int(rows[a]), int(rows[b - 1]) + 1)) for a, b in pairwise(edges)]
