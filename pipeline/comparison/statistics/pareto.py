"""The Pareto front of score against time."""

from __future__ import annotations

import numpy as np


def find_pareto_front(scores: np.ndarray, costs: np.ndarray, greater_is_better: bool = True) -> np.ndarray:
    """Find the configurations that no other one beats: none scores at least as well at no higher cost, one better.

    Parameters
    ----------
    scores : ndarray of shape (k,)
        Mean scores.
    costs : ndarray of shape (k,)
        Such as seconds of fitting. Lower is better.
    greater_is_better : bool, default True
        Of the scores.

    Returns
    -------
    is_on_front : ndarray of bool of shape (k,)
        Configurations with equal score and cost are all on the front, or none of them.

    Raises
    ------
    ValueError
        If the shapes differ or a number is not finite.
    """
    scores = np.asarray(scores, dtype=float)  # (k,)
    costs = np.asarray(costs, dtype=float)  # (k,)
    if scores.ndim != 1 or scores.shape != costs.shape:
        raise ValueError(f"scores of shape {scores.shape}, costs of shape {costs.shape}: equal lengths are allowed")
    if not np.all(np.isfinite(scores)) or not np.all(np.isfinite(costs)):
        raise ValueError("scores and costs must be finite")
    losses = -scores if greater_is_better else scores
    both = np.column_stack([losses, costs])  # (k, 2)
    is_no_worse = np.all(both[:, np.newaxis] <= both, axis=2)  # (k, k): row against column
    is_better = np.any(both[:, np.newaxis] < both, axis=2)  # (k, k)
    is_beaten = np.any(is_no_worse & is_better, axis=0)  # (k,)
    return ~is_beaten
