"""Small tables for comparisons with a definition and for calls of Python, and a way to end an iteration early."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning


def grid(seed: int, n: int, d: int) -> np.ndarray:
    """Return rows (n, d) of small integers, with many equal distances."""
    return np.random.default_rng(seed).integers(-2, 3, (n, d)).astype(float)


def labels_of(seed: int, n: int, c: int) -> np.ndarray:
    """Return labels (n,) in which each of c classes is found."""
    y = np.random.default_rng(seed).integers(0, c, n)
    y[:c] = np.arange(c)
    return y


def make_frame(n: int = 60) -> pd.DataFrame:
    """Return n rows of two numbers, of which ``size`` tells the class ``y`` in most rows."""
    rng = np.random.default_rng(0)
    size, noise = rng.normal(size=(2, n))
    return pd.DataFrame({"size": size, "noise": noise, "y": np.where(size + noise > 0, "yes", "no")})


@contextmanager
def quiet() -> Iterator[None]:
    """Let an iteration end before it has converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
