"""Kernels: inner products after a map that need never be computed.

A kernel K(x, z) = Φ(x)·Φ(z) is the inner product of two rows after a map Φ:

    linear       x·z
    polynomial   (γ x·z + coef0)^p          the lecture's (xz + 1)^p is γ = 1, coef0 = 1
    Gaussian     exp(-γ ‖x - z‖²)           the lecture's exp(-‖x - z‖² / 2σ²) is γ = 1 / 2σ²
    sigmoid      tanh(γ x·z + coef0)        not positive definite for every γ

A block of a × b kernel values costs O(a b d), nearly all of it in one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

STRIP_VALUES = 1 << 17
"""Kernel values computed at a time: 1 MiB, which stays in cache."""


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
        left, right = self.factors(A, B)
        height = max(16, STRIP_VALUES // max(B.shape[0], 1))
        room = np.empty((min(height, A.shape[0]), B.shape[0])) if K is None else K
        for start in range(0, A.shape[0], height):
            rows = slice(start, min(start + height, A.shape[0]))
            strip = room[: rows.stop - start] if K is None else K[rows]
            np.matmul(left[rows], right, out=strip)
            self.map(strip)
            yield rows, strip

    def factors(self, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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

    def map(self, K: np.ndarray) -> None:
        """Turn products of factors into kernel values, in place."""
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


def _squared_norms(A: np.ndarray) -> np.ndarray:
    squares: np.ndarray = np.einsum("ij,ij->i", A, A)
    return squares
