"""A dataset: a table of numeric and nominal columns, a target, and what is to be learned from it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError, did_you_mean


@dataclass(frozen=True)
class Dataset:
    """n rows of d features with a target.

    Attributes
    ----------
    name : str
        For a file, its name without the ending.
    X : DataFrame of shape (n, d)
        Numeric columns are float64, nominal columns categorical; a missing cell is NaN in both.
    y : ndarray of shape (n,)
        Class labels, or float64 targets.
    task : {"classification", "regression"}
    target : str
        The target's name.
    positive : object or None
        Of two classes the one that precision, recall and F1 are about; None for more classes and for regression.
    groups : ndarray of shape (n,) or None
        Rows of one group must not be torn between training and test.
    source : str
        Where the rows came from.
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    task: str
    target: str
    positive: object | None = None
    groups: np.ndarray | None = None
    source: str = ""

    @property
    def is_classification(self) -> bool:
        """Whether the targets are classes."""
        return self.task == "classification"

    @cached_property
    def classes(self) -> np.ndarray:
        """The class labels, sorted: shape (c,)."""
        return np.unique(self.y)

    @property
    def nominal(self) -> list[str]:
        """The names of the nominal columns."""
        return [str(name) for name, dtype in self.X.dtypes.items() if isinstance(dtype, pd.CategoricalDtype)]

    def digest(self) -> str:
        """Fingerprint task, names, kinds, groups and every cell, in order: 16 hexadecimal digits."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        fingerprint = hashlib.blake2b(f"{self.task}\0{self.positive}\0".encode(), digest_size=8)
        groups = [] if self.groups is None else [("groups", self.groups)]  # they decide the splits
        columns: list[tuple[Any, Any]] = [*self.X.items(), (self.target, self.y), *groups]
        for name, column in columns:
            fingerprint.update(f"{name}\0{column.dtype.kind if hasattr(column.dtype, 'kind') else ''}\0".encode())
            for cells in _cells(column):
                fingerprint.update(cells)
        return fingerprint.hexdigest()

    def describe(self) -> str:
        """Say size, kinds of columns and target in a line."""
        n, d = self.X.shape
        counts = ((d - len(self.nominal), "numeric"), (len(self.nominal), "nominal"))
        kinds = " and ".join(f"{count} {kind}" for count, kind in counts if count)
        goal = f"{len(self.classes)} classes" if self.task == "classification" else "regression"
        positive = "" if self.positive is None else f" (positive: {self.positive})"
        return f"{self.name}: {n} rows, {kinds} column{'s' if d > 1 else ''}, {goal} of {self.target}{positive}"


def positive_class(positive: str | None, y: np.ndarray, task: str) -> object | None:
    """Return the label that is named so; unnamed, the last of two classes, and None of more or of targets."""
    if task != "classification":
        return None
    classes = np.unique(y)
    if positive is None:
        return classes[-1] if len(classes) == 2 else None
    named = {str(label): label for label in classes}
    if str(positive) not in named:
        raise UserError(
            f"dataset.positive={positive!r} is no class of the target. {did_you_mean(str(positive), named)}"
        )
    return named[str(positive)]


def _cells(column: pd.Series | np.ndarray) -> list[bytes]:
    """Return the bytes of a column of X, or of the array of targets or groups; of nominal cells codes and values."""
    if isinstance(column, pd.Series) and isinstance(column.dtype, pd.CategoricalDtype):
        return [column.cat.codes.to_numpy().tobytes(), "\0".join(map(str, column.cat.categories)).encode()]
    cells = np.ascontiguousarray(column)
    if cells.dtype.kind in "fiubU":
        return [cells.dtype.str.encode(), cells.tobytes()]
    return ["\0".join(map(str, column)).encode()]
