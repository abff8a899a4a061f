"""Small tables for comparisons with a definition, and a way to end an iteration early."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from sklearn.exceptions import ConvergenceWarning


def grid(seed: int, n: int, d: int) -> np.ndarray:
    """Return rows (n, d) of small integers, with many equal distances."""
    return np.random.default_rng(seed).integers(-2, 3, (n, d)).astype(float)


def labels_of(seed: int, n: int, c: int) -> np.ndarray:
    """Return labels (n,) in which each of c classes is found."""
    y = np.random.default_rng(seed).integers(0, c, n)
    y[:c] = np.arange(c)
    return y


@contextmanager
def quiet() -> Iterator[None]:
    """Let an iteration end before it has converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
