"""The space in which the margin is measured: origin, unit of length, width of the kernel, and the kernel matrix.

None of the three choices changes what is found, but for rounding: the linear and the Gaussian kernel do not mind where
the origin is, and a unit of length is a factor of C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from bakeoff.learners.svm.kernel.functions import Kernel
from bakeoff.learners.svm.kernel.gram import Gram, make_gram, make_gram_of_values

MIN_LENGTH, MAX_LENGTH = 1e-152, 1e152
"""Lengths whose squares, the linear kernel's values, are still numbers."""


@final
@dataclass(frozen=True)
class TrainingSpace:
    """The training rows in the kernel's space.

    Attributes
    ----------
    gram : Gram
        Kernel values between the n rows.
    shift : ndarray of shape (d,) or (1,)
        The origin, in the features' units.
    length : float
        The unit of length; 1 but for the linear kernel.
    gamma : float
        γ as a number; 0 for a kernel that the user gives.
    rows : ndarray of shape (n, d) or None
        The rows from the origin in that unit; linear kernel only.
    """

    gram: Gram
    shift: np.ndarray
    length: float = 1.0
    gamma: float = 0.0
    rows: np.ndarray | None = None


def make_training_space(
    kernel: Any,
    gamma: Any,
    coef0: float,
    degree: int,
    table: np.ndarray,
    kept: np.ndarray,
    given: np.ndarray,
    *,
    whole: bool,
) -> TrainingSpace:
    """Return the space of the training rows (n, d), for a kernel that is named or given.

    ``kept`` are their positions in the rows of ``fit``, and ``given`` their weights; ``whole``: whether kernel values
    between all rows will be asked for.  The rest is as of `SVC`.
    """
    if kernel == "precomputed":
        if kept.max() >= table.shape[1]:
            raise ValueError(
                f"kernel='precomputed' takes the kernel values between the training rows, a square X; "
                f"X has {table.shape[1]} columns."
            )
        return _space_of_values(table[:, kept])
    if callable(kernel):
        return _space_of_values(kernel(table, table))
    return _space_of_kernel(kernel, gamma, coef0, degree, table, given, whole=whole)


def _space_of_values(values: Any) -> TrainingSpace:
    """Return the space of kernel values that the user gives, (n, n)."""
    return TrainingSpace(make_gram_of_values(values), np.zeros(1))


def _space_of_kernel(
    kernel: str, gamma: Any, coef0: float, degree: int, table: np.ndarray, given: np.ndarray, *, whole: bool = True
) -> TrainingSpace:
    """Return the space of a kernel known by name.

    Parameters
    ----------
    kernel, gamma, coef0, degree
        As of `SVC`.
    table : ndarray of shape (n, d)
    given : ndarray of shape (n,)
        The rows' weights.
    whole : bool
        Whether kernel values between all rows will be asked for, not only between those of two classes.

    Raises
    ------
    ValueError
        Kernel values overflow.
    """
    shift, length = np.zeros(1), 1.0
    given = given / given.max()  # of means, to which only proportions matter: their sum is then a number
    with np.errstate(over="ignore", invalid="ignore"):
        width = _resolved_gamma(gamma, table, given)
        if kernel in ("linear", "rbf"):
            # Near the origin fewer digits are lost.
            shift = np.average(table, axis=0, weights=given)
            table = table - shift
        if kernel == "linear":
            length = _unit(table)
            table = table / length
        gram = make_gram(Kernel(kernel, width, float(coef0), int(degree)), table, whole=whole)
        if not (np.isfinite(table).all() and gram.is_finite()):
            raise ValueError("X: kernel values overflow; scale the columns, or lower gamma or degree.")
    return TrainingSpace(gram, shift, length, width, table if kernel == "linear" else None)


def _unit(table: np.ndarray) -> float:
    """Choose a unit of length in which the linear kernel's values are about 1: a power of 2, so nothing is lost."""
    length = float(np.abs(table).max())
    if 0.0 < length < MIN_LENGTH or not length < MAX_LENGTH:
        raise ValueError(
            f"X has cells {length:.1g} from the mean of their column, beyond {MIN_LENGTH:g} to {MAX_LENGTH:g}, and "
            "kernel values overflow; scale the columns."
        )
    return float(2.0 ** np.floor(np.log2(length))) if length > 0.0 else 1.0


def _resolved_gamma(gamma: Any, table: np.ndarray, given: np.ndarray) -> float:
    d = table.shape[1]
    if gamma == "auto":
        return 1.0 / d
    if gamma != "scale":
        return float(gamma)
    # By weight, so that a row of weight 2 is two rows.
    mass = given / given.sum()
    mean = float(mass @ table.mean(axis=1))
    variance = float(mass @ ((table - mean) ** 2).mean(axis=1))
    return 1.0 / (d * variance) if variance > 0 else 1.0
