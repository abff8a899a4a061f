"""The contribution of each column to one prediction: Shapley values, exact or by sampling.

A game is played by the columns: with the cells of some of them known, the prediction is the mean over background rows
that take these cells from the explained row. The Shapley value of a column is its mean effect over all orders in which
the columns can become known. The values add up to the prediction less the mean prediction of the background rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial

import numpy as np
import pandas as pd

MAX_EXACT_PREDICTIONS = 130_000
"""With as many predictions, all sets of columns are tried: seven columns and 1000 background rows."""
N_SAMPLED_PREDICTIONS = 50_000
"""About the number of predictions where orders are drawn, if there are enough background rows."""
MAX_BACKGROUND_ROWS = 1000
MIN_BACKGROUND_ROWS = 50
ROWS_PER_CALL = 10_000
"""Rows that are predicted together, so that the tables stay small."""

Predict = Callable[[pd.DataFrame], np.ndarray]
"""(rows of shape (m, d)) -> k numbers for each, shape (m, k)."""


@dataclass(frozen=True)
class ShapleyValues:
    """What each of d columns contributes to each of k numbers that a model gives for a row.

    Attributes
    ----------
    values : ndarray of shape (d, k)
        Add up to ``prediction - mean``.
    errors : ndarray of shape (d, k)
        Standard errors of sampled values; 0 if all orders of the columns were tried.
    prediction, mean : ndarray of shape (k,)
        For the row, and the mean over the background rows.
    n_background : int
    is_exact : bool
        Whether all orders were tried.
    """

    values: np.ndarray
    errors: np.ndarray
    prediction: np.ndarray
    mean: np.ndarray
    n_background: int
    is_exact: bool


def compute_shapley_values(
    predict: Predict, row: pd.DataFrame, background: pd.DataFrame, generator: np.random.Generator
) -> ShapleyValues:
    """Return the contributions of the columns to the prediction for a row.

    Parameters
    ----------
    predict : callable
    row : DataFrame of shape (1, d)
    background : DataFrame of shape (b, d)
        Rows that the model was fitted on; as many of them as are affordable are drawn.
    generator : numpy Generator

    Returns
    -------
    ShapleyValues

    References
    ----------
    L. S. Shapley, "A value for n-person games", 1953. E. Štrumbelj and I. Kononenko, "Explaining prediction models and
    individual predictions with feature contributions", Knowledge and Information Systems 41, 2014: sampling of orders
    and background rows. R. Mitchell et al., "Sampling permutations for Shapley value estimation", JMLR 23, 2022: each
    order is used forwards and backwards.
    """
    d = row.shape[1]
    n_drawn = count_background_rows(len(background), d)
    drawn = background.iloc[np.sort(generator.choice(len(background), n_drawn, replace=False))]
    if 2**d * n_drawn <= MAX_EXACT_PREDICTIONS:
        return compute_exact_values(predict, row, drawn)
    n_repeats = max(1, N_SAMPLED_PREDICTIONS // (2 * d * n_drawn))
    return sample_values(predict, row, drawn, n_repeats, generator)


def count_background_rows(n: int, d: int) -> int:
    """Return how many of n background rows are used with d columns: all if they are affordable.

    Examples
    --------
    >>> [count_background_rows(785, d) for d in (7, 30, 1000)]
    [785, 785, 50]
    """
    affordable = np.clip(N_SAMPLED_PREDICTIONS // (2 * d), MIN_BACKGROUND_ROWS, MAX_BACKGROUND_ROWS)
    return int(min(affordable, n))


def compute_exact_values(predict: Predict, row: pd.DataFrame, background: pd.DataFrame) -> ShapleyValues:
    """Return the contributions over all sets of columns; parameters as of `compute_shapley_values`."""
    d = row.shape[1]
    b = len(background)
    sets = np.arange(2**d)[:, np.newaxis] >> np.arange(d) & 1  # (2**d, d), whether the column is known
    known = np.repeat(sets.astype(bool), b, axis=0)  # (2**d b, d)
    outputs = _predict_mixed(predict, row, background, known, np.tile(np.arange(b), len(sets)))
    worths = outputs.reshape(len(sets), b, -1).mean(axis=1)  # (2**d, k)
    sizes = sets.sum(axis=1)
    weights = np.array([factorial(size) * factorial(d - size - 1) for size in range(d)]) / factorial(d)  # (d,)
    values = np.empty((d, worths.shape[1]))  # (d, k)
    for column in range(d):
        without = np.flatnonzero(sets[:, column] == 0)  # (2**(d - 1),)
        gains = worths[without + 2**column] - worths[without]
        values[column] = weights[sizes[without]] @ gains
    return ShapleyValues(values, np.zeros_like(values), worths[-1], worths[0], b, is_exact=True)


def sample_values(
    predict: Predict, row: pd.DataFrame, background: pd.DataFrame, n_repeats: int, generator: np.random.Generator
) -> ShapleyValues:
    """Return the contributions over drawn orders of the columns, each of which is used forwards and backwards.

    Parameters
    ----------
    predict, row, background, generator
        As of `compute_shapley_values`.
    n_repeats : int
        The number of orders for each background row. All rows have as many, so that the values add up to the
        prediction less the mean of the background rows.
    """
    b, d = background.shape
    starts = np.tile(np.arange(b), n_repeats)  # (w,), the background row of each order
    orders = generator.permuted(np.tile(np.arange(d), (len(starts), 1)), axis=1)  # (w, d)
    worth_of_rows = _predict_in_parts(predict, background)  # (b, k)
    prediction = _predict_in_parts(predict, row)[0]  # (k,)
    forwards = _walk(predict, row, background, starts, orders, worth_of_rows, prediction)
    backwards = _walk(predict, row, background, starts, orders[:, ::-1], worth_of_rows, prediction)
    gains = (forwards + backwards) / 2  # (w, d, k)
    errors = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    return ShapleyValues(gains.mean(axis=0), errors, prediction, worth_of_rows.mean(axis=0), b, is_exact=False)


def _walk(
    predict: Predict,
    row: pd.DataFrame,
    background: pd.DataFrame,
    starts: np.ndarray,
    orders: np.ndarray,
    worth_of_rows: np.ndarray,
    prediction: np.ndarray,
) -> np.ndarray:
    """Return what each column adds when it becomes known, in each of w orders: (w, d, k)."""
    w, d = orders.shape
    ranks = np.argsort(orders, axis=1)  # (w, d), the place of each column in the order
    steps = np.arange(1, d)
    known = ranks[:, np.newaxis, :] < steps[:, np.newaxis]  # (w, d - 1, d)
    between = _predict_mixed(predict, row, background, known.reshape(-1, d), np.repeat(starts, d - 1))
    k = between.shape[1]
    worths = np.empty((w, d + 1, k))
    worths[:, 0] = worth_of_rows[starts]
    worths[:, 1:d] = between.reshape(w, d - 1, k)
    worths[:, d] = prediction
    gains_in_order = np.diff(worths, axis=1)  # (w, d, k)
    return np.take_along_axis(gains_in_order, ranks[:, :, np.newaxis], axis=1)


def _predict_mixed(
    predict: Predict, row: pd.DataFrame, background: pd.DataFrame, known: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    """Predict rows that have the cells of known columns from the row, and the others from the background.

    Parameters
    ----------
    predict : callable
    row : DataFrame of shape (1, d)
    background : DataFrame of shape (b, d)
    known : ndarray of shape (m, d), bool
    starts : ndarray of shape (m,), int
        The background row of each.

    Returns
    -------
    ndarray of shape (m, k)
    """
    both = _join_rows(row, background)
    outputs = []
    for first in range(0, len(known), ROWS_PER_CALL):
        part = slice(first, first + ROWS_PER_CALL)
        # Row 0 is the explained one.
        sources = np.where(known[part], 0, starts[part, np.newaxis] + 1)  # (m, d)
        cells = {name: both[name].array.take(sources[:, j]) for j, name in enumerate(both.columns)}
        outputs.append(predict(pd.DataFrame(cells)))
    return np.concatenate(outputs)


def _join_rows(row: pd.DataFrame, background: pd.DataFrame) -> pd.DataFrame:
    """Return the row above the background, with the types of the background's columns."""
    columns = {}
    for name in background.columns:
        parts = [row[name], background[name]]
        if isinstance(background[name].dtype, pd.CategoricalDtype):
            # pandas joins columns of different categories to text, which a model would not accept.
            known = list(background[name].cat.categories)
            values = [*known, *(value for value in row[name].cat.categories if value not in known)]
            parts = [part.cat.set_categories(values) for part in parts]
        columns[name] = pd.concat(parts, ignore_index=True)
    return pd.DataFrame(columns)


def _predict_in_parts(predict: Predict, rows: pd.DataFrame) -> np.ndarray:
    return np.concatenate([predict(rows.iloc[i : i + ROWS_PER_CALL]) for i in range(0, len(rows), ROWS_PER_CALL)])
