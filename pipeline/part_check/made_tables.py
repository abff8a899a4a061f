"""Tables that parts are tried on: of any size, with columns of each kind, with and without missing cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

CLASSIFICATION = "classification"
REGRESSION = "regression"
N_CLASSES = 3
N_ROWS = 120
N_FEATURES = 5
MISSING_FRACTION = 0.1
VALUES = ("red", "green", "blue")
NOISE = 0.5


@dataclass(frozen=True, eq=False)
class MadeTable:
    """Rows with a target that depends on them.

    Attributes
    ----------
    X : DataFrame of shape (n, d)
    y : ndarray of shape (n,)
        Class labels, or float64 targets.
    """

    X: pd.DataFrame
    y: np.ndarray


def make_numbers(task: str, n: int = N_ROWS, d: int = N_FEATURES, seed: int = 0) -> MadeTable:
    """Return a table of numeric columns, whose target is a noisy sum of them.

    Parameters
    ----------
    task : {"classification", "regression"}
    n, d : int
        The numbers of rows and columns.
    seed : int
    """
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))  # (n, d)
    total = X.sum(axis=1) + NOISE * generator.normal(size=n)  # (n,)
    names = [f"x{column}" for column in range(d)]
    frame = pd.DataFrame(X, columns=names)
    if task == REGRESSION:
        return MadeTable(frame, total)
    ranks = total.argsort().argsort()  # (n,)
    labels = np.array([f"class {code}" for code in range(N_CLASSES)])
    return MadeTable(frame, labels[ranks * N_CLASSES // n])


def make_mixed(task: str, n: int = N_ROWS, seed: int = 0) -> MadeTable:
    """Return a table of numeric columns and a nominal one."""
    made = make_numbers(task, n, seed=seed)
    codes = np.random.default_rng(seed + 1).integers(len(VALUES), size=n)  # (n,)
    colour = pd.Categorical(np.array(VALUES)[codes], categories=list(VALUES))
    return MadeTable(made.X.assign(colour=colour), made.y)


def leave_cells_out(made: MadeTable, seed: int = 0) -> MadeTable:
    """Return a table some of whose cells are missing, in every column."""
    generator = np.random.default_rng(seed)
    is_missing = generator.random(made.X.shape) < MISSING_FRACTION  # (n, d)
    return MadeTable(made.X.mask(is_missing), made.y)
