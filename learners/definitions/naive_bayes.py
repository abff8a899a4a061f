"""Naive Bayes: predict the most probable class, assuming that the features are independent within each class.

    P(class | x)  ∝  P(class) Π_j P(x_j | class)

Probabilities are estimated from counts of the training rows, with a pseudo-count α added to each count (Laplace
smoothing), so that a value that is missing in a small sample does not get probability 0:

    P(x_j = v | class) = (count(v, class) + α) / Σ_v' (count(v', class) + α)      over the values v' of the feature
    P(class)           = (count(class) + α) / Σ_class' (count(class') + α),       or without α

A numeric feature has a normal distribution within each class, with the mean and the variance of the class's rows.
Alternatively, it has a kernel density, the mean of normal densities of width h around each of the n cells of the class,
which makes no assumption about its shape:

    p(x | class) = 1/n Σ_i N(x; x_i, h²),      h = (max_i x_i - min_i x_i) / √n

where h is at least a sixth of the mean gap between neighbouring values of the column.
A value that does not occur in training is ignored. For a row that is impossible in every class, the prior probabilities
are returned.

Cost: O(n d) to learn, O(d c) for each query.

References: T. M. Mitchell, "Machine Learning", 1997, chapter 6; R. O. Duda and P. E. Hart, "Pattern Classification and
Scene Analysis", 1973; G. H. John, P. Langley, "Estimating continuous distributions in Bayesian classifiers", 1995.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

import numpy as np


def class_probabilities(
    X: np.ndarray,
    y: np.ndarray,
    x: np.ndarray,
    alpha: float = 1.0,
    *,
    smooth_prior: bool = True,
    numeric: Collection[int] = (),
    density: Callable[[np.ndarray, np.ndarray, float], float] | None = None,
) -> np.ndarray:
    """Return P(class | x) of a query x (d,) for each class in sorted order, from rows X (n, d) and labels y (n,).

    Numeric features have a normal density unless another density is given.

    The lecture's mortgage of a client with a job, a high deposit and children, to be approved or rejected:

    >>> clients = "tls tlc tls ths fhc tlc flc tlk fls fhk"  # job, deposit, family: the first letters, k for children
    >>> X = np.array([[*client] for client in clients.split()])
    >>> y = np.repeat(["Approve", "Reject"], 5)
    >>> class_probabilities(X, y, np.array(["t", "h", "k"])) * 11
    array([5., 6.])
    """
    classes, counts = np.unique(y, return_counts=True)
    prior = smoothed_fractions(counts, alpha if smooth_prior else 0.0)
    joint = prior.copy()  # (c,), P(class) times P(x | class)
    for k, label in enumerate(classes):
        for j, cell in enumerate(x):
            if j in numeric:
                joint[k] *= (density or normal_density)(X[:, j], y == label, cell)
            else:
                joint[k] *= value_probability(X[:, j], y == label, cell, alpha)
    if not joint.any():
        return prior
    return joint / joint.sum()


def smoothed_fractions(counts: np.ndarray, alpha: float) -> np.ndarray:
    """Add the pseudo-count to each of the counts (k,), and divide by the total."""
    smoothed = counts + alpha
    return np.asarray(smoothed / smoothed.sum())


def value_probability(column: np.ndarray, in_class: np.ndarray, value: object, alpha: float) -> float:
    """Return P(value | class), given a nominal column (n,) and the mask (n,) of the class's rows."""
    domain = np.unique(column)
    if value not in domain:
        return 1.0
    counts = np.array([np.count_nonzero(column[in_class] == other) for other in domain])
    return float(smoothed_fractions(counts, alpha)[domain == value][0])


def normal_density(column: np.ndarray, in_class: np.ndarray, value: float, ddof: int = 0) -> float:
    """Return the normal density of a value, given a numeric column (n,) and the mask (n,) of the class's rows.

    The divisor of the variance is the number of rows of the class minus ``ddof``.
    """
    cells = column[in_class]
    variance = float(np.sum((cells - np.mean(cells)) ** 2)) / (len(cells) - ddof)
    return normal(value, float(np.mean(cells)), variance)


def normal(x: float, mean: float, variance: float) -> float:
    """Return the density of the normal distribution at x."""
    return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
