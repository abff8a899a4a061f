"""The tasks of the benchmarks: bundled datasets, and generated data of any size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from benchmarks.measuring import Task

QUERIES = 2000
"""The maximum number of rows to predict."""

BUNDLED: dict[str, Callable[..., Any]] = {
    "iris": datasets.load_iris,
    "breast_cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "diabetes": datasets.load_diabetes,
}


def bundled(name: str) -> Task:
    """Return one of scikit-learn's datasets, standardized; a fifth of its rows are to be predicted."""
    X, y = BUNDLED[name](return_X_y=True)
    rows, queries, labels, truth = train_test_split(scale(X), y, test_size=0.2, random_state=0)
    c = 0 if name == "diabetes" else len(np.unique(y))
    return Task(f"{name} {rows.shape[0]}×{rows.shape[1]}", "bundled", c, rows, labels, queries, truth)


def from_file(path: Path) -> Task:
    """Return a CSV file of numbers, standardized, whose last column is the class; a tenth of its rows is predicted."""
    table = pd.read_csv(path, header=None, skipinitialspace=True)
    X, y = scale(table.iloc[:, :-1].to_numpy(np.float64)), table.iloc[:, -1].to_numpy()
    rows, queries, labels, truth = train_test_split(X, y, test_size=0.1, random_state=0, stratify=y)
    name = f"{path.stem} {rows.shape[0]}×{rows.shape[1]}"
    return Task(name, "file", len(np.unique(y)), rows, labels, queries, truth)


def made(n: int, d: int, c: int) -> Task:
    """Return c classes of overlapping Gaussian blobs with label noise, or a regression if c is 0."""
    rng = np.random.default_rng([n, d, c])
    m = min(n, QUERIES)
    if c == 0:
        X = rng.normal(size=(n + m, d))
        y: np.ndarray = X @ rng.normal(size=d) + np.sin(3 * X[:, 0]) + rng.normal(size=n + m)
    else:
        y = rng.integers(c, size=n + m)
        centres = rng.normal(size=(2 * c, d)) * (2.0 / d**0.25)  # two blobs per class
        X = rng.normal(size=(n + m, d)) + centres[2 * y + rng.integers(2, size=n + m)]
        noisy = rng.random(n + m) < 0.05
        y[noisy] = rng.integers(c, size=int(noisy.sum()))
    return Task(f"made {n:.0e}×{d}, c={c}".replace("e+0", "e"), "made", c, X[:n], y[:n], X[n:], y[n:])


def nominal(n: int, d: int, c: int) -> Task:
    """Return columns of five nominal values whose proportions differ by class, or a regression if c is 0."""
    rng = np.random.default_rng([n, d, c, 5])
    m = min(n, QUERIES)
    group = rng.integers(max(c, 2), size=n + m)
    shares = rng.dirichlet(np.full(5, 2.0), size=(d, max(c, 2)))  # (d, c, 5)
    codes = (rng.random((d, n + m, 1)) > np.cumsum(shares[:, group], axis=2)).sum(axis=2).clip(0, 4)  # (d, n + m)
    values = pd.Index([f"value {v}" for v in range(5)])
    X = pd.DataFrame({f"x{j}": pd.Categorical.from_codes(column, values) for j, column in enumerate(codes)})
    y = group if c else group + codes[0] + rng.normal(size=n + m)
    name = f"nominal {n:.0e}×{d}, c={c}".replace("e+0", "e")
    return Task(name, "nominal", c, X[:n], y[:n], X[n:].reset_index(drop=True), y[n:])
