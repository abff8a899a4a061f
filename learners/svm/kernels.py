"""Kernels: inner products in the space of a feature map that is never computed explicitly.

A kernel K(x, z) = Φ(x)·Φ(z) is the inner product of two rows after a map Φ:

    linear       x·z
    polynomial   (γ x·z + coef0)^p          the lecture's (xz + 1)^p is γ = 1, coef0 = 1
    Gaussian     exp(-γ ‖x - z‖²)           the lecture's exp(-‖x - z‖² / 2σ²) is γ = 1 / 2σ²
    sigmoid      tanh(γ x·z + coef0)        not positive definite for every γ

`bakeoff.learners.definitions.svm` states them one by one. Here a block of a × b kernel values costs O(a b d),
nearly all of it in one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

STRIP_VALUES = 1 << 17
"""Kernel values computed at a time: 1 MiB, which stays in cache."""

MIN_STRIP_ROWS = 16


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
        for _ in self._compute_strips(A, B, K):
            pass
        return K

    def multiply(self, A: np.ndarray, B: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return K(A, B) @ coefficients, of shape (a,) or (a, p), without storing K."""
        result = np.empty((A.shape[0], *coefficients.shape[1:]))
        for rows, strip in self._compute_strips(A, B, None):
            result[rows] = strip @ coefficients
        return result

    def _compute_strips(self, A: np.ndarray, B: np.ndarray, K: np.ndarray | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Compute K in strips of rows, so that each stays in cache until it is complete; write into K if given."""
        left, right = self.make_factors(A, B)
        height = max(MIN_STRIP_ROWS, STRIP_VALUES // max(B.shape[0], 1))
        buffer = np.empty((min(height, A.shape[0]), B.shape[0])) if K is None else K
        for start in range(0, A.shape[0], height):
            rows = slice(start, min(start + height, A.shape[0]))
            strip = buffer[: rows.stop - start] if K is None else K[rows]
            np.matmul(left[rows], right, out=strip)
            self.transform_products(strip)
            yield rows, strip

    def make_factors(self, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return two matrices whose product is the argument of `transform_products`.

        This is x·z, γ x·z + coef0 or -γ ‖x - z‖², for every pair of rows.
        """
        if self.name == "linear":
            return A, B.T
        ones_a = np.ones(A.shape[0])
        ones_b = np.ones(B.shape[0])
        if self.name == "rbf":
            # -γ‖x - z‖² = 2γ x·z - γ‖x‖² - γ‖z‖²: with two more columns, one product computes all of it.
            left = np.column_stack([2.0 * self.gamma * A, -self.gamma * _compute_squared_norms(A), ones_a])
            right = np.vstack([B.T, ones_b, -self.gamma * _compute_squared_norms(B)])
        else:
            left = np.column_stack([self.gamma * A, self.coef0 * ones_a])
            right = np.vstack([B.T, ones_b])
        return left, right

    def transform_products(self, K: np.ndarray) -> None:
        """Transform products of the factors into kernel values, in place."""
        if self.name == "rbf":
            np.minimum(K, 0.0, out=K)
            np.exp(K, out=K)
        elif self.name == "sigmoid":
            np.tanh(K, out=K)
        elif self.name == "poly":
            _raise_to_power(K, self.degree)

    def compute_diagonal(self, A: np.ndarray) -> np.ndarray:
        """Return K(a, a) for every row of A: shape (a,)."""
        if self.name == "rbf":
            return np.ones(A.shape[0])
        squared_norms = _compute_squared_norms(A)
        if self.name == "linear":
            return squared_norms
        argument = self.gamma * squared_norms + self.coef0
        if self.name == "poly":
            return argument**self.degree
        return np.tanh(argument)


def _raise_to_power(K: np.ndarray, degree: int) -> None:
    """Raise every value to an integer power in place, by products: about ten times faster than a general power."""
    base = K.copy()
    if degree == 0:
        K[...] = 1.0
    for _ in range(degree - 1):
        K *= base


def _compute_squared_norms(A: np.ndarray) -> np.ndarray:
    squared_norms: np.ndarray = np.einsum("ij,ij->i", A, A)
    return squared_norms
