"""Kernels, the Gram matrix of their values between the training rows, and the space of the training rows.

A kernel K(x, z) = Φ(x)·Φ(z) is the inner product of two rows after a map Φ that is never computed explicitly:

    linear       x·z
    polynomial   (γ x·z + coef0)^p          the lecture's (xz + 1)^p is γ = 1, coef0 = 1
    Gaussian     exp(-γ ‖x - z‖²)           the lecture's exp(-‖x - z‖² / 2σ²) is γ = 1 / 2σ²
    sigmoid      tanh(γ x·z + coef0)        not positive definite for every γ

`bakeoff.learners.definitions.svm` defines each of them. Here a block of a × b kernel values costs O(a b d), almost
entirely for one matrix product.

*The Gram matrix* is computed once and stored for few rows. For more, the solvers request parts of it, which are
computed whenever they are requested, and the memory is O(n d). In one-against-one classification, each pair of classes
has its own matrix, computed when the pair is solved: for two classes a and b, the block between a and b is not used in
any other pair, and the block within a is kept for the next pair.

*The feature map* of K is a table of rows whose inner products are the kernel values:

    K = V Λ Vᵀ,      rows of V √Λ

With these rows, any kernel becomes a linear one, and the number of features is the rank of K. For large C, thousands
of SMO steps do not come near the optimum of the dual, whereas the primal needs about twenty iterations. This occurs
with smooth kernels, whose numerical rank is often much smaller than n. Cost: O(n³), once.

*The space* of the training rows has an origin and a unit of length, which affect the solution only by rounding: the
linear and the Gaussian kernel do not depend on the origin, and the unit of length only scales C.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np

from bakeoff.learners.base.scaling import RELATIVE_CELL_ROUNDING

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
        return self.compute_values(*self.make_factors(A, B))

    def multiply(self, A: np.ndarray, B: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return K(A, B) @ coefficients, of shape (a,) or (a, p), without storing K."""
        return self.multiply_factors(*self.make_factors(A, B), coefficients)

    def compute_values(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the kernel values (a, b) of two factors."""
        K = np.empty((left.shape[0], right.shape[0]))
        for _ in self._compute_strips(left, right, K):
            pass
        return K

    def multiply_factors(self, left: np.ndarray, right: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return the product of the kernel values of two factors with coefficients, without storing the values."""
        result = np.empty((left.shape[0], *coefficients.shape[1:]))
        for rows, strip in self._compute_strips(left, right, None):
            result[rows] = strip @ coefficients
        return result

    def _compute_strips(
        self, left: np.ndarray, right: np.ndarray, K: np.ndarray | None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Compute K in strips of rows that stay in cache until they are complete, written into K if given."""
        a = left.shape[0]
        b = right.shape[0]
        height = max(MIN_STRIP_ROWS, STRIP_VALUES // max(b, 1))
        buffer = np.empty((min(height, a), b)) if K is None else K
        for start in range(0, a, height):
            rows = slice(start, min(start + height, a))
            strip = buffer[: rows.stop - start] if K is None else K[rows]
            np.matmul(left[rows], right.T, out=strip)
            self.transform_products(strip)
            yield rows, strip

    def make_factors(self, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return tables of the same number of columns, whose products of rows are the argument of `transform_products`.

        This is x·z, γ x·z + coef0 or -γ ‖x - z‖², for every pair of rows.
        """
        if self.name == "linear":
            return A, B
        ones_a = np.ones(A.shape[0])
        ones_b = np.ones(B.shape[0])
        if self.name == "rbf":
            # -γ‖x - z‖² = 2γ x·z - γ‖x‖² - γ‖z‖²: with two more columns, one product computes the sum.
            left = np.column_stack([2.0 * self.gamma * A, -self.gamma * _compute_squared_norms(A), ones_a])
            right = np.column_stack([B, ones_b, -self.gamma * _compute_squared_norms(B)])
        else:
            left = np.column_stack([self.gamma * A, self.coef0 * ones_a])
            right = np.column_stack([B, ones_b])
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


MAX_STORED_ROWS = 1024
"""Largest number of rows whose matrix is computed once and stored (8 MB)."""

MAX_COPIED_RUNS = 4
"""Largest number of runs of consecutive rows that are copied block by block."""


class Gram(ABC):
    """Abstract: the n × n matrix K of kernel values between training rows.

    Attributes
    ----------
    diagonal : ndarray of shape (n,)
    offset : ndarray of shape (n,)
        K_ij is the kernel value minus offset_i, offset_j, and a constant. Since Σ β = 0, this changes only b, by -Σ
        β_i offset_i. If kernel values are large and nearly equal, subtracting the offsets preserves more digits.
    """

    diagonal: np.ndarray
    offset: np.ndarray

    def is_finite(self) -> bool:
        """Whether no kernel value computed so far overflows."""
        return bool(np.isfinite(self.diagonal).all())

    @abstractmethod
    def take_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return K between the given rows and all rows, of shape (r, n)."""

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
    """The whole matrix in memory: for few rows, or for values supplied by the user."""

    def __init__(self, values: np.ndarray, offset: np.ndarray) -> None:
        self.values = values
        self.offset = offset
        self.diagonal = values.diagonal().copy()

    def take_rows(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        return self.values.take(rows, axis=0)

    def take_block(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        if rows.size == self.values.shape[0]:
            return self.values
        return self.values[np.ix_(rows, rows)]

    def multiply_columns(self, columns: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        return coefficients @ self.values[columns]

    def restrict_to(self, rows: np.ndarray) -> Gram:
        """See `Gram`."""
        runs = _find_runs(rows)
        if len(runs) > MAX_COPIED_RUNS:
            return StoredGram(self.values[np.ix_(rows, rows)], self.offset[rows])
        # Slices copy several times faster than indices.
        values = np.empty((rows.size, rows.size))
        for row_target, row_source in runs:
            for column_target, column_source in runs:
                values[row_target, column_target] = self.values[row_source, column_source]
        return StoredGram(values, self.offset[rows])


@final
class ComputedGram(Gram):
    """Values computed from the rows whenever they are requested: memory O(n d)."""

    def __init__(self, kernel: Kernel, X: np.ndarray) -> None:
        self.kernel = kernel
        self.X = X
        self.diagonal = kernel.compute_diagonal(X)
        self.offset = np.zeros(X.shape[0])
        self._kept_blocks: dict[int, np.ndarray] = {}  # key: first row; one entry for each class

    def take_rows(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        left, right = self._factors
        return self.kernel.compute_values(left[rows], right)

    def take_block(self, rows: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        left, right = self._factors
        return self.kernel.compute_values(left[rows], right[rows])

    def multiply_columns(self, columns: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """See `Gram`."""
        # For the linear kernel, compute w first: O(n d) instead of O(n s d) for s columns.
        if self.kernel.name == "linear":
            w = coefficients @ self.X[columns]  # (d,)
            return self.X @ w
        left, right = self._factors
        return self.kernel.multiply_factors(left, right[columns], coefficients)

    def restrict_to(self, rows: np.ndarray) -> Gram:
        """See `Gram`."""
        runs = _find_runs(rows)
        if rows.size > MAX_STORED_ROWS or len(runs) > MAX_COPIED_RUNS:
            return make_gram(self.kernel, self.X[rows])
        values = np.empty((rows.size, rows.size))
        # K is symmetric: only blocks on and below the diagonal are computed.
        for position, (target, source) in enumerate(runs):
            values[target, target] = self._compute_diagonal_block(source)
            for other_target, other_source in runs[:position]:
                block = self._compute_block(source, other_source)
                values[target, other_target] = block
                values[other_target, target] = block.T
        return _store(self.kernel, values)

    @cached_property
    def _factors(self) -> tuple[np.ndarray, np.ndarray]:
        return self.kernel.make_factors(self.X, self.X)

    def _compute_diagonal_block(self, rows: slice) -> np.ndarray:
        """Return K between consecutive rows, and keep it for the next request if there is space."""
        kept = self._kept_blocks.get(rows.start)
        if kept is not None and kept.shape[0] == rows.stop - rows.start:
            return kept
        values = self._compute_block(rows, rows)
        n_kept_values = sum(block.size for block in self._kept_blocks.values())
        if n_kept_values + values.size <= MAX_STORED_ROWS**2:
            self._kept_blocks[rows.start] = values
        return values

    def _compute_block(self, rows: slice, others: slice) -> np.ndarray:
        left, right = self._factors
        values: np.ndarray = left[rows] @ right[others].T
        self.kernel.transform_products(values)
        return values


def make_gram(kernel: Kernel, X: np.ndarray, *, for_all_rows: bool = True) -> Gram:
    """Return the Gram matrix of the rows X (n, d), stored if it is small.

    With ``for_all_rows=False``, only parts of it will be requested, so it is never stored as a whole.
    """
    if for_all_rows and X.shape[0] <= MAX_STORED_ROWS:
        return _store(kernel, kernel(X, X))
    return ComputedGram(kernel, X)


def make_gram_of_values(values: Any) -> StoredGram:
    """Check kernel values that come from the user or a callable, (n, n), and return their Gram matrix."""
    K = np.asarray(values, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"kernel: the kernel matrix of the training rows must be square, got shape {K.shape}.")
    if not np.isfinite(K).all():
        raise ValueError("kernel: the kernel matrix of the training rows contains infinite values or NaN.")
    if not np.allclose(K, K.T, rtol=1e-6, atol=1e-8 * float(np.abs(K).max())):
        raise ValueError("kernel: K(x, z) and K(z, x) differ for some training rows; a kernel must be symmetric.")
    return _center(K)


def _store(kernel: Kernel, K: np.ndarray) -> StoredGram:
    # For the linear kernel, the rows are centered instead; the values of the Gaussian kernel are at most 1.
    if kernel.name in ("poly", "sigmoid"):
        return _center(K)
    return StoredGram(K, np.zeros(K.shape[0]))


def _center(K: np.ndarray) -> StoredGram:
    """Subtract the mean of each row and of each column from K."""
    offset = K.mean(axis=1)  # (n,)
    offset -= 0.5 * offset.mean()
    return StoredGram(K - offset[:, None] - offset[None, :], offset)


def _find_runs(rows: np.ndarray) -> list[tuple[slice, slice]]:
    """Return, for each run of consecutive rows, its positions in ``rows`` and the rows themselves."""
    run_starts = np.flatnonzero(np.diff(rows) != 1) + 1
    edges = [0, *run_starts.tolist(), rows.size]
    runs = []
    for start, stop in pairwise(edges):
        first = int(rows[start])
        last = int(rows[stop - 1])
        runs.append((slice(start, stop), slice(first, last + 1)))
    return runs


MIN_EIGENVALUE_RATIO = 1e-14
"""Eigenvalues below this, relative to the largest, are rounding errors."""

MAX_NEGATIVE_EIGENVALUE_RATIO = 1e-10
"""If K has an eigenvalue below minus this, relative to the largest, it is indefinite and has no feature map."""


def compute_feature_map(gram: Gram) -> np.ndarray | None:
    """Return the rows (n, r) in feature space, minus their mean, or None if K is indefinite.

    Parameters
    ----------
    gram : Gram
        The Gram matrix of n rows.
    """
    n = gram.diagonal.size
    try:
        eigenvalues, eigenvectors = np.linalg.eigh(gram.take_block(np.arange(n)))
    except np.linalg.LinAlgError:
        return None
    largest = float(eigenvalues[-1])
    if largest <= 0.0 or eigenvalues[0] < -MAX_NEGATIVE_EIGENVALUE_RATIO * largest:
        return None
    kept = eigenvalues > MIN_EIGENVALUE_RATIO * largest
    rows: np.ndarray = eigenvectors[:, kept] * np.sqrt(eigenvalues[kept])  # (n, r)
    return rows - rows.mean(axis=0)


def estimate_feature_map_cost(n: int) -> int:
    """Return the number of SMO steps that take about as long as the feature map and its primal (measured)."""
    return 1000 + int(2e-5 * n**3)


MIN_LENGTH = 1e-152
"""Smallest length whose square, a value of the linear kernel, does not underflow."""

MAX_LENGTH = 1e152
"""Largest length whose square does not overflow."""


@final
@dataclass(frozen=True)
class TrainingSpace:
    """The training rows in the space of the kernel.

    Attributes
    ----------
    gram : Gram
        Kernel values between the n rows.
    shift : ndarray of shape (d,) or (1,)
        The origin, in the units of the features.
    length_unit : float
        The unit of length; 1 except for the linear kernel.
    gamma : float
        γ as a number; 0 for a kernel supplied by the user.
    rows : ndarray of shape (n, d) or None
        The rows relative to the origin, in the unit of length; linear kernel only.
    """

    gram: Gram
    shift: np.ndarray
    length_unit: float = 1.0
    gamma: float = 0.0
    rows: np.ndarray | None = None


def make_training_space(
    kernel: str,
    gamma: Any,
    coef0: float,
    degree: int,
    X: np.ndarray,
    sample_weight: np.ndarray,
    *,
    for_all_rows: bool,
) -> TrainingSpace:
    """Return the space of the training rows for a kernel with a name.

    Parameters
    ----------
    kernel, gamma, coef0, degree
        As for `SVC`.
    X : ndarray of shape (n, d)
    sample_weight : ndarray of shape (n,)
    for_all_rows : bool
        Whether a binary problem needs kernel values between all rows, not only between those of two classes.

    Raises
    ------
    ValueError
        If kernel values overflow.
    """
    shift = np.zeros(1)
    length_unit = 1.0
    # A mean depends only on relative weights, and with a maximum weight of 1 their sum does not overflow.
    weight = sample_weight / sample_weight.max()
    with np.errstate(over="ignore", invalid="ignore"):
        gamma_value = _resolve_gamma(gamma, X, weight)
        if kernel in ("linear", "rbf"):
            # Fewer digits are lost if the rows are near the origin.
            shift = np.average(X, axis=0, weights=weight)  # (d,)
            X = X - shift
        if kernel == "linear":
            length_unit = _choose_length_unit(X)
            X = X / length_unit
        gram = make_gram(Kernel(kernel, gamma_value, coef0, degree), X, for_all_rows=for_all_rows)
        if not (np.isfinite(X).all() and gram.is_finite()):
            raise ValueError(
                "The dual coefficients or intercepts are not finite, because kernel values of X overflow; scale the "
                "columns, or lower gamma or degree."
            )
    rows = X if kernel == "linear" else None
    return TrainingSpace(gram, shift, length_unit, gamma_value, rows)


def _choose_length_unit(X: np.ndarray) -> float:
    """Return a unit in which the values of the linear kernel are about 1: a power of 2, so that no digit is lost."""
    largest = float(np.abs(X).max())
    if 0.0 < largest < MIN_LENGTH or not largest < MAX_LENGTH:
        raise ValueError(
            f"values of X differ from the mean of their column by up to {largest:.1g}, outside the range from "
            f"{MIN_LENGTH:g} to {MAX_LENGTH:g}, so kernel values overflow; scale the columns."
        )
    if largest == 0.0:
        return 1.0
    return float(2.0 ** np.floor(np.log2(largest)))


def _resolve_gamma(gamma: Any, X: np.ndarray, weight: np.ndarray) -> float:
    d = X.shape[1]
    if gamma == "auto":
        return 1.0 / d
    if gamma != "scale":
        return float(gamma)
    # A row of weight 2 counts as two rows.
    share = weight / weight.sum()  # (n,)
    mean = float(share @ X.mean(axis=1))
    variance = float(share @ ((X - mean) ** 2).mean(axis=1))
    varies = np.sqrt(variance) > RELATIVE_CELL_ROUNDING * abs(mean)
    return 1.0 / (d * variance) if varies else 1.0
