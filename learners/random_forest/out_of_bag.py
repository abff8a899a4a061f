"""Out-of-bag predictions: the average, for each training row, over the trees that have not drawn it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bakeoff.learners.random_forest.bootstrap import TrainingRows


class OutOfBag:
    """Sums of the predictions of trees for the k rows that they have not drawn.

    Parameters
    ----------
    k : int
    width : int
        The number of columns of a prediction: classes, or 1.
    """

    def __init__(self, k: int, width: int) -> None:
        self._total = np.zeros((k, width))
        self._n_trees = np.zeros((k, 1))

    def add_predictions(self, out_of_bag: np.ndarray, predictions: np.ndarray) -> None:
        """Add the predictions of one tree (r, width) for its out-of-bag rows, given as a mask (k,) of r rows."""
        self._total[out_of_bag] += predictions
        self._n_trees[out_of_bag] += 1

    @property
    def predictions(self) -> np.ndarray:
        """The averages, shape (k, width); NaN for a row that every tree has drawn."""
        average = self._total / np.maximum(self._n_trees, 1)
        return np.where(self._n_trees > 0, average, np.nan)


def require_rows_out_of_bag(n_draws: int | None) -> None:
    """Raise ValueError if every tree has all rows, because nothing is drawn."""
    if n_draws is None:
        raise ValueError(
            "Out of bag estimation only available if bootstrap=True, or if max_samples leaves rows out: every tree has "
            "all rows. Set one of them, or oob_score=False."
        )


def warn_of_rows_in_every_bag(predictions: np.ndarray) -> None:
    """Warn if rows have no out-of-bag prediction, given all of them (k, width)."""
    is_missing = np.isnan(predictions[:, 0])
    if is_missing.any():
        n_missing = np.count_nonzero(is_missing)
        warnings.warn(
            f"Some inputs do not have OOB scores: every tree has drawn {n_missing} of {is_missing.size} rows, which do "
            "not count. This probably means too few trees were used to compute any reliable OOB "
            "estimates: raise n_estimators.",
            UserWarning,
            stacklevel=2,
        )


def expand_to_given_rows(predictions: np.ndarray, rows: TrainingRows, sample_weight: Any) -> np.ndarray:
    """Return the predictions for the rows that ``fit`` was given.

    Parameters
    ----------
    predictions : ndarray of shape (k, width)
        For the sorted, possibly merged rows.
    rows : TrainingRows
    sample_weight : array-like of shape (n,) or None
        As given to ``fit``.

    Returns
    -------
    ndarray of shape (n, width)
        NaN for a row of weight zero, which is not among the k.
    """
    of_weighted_rows = predictions[rows.inverse]
    if sample_weight is None or np.ndim(sample_weight) == 0:
        return of_weighted_rows
    has_weight = np.asarray(sample_weight, dtype=np.float64) > 0  # (n,)
    expanded = np.full((has_weight.size, predictions.shape[1]), np.nan)  # (n, width)
    expanded[has_weight] = of_weighted_rows
    return expanded
