"""The training rows in the space of the kernel: origin, unit of length, γ, and the Gram matrix.

The origin and the unit of length affect the solution only by rounding: the linear and the Gaussian kernel do not
depend on the origin, and the unit of length only scales C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from bakeoff.learners.base.scaling import RELATIVE_CELL_ROUNDING
from bakeoff.learners.svm.gram import Gram, Kernel, make_gram, make_gram_of_values

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
    kernel: Any,
    gamma: Any,
    coef0: float,
    degree: int,
    X: np.ndarray,
    fit_rows: np.ndarray,
    sample_weight: np.ndarray,
    *,
    for_all_rows: bool,
) -> TrainingSpace:
    """Return the space of the training rows.

    Parameters
    ----------
    kernel, gamma, coef0, degree
        As for `SVC`.
    X : ndarray of shape (n, d), or (n, rows given to ``fit``) for a precomputed kernel
    fit_rows : ndarray of shape (n,)
        Positions of these rows among the rows passed to ``fit``.
    sample_weight : ndarray of shape (n,)
    for_all_rows : bool
        Whether a binary problem needs kernel values between all rows, not only between those of two classes.

    Raises
    ------
    ValueError
        If kernel values overflow, or those supplied by the user do not form a symmetric matrix.
    """
    if kernel == "precomputed":
        if fit_rows.max() >= X.shape[1]:
            raise ValueError(
                "kernel='precomputed' needs a square X, the kernel matrix of the training rows; X has "
                f"{X.shape[1]} columns."
            )
        return TrainingSpace(make_gram_of_values(X[:, fit_rows]), np.zeros(1))
    if callable(kernel):
        return TrainingSpace(make_gram_of_values(kernel(X, X)), np.zeros(1))
    return _make_space_of_named_kernel(kernel, gamma, coef0, degree, X, sample_weight, for_all_rows=for_all_rows)


def _make_space_of_named_kernel(
    kernel: str,
    gamma: Any,
    coef0: float,
    degree: int,
    X: np.ndarray,
    sample_weight: np.ndarray,
    *,
    for_all_rows: bool,
) -> TrainingSpace:
    shift = np.zeros(1)
    length_unit = 1.0
    # A mean depends only on relative weights, and in this unit their sum does not overflow.
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
        gram = make_gram(Kernel(kernel, gamma_value, float(coef0), int(degree)), X, for_all_rows=for_all_rows)
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
