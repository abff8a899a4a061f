"""Nominal columns of naive Bayes: values are counted within each class, and a table of logarithms is looked up.

P(v | class) = (count(v, class) + α) / Σ_v' (count(v', class) + α)
"""

from __future__ import annotations

import numpy as np

from learners.columns import UNSEEN


def count_values(
    cells: np.ndarray, codes: np.ndarray, weight: np.ndarray, pseudo_count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Count one column's values within each class and smooth them.

    Parameters
    ----------
    cells : ndarray of shape (n,)
        Positions in the column's domain; NaN where missing, which is not counted.
    codes : ndarray of shape (n,), int
    weight : ndarray of shape (n,)
    pseudo_count : ndarray of shape (c, k)

    Returns
    -------
    count : ndarray of shape (c, k)
        Weight of the rows.
    log_prob : ndarray of shape (c, k)
        ln P(value | class).  A class without cells or pseudo-counts takes the fractions over all classes.
    """
    c, k = pseudo_count.shape
    present = ~np.isnan(cells)
    pair = cells[present].astype(np.intp) * c + codes[present]
    count = np.bincount(pair, weights=weight[present], minlength=k * c).reshape(k, c).T
    smoothed = count + pseudo_count
    silent = ~smoothed.any(axis=1)
    smoothed[silent] = count.sum(axis=0) if count.any() else 1.0
    return count, log(fractions(smoothed))


def value_evidence(cells: np.ndarray, log_prob: np.ndarray) -> np.ndarray:
    """Look up ln P(cell | class) of one column: shape (m, c).

    A missing cell, an unknown value, and a value to which every class gives probability 0 say nothing: 0 for all.

    Parameters
    ----------
    cells : ndarray of shape (m,)
        Positions in the domain; NaN where missing, `UNSEEN` where unknown.
    log_prob : ndarray of shape (c, k)
    """
    c, k = log_prob.shape
    lookup = np.vstack([log_prob.T, np.zeros((1, c))])  # (k + 1, c): the last row is for cells that say nothing
    lookup[np.isneginf(lookup).all(axis=1)] = 0.0
    silent = np.isnan(cells) | (cells == UNSEEN)
    return lookup.take(np.where(silent, k, cells).astype(np.intp), axis=0)


def log(probability: np.ndarray) -> np.ndarray:
    """Natural logarithm, with ln 0 = -inf."""
    with np.errstate(divide="ignore"):
        return np.log(probability)


def fractions(counts: np.ndarray) -> np.ndarray:
    """Divide by the sum along the last axis; by the largest first, so that no sum overflows."""
    scaled = counts / counts.max(axis=-1, keepdims=True, initial=np.finfo(float).tiny)
    return scaled / scaled.sum(axis=-1, keepdims=True)
