"""The default scores of probabilities and decision values, by scikit-learn's formulas to the last bit.

The input was checked when it was predicted. scikit-learn's functions check it up to 50 times for a single score, which
takes most of their time on a small part.
"""

from __future__ import annotations

import numpy as np


def compute_cross_entropy(truth: np.ndarray, probabilities: np.ndarray, weights: np.ndarray | None) -> float:
    """Return the mean negative log-probability of the true class, in nats.

    Parameters
    ----------
    truth : ndarray of int of shape (m,)
        Positions of classes.
    probabilities : ndarray of shape (m, c)
        Clipped by the resolution of their type, so that the result is finite.
    weights : ndarray of shape (m,) or None
    """
    resolution = np.finfo(probabilities.dtype).eps
    of_true_class = probabilities[np.arange(len(truth)), truth]  # (m,)
    loss = -np.log(np.clip(of_true_class, resolution, 1 - resolution))  # (m,)
    return float(np.average(loss, weights=weights))


def compute_roc_area(is_positive: np.ndarray, ranking: np.ndarray, weights: np.ndarray | None) -> float:
    """Return the area under the ROC curve of rows of both kinds, by trapezoids.

    Parameters
    ----------
    is_positive : ndarray of bool of shape (m,)
    ranking : ndarray of shape (m,)
        Greater for rows that are more likely to be positive.
    weights : ndarray of shape (m,) or None
        Above 0.

    References
    ----------
    Fawcett, T. (2006). An introduction to ROC analysis. Pattern Recognition Letters 27, 861-874.
    """
    order = np.argsort(-ranking, kind="stable")  # (m,)
    ranking = ranking[order]
    positive = is_positive[order].astype(np.float64)  # (m,)
    # A point of the curve stands for all rows of one rank.
    last_of_rank = np.append(np.flatnonzero(np.diff(ranking)), len(ranking) - 1)
    if weights is None:
        hits = np.cumsum(positive)[last_of_rank]
        false_alarms = 1 + last_of_rank - hits
    else:
        ordered_weights = weights[order]  # (m,)
        hits = np.cumsum(positive * ordered_weights)[last_of_rank]
        false_alarms = np.cumsum((1 - positive) * ordered_weights)[last_of_rank]
    if len(hits) > 2:
        is_corner = (np.diff(false_alarms, 2) != 0) | (np.diff(hits, 2) != 0)
        corners = np.flatnonzero(np.concatenate([[True], is_corner, [True]]))
        hits = hits[corners]
        false_alarms = false_alarms[corners]
    hit_rate = np.append(0.0, hits) / hits[-1]
    false_alarm_rate = np.append(0.0, false_alarms) / false_alarms[-1]
    return float(np.trapezoid(hit_rate, false_alarm_rate))
