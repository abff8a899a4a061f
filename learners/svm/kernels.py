"""Kernels, and the matrix of kernel values that the solvers ask for in pieces.

A kernel K(x, z) = Φ(x)·Φ(z) is the inner product after a map Φ that need never be computed:

    linear       x·z
    polynomial   (γ x·z + coef0)^p          the lecture's (xz + 1)^p is γ = 1, coef0 = 1
    Gaussian     exp(-γ ‖x - z‖²)           the lecture's exp(-‖x - z‖² / 2σ²) is γ = 1 / 2σ²
    sigmoid      tanh(γ x·z + coef0)        not positive definite for every γ

A block of a × b kernel values costs O(a b d), nearly all of it in one matrix product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np

STRIP = 1 << 17
"""Kernel values computed at a time: 1 MiB, which stays in cache."""

MOST_RUNS = 4
"""Up to so many runs of rows are copied one by one."""

WHOLE = 2000
"""Up to so many rows the kernel matrix is computed once and kept (32 MB)."""


@final
@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters, for rows of d features.

    Parameters
    ----------
    name : {"linear", "poly", "rbf", "sigmoid"}
    gamma, coef0 : float
    degree : int
        As in the formulas above.
    """

    name: str
    gamma: float
    coef0: float
    degree: int

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return K(a, b) for every row of A (a, d) and of B (b, d): shape (a, b)."""
        K = np.empty((A.shape[0], B.shape[0]))
        for _ in self._strips(A, B, K):
            pass
        return K

    def product(self, A: np.ndarray, B: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return K(A, B) @ coefficients, of shape (a,) or (a, p), without holding K."""
        out = np.empty((A.shape[0], *coefficients.shape[1:]))
        for rows, strip in self._strips(A, B, None):
            out[rows] = strip @ coefficients
        return out

    def _strips(self, A: np.ndarray, B: np.ndarray, K: np.ndarray | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Compute K some rows at a time, into K if given: a strip stays in cache from the product to the map."""
        left, right = self._factors(A, B)
        height = max(16, STRIP // max(B.shape[0], 1))
        room = np.empty((min(height, A.shape[0]), B.shape[0])) if K is None else K
        for start in range(0, A.shape[0], height):
            rows = slice(start, min(start + height, A.shape[0]))
            strip = room[: rows.stop - start] if K is None else K[rows]
            np.matmul(left[rows], right, out=strip)
            self._map(strip)
            yield rows, strip

    def _factors(self, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return two matrices whose product is what the kernel maps: γ x·z + coef0, or -γ ‖x - z‖²."""
        if self.name == "linear":
            return A, B.T
        if self.name != "rbf":
            return np.column_stack([self.gamma * A, np.full(A.shape[0], self.coef0)]), np.vstack(
                [B.T, np.ones(B.shape[0])]
            )
        # -γ‖x - z‖² = 2γ x·z - γ‖x‖² - γ‖z‖²: two more columns, and one product does it all.
        ones_a, ones_b = np.ones(A.shape[0]), np.ones(B.shape[0])
        left = np.column_stack([2.0 * self.gamma * A, -self.gamma * _squared_norms(A), ones_a])
        return left, np.vstack([B.T, ones_b, -self.gamma * _squared_norms(B)])

    def _map(self, K: np.ndarray) -> None:
        if self.name == "rbf":
            np.minimum(K, 0.0, out=K)
            np.exp(K, out=K)
        elif self.name == "sigmoid":
            np.tanh(K, out=K)
        elif self.name == "poly":
            base = K.copy()
            if self.degree == 0:
                K[...] = 1.0
            for _ in range(self.degree - 1):  # some ten times faster than a general power
                K *= base

    def diagonal(self, A: np.ndarray) -> np.ndarray:
        """Return K(a, a) for every row of A: shape (a,)."""
        if self.name == "rbf":
            return np.ones(A.shape[0])
        squares = _squared_norms(A)
        if self.name == "linear":
            return squares
        inner = self.gamma * squares + self.coef0
        return inner**self.degree if self.name == "poly" else np.tanh(inner)


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
    def lines(self, rows: np.ndarray) -> np.ndarray:
        """Return K between the given rows and all, of shape (r, n)."""

    @abstractmethod
    def block(self, rows: np.ndarray) -> np.ndarray:
        """Return K between the given rows, of shape (r, r)."""

    @abstractmethod
    def product(self, columns: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return K[:, columns] @ coefficients, of shape (n,)."""

    @abstractmethod
    def restricted(self, rows: np.ndarray) -> Gram:
        """Return the matrix between the given rows alone."""


@final
class StoredGram(Gram):
    """The whole matrix in memory: few rows, or values that the user gives."""

    def __init__(self, values: np.ndarray, level: np.ndarray) -> None:
        self.values, self.level = values, level
        self.diagonal = values.diagonal().copy()

    def lines(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        return self.values.take(rows, axis=0)

    def block(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        return self.values if rows.size == self.values.shape[0] else self.values[np.ix_(rows, rows)]

    def product(self, columns: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        return coefficients @ self.values[columns]

    def restricted(self, rows: np.ndarray) -> Gram:
        """See `Gram`."""
        return PartOfStored(self, rows)


@final
class PartOfStored(Gram):
    """The matrix between some rows, of which lines are copied as they are asked for: a pair of classes needs few.

    Parameters
    ----------
    whole : StoredGram
    rows : ndarray of shape (n,), int
    """

    def __init__(self, whole: StoredGram, rows: np.ndarray) -> None:
        self._whole, self._rows = whole, rows
        self.diagonal, self.level = whole.diagonal[rows], whole.level[rows]
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
        # Classes are runs of rows: slices copy several times faster than indices.
        self._spans = [slice(run[0], run[-1] + 1) for run in runs]

    def lines(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        values, inner = self._whole.values, self._rows[rows]
        if len(self._spans) > MOST_RUNS:
            return values[inner[:, None], self._rows]
        return np.concatenate([values[inner, span] for span in self._spans], axis=1)

    def block(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        lines = self.lines(rows)
        return lines if rows.size == self._rows.size else lines.take(rows, axis=1)

    def product(self, columns: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        return coefficients @ self.lines(columns)

    def restricted(self, rows: np.ndarray) -> Gram:
        """See `Gram`."""
        return PartOfStored(self._whole, self._rows[rows])


@final
class ComputedGram(Gram):
    """Values computed from the rows whenever they are asked for: memory O(n d)."""

    def __init__(self, kernel: Kernel, X: np.ndarray) -> None:
        self.kernel, self.X = kernel, X
        self.diagonal = kernel.diagonal(X)
        self.level = np.zeros(X.shape[0])

    def lines(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        return self.kernel(self.X[rows], self.X)

    def block(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        return self.kernel(self.X[rows], self.X[rows])

    def product(self, columns: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        if self.kernel.name == "linear":
            return self.X @ (coefficients @ self.X[columns])  # w first: O(n d)
        return self.kernel.product(self.X, self.X[columns], coefficients)

    def restricted(self, rows: np.ndarray) -> Gram:
        """See `Gram`."""
        return gram_of(self.kernel, self.X[rows])


def gram_of(kernel: Kernel, X: np.ndarray) -> Gram:
    """Return the kernel matrix of the rows X (n, d), stored where it is small."""
    if X.shape[0] <= WHOLE:
        K = kernel(X, X)
        # Of the linear kernel the rows are centred instead; the Gaussian has values up to 1 only.
        return _centred(K) if kernel.name in ("poly", "sigmoid") else StoredGram(K, np.zeros(X.shape[0]))
    return ComputedGram(kernel, X)


def given_gram(values: Any) -> StoredGram:
    """Return the kernel matrix that the user gives, by hand or through a callable, checked."""
    K = np.asarray(values, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"kernel: the values between the training rows must be a square matrix, got shape {K.shape}.")
    if not np.isfinite(K).all():
        raise ValueError("kernel: some values between the training rows are infinite or NaN.")
    if not np.allclose(K, K.T, rtol=1e-6, atol=1e-8 * float(np.abs(K).max())):
        raise ValueError("kernel: K(x, z) and K(z, x) differ for some training rows; a kernel is symmetric.")
    return _centred(K)


def _centred(K: np.ndarray) -> StoredGram:
    """Take the mean of each row and column out of K."""
    level = K.mean(axis=1)
    level -= 0.5 * level.mean()
    return StoredGram(K - level[:, None] - level[None, :], level)


def _squared_norms(A: np.ndarray) -> np.ndarray:
    squares: np.ndarray = np.einsum("ij,ij->i", A, A)
    return squares
